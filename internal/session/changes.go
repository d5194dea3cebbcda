package session

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/suite"
)

// Bounds of what is recorded of a changed workspace.
const (
	maxChanges     = 16 << 10 // bytes of all differences
	maxChangedText = 32 << 10 // bytes of a file that is compared by lines
)

// changes is what a program changed in its workspace, as a unified diff: files that are no text, or large, by their sizes.
// What is in .git is left out.
func changes(p *suite.Program, workspace string) string {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return ""
	}
	defer root.Close() //nolint:errcheck // it was only read
	given, left := p.WorkspaceFiles(), files.FS(root)
	sizes := [2]map[string]int64{regularIn(given), regularIn(left)}
	both := maps.Clone(sizes[0])
	maps.Copy(both, sizes[1])
	var out strings.Builder
	more := 0
	for _, name := range slices.Sorted(maps.Keys(both)) {
		before, had := sizes[0][name]
		after, has := sizes[1][name]
		if had && has && before == after && sameContent(given, left, name) {
			continue
		}
		shown := diag.CleanLine(name)
		one := fmt.Sprintf("%s: %s, now %s\n", shown, sized(before, had), sized(after, has))
		if a, b := lines(given, name, before, had), lines(left, name, after, has); a != nil && b != nil {
			if diff := udiff.Unified(was("a/"+shown, had), was("b/"+shown, has), string(a), string(b)); out.Len()+len(diff) <= maxChanges {
				one = diff
			}
		}
		if out.Len()+len(one) > maxChanges {
			more++
			continue
		}
		out.WriteString(one)
	}
	if more > 0 {
		fmt.Fprintf(&out, "[%s changed]\n", diag.Count(more, "more file"))
	}
	return wire.OfVariables(p.Env).OutOfText(out.String())
}

func was(name string, there bool) string {
	if !there {
		return "/dev/null"
	}
	return name
}

func sized(n int64, there bool) string {
	if !there {
		return "no file"
	}
	return fmt.Sprintf("%d bytes", n)
}

// regularIn are the sizes of the regular files of a folder.
func regularIn(fsys fs.FS) map[string]int64 {
	out := map[string]int64{}
	_ = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is not shown
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.Type().IsRegular():
			if info, err := entry.Info(); err == nil {
				out[name] = info.Size()
			}
		}
		return nil
	})
	return out
}

// lines is the text of a file, nil for one that is no text or large, and empty for one that is not there.
func lines(fsys fs.FS, name string, size int64, there bool) []byte {
	if !there {
		return []byte{}
	}
	if size > maxChangedText {
		return nil
	}
	text, err := fs.ReadFile(fsys, name)
	if err != nil || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	return append([]byte{}, text...)
}

// sameContent reports whether two files of the same size are the same.
func sameContent(a, b fs.FS, name string) bool {
	one, err := a.Open(name)
	if err != nil {
		return false
	}
	defer one.Close() //nolint:errcheck // it was only read
	two, err := b.Open(name)
	if err != nil {
		return false
	}
	defer two.Close() //nolint:errcheck // it was only read
	x, y := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		n, failed := io.ReadFull(one, x)
		m, _ := io.ReadFull(two, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if failed != nil {
			return true
		}
	}
}
