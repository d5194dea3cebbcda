package labels

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// FuzzRead reads any bytes as labels: each line is a label or a problem, and a label can be appended whatever is there.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "{}\n", "<<<<<<<\n", "\xff\xfe", `{"suite":"s","case":"c","caseId":"id","arm":"t/p","repeat":1,"answerHash":"` + digest(nil) +
			`","label":"pass","who":"Ada","at":"2025-01-02T03:04:05Z"}`, "[[[[", "null\nnull", `{"suite":"s"}{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "s"+Suffix)
		expect.OK(t, os.WriteFile(path, data, 0o600))
		before, err := ReadFile(path)
		expect.OK(t, err)
		count, filled := len(before.problems), 0
		for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))) {
			if len(bytes.TrimSpace(line)) > 0 {
				filled++
			}
		}
		for k, all := range before.said {
			count += len(all)
			for _, l := range all {
				expect.OK(t, l.Check())
				expect.Same(t, "key", l.Key(), k)
			}
		}
		if count > filled || filled > 0 && count == 0 {
			t.Errorf("got %d labels and problems, want some, at most one of each of %d lines", count, filled)
		}
		one := said("Zoe", "x", Fail, "?")
		expect.OK(t, Append(dir, filepath.Join(dir, "lock"), one))
		after, err := Read(dir, "s")
		expect.OK(t, err)
		expect.Same(t, "problems", len(after.problems), len(before.problems))
		expect.Same(t, "what Zoe says", of(after.Of(one.Key()), "Zoe"), Fail)
	})
}
