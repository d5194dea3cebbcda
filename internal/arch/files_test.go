package arch

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// mostLines is how many lines a file of code has at most. Files of tests may be longer.
const mostLines = 450

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	files := 0
	eachGoFile(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		files++
		data, err := os.ReadFile(path)
		expect.OK(t, err)
		if n := bytes.Count(data, []byte("\n")); n > mostLines {
			t.Errorf("%s: got %d lines, want at most %d", path, n, mostLines)
		}
	})
	if files < 500 {
		t.Errorf("got %d files, want those of all packages", files)
	}
}
