package diag

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestTheNearestFileIsSuggested(t *testing.T) {
	t.Parallel()
	folder, err := fs.ReadDir(fstest.MapFS{
		"suite.yaml": {}, "mails.csv": {}, "a.yaml": {}, "notes": {}, ".hidden": {}, "evals/suite.json": {}, "übung.yaml": {},
	}, ".")
	expect.OK(t, err)
	for name, want := range map[string]string{
		"suit.yaml":    "; did you mean `suite.yaml`?",
		"Suite.yaml":   "; did you mean `suite.yaml`?",
		"suite.yml":    "; did you mean `suite.yaml`?",
		"suite":        "; did you mean `suite.yaml`?",
		"mail.csv":     "; did you mean `mails.csv`?",
		"ubung.yaml":   "; did you mean `übung.yaml`?",
		"note":         "; did you mean `notes`?",
		"mail.yaml":    "",
		"prompt.yaml":  "",
		"eval":         "",
		"evals":        "",
		"":             "",
		".csv":         "",
		"nothere.tmpl": "",
	} {
		if got := NearestFile(name, folder); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	expect.Same(t, "an empty folder", NearestFile("suite.yaml", nil), "")
}
