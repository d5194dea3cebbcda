package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Link returns the first link on the way to a file, "" without one. The way begins at the folder base if the file is below
// it, and at the root otherwise. There, links of the system count only if they lead out of their own folder, such as
// /tmp -> /private/tmp does not; the file itself is never a link.
func Link(base, name string) string {
	at := base
	rest := name
	if filepath.IsAbs(name) {
		var below bool
		if rest, below = strings.CutPrefix(name, strings.TrimRight(base, separator)+separator); !below {
			at = filepath.VolumeName(name) + separator
			rest = strings.TrimPrefix(name, at)
		}
	}
	outside := at != base
	elements := strings.FieldsFunc(rest, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) //nolint:gosec // ASCII
	for i, element := range elements {
		if element == ".." { // a link before it would have been found
			at = filepath.Dir(at)
			continue
		}
		at = filepath.Join(at, element)
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return "" // nothing is there yet
		case info.Mode()&fs.ModeSymlink == 0:
		case !outside || i == len(elements)-1 || LeadsOut(filepath.Dir(at), at):
			return at
		}
	}
	return ""
}

const separator = string(filepath.Separator)

// LeadsOut reports whether a link leads out of a folder, or nowhere.
func LeadsOut(folder, link string) bool {
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return true
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return true
	}
	rel, err := filepath.Rel(folder, real)
	return err != nil || !filepath.IsLocal(rel)
}
