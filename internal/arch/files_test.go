package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// mostLines is how many lines a file of code has at most. Files of tests may be longer.
const mostLines = 450

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	files := 0
	expect.OK(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "../.." && isElsewhere(path):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		data, err := os.ReadFile(path)
		if n := bytes.Count(data, []byte("\n")); n > mostLines {
			t.Errorf("%s: got %d lines, want at most %d", path, n, mostLines)
		}
		return err
	}))
	if files < 500 {
		t.Errorf("got %d files, want those of all packages", files)
	}
}
