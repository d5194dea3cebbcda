package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file is replaced as a whole: a report that breaks off leaves the old one, and no other file.
func TestReportsAreReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "report.xml")
	broken := errors.New("broken off")
	for _, test := range []struct {
		text string
		err  error
		want string
	}{{"one", nil, "one"}, {"two, and then", broken, "one"}, {"three", nil, "three"}} {
		err := WriteAny(path, func(w io.Writer) error {
			_, err := io.WriteString(w, test.text)
			return errors.Join(err, test.err)
		})
		if !errors.Is(err, test.err) {
			t.Errorf("%q: %v, want %v", test.text, err, test.err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != test.want {
			t.Errorf("after %q the file is %q, %v, want %q", test.text, got, err, test.want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v, want the report alone", entries, err)
	}
	for name, want := range map[string]string{"report.xml": "", "new": "", "gone/new": "no folder", ".": "it is a folder"} {
		if err := Writable(filepath.Join(dir, name)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Writable(%s) = %v, want %q", name, err, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("trying: got %v, %v, want one file", entries, err)
	}
}
