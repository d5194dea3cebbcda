package site

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// What publish writes. The marker proves nothing, since it may come with a checkout: a file is replaced or deleted only if its name and
// its content are those of a site.
var (
	pageNames = regexp.MustCompile(`^(?:(?:index|trends|compare)|(?:runs|comparisons)/[^/]+)\.html(?:\.new)?$`)
	dataNames = regexp.MustCompile(`^data/(?:[0-9a-f]{16}|new-[a-z2-7]{26})(?:/[a-z]+)?$`)
	blockName = regexp.MustCompile(`^(?:[a-z]+|[0-9a-f]+)\.js$`)
)

const (
	pageSign   = "; trusted-types evalrun\">" // the end of policy in the head of a page
	blockStart = `evalrun("`
	headBytes  = 4 << 10
)

// ours reports whether a file is one that publish wrote, complete or cut by a kill.
func (f *folder) ours(name string) bool {
	info, err := f.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	switch dir, base := path.Split(name); {
	case pageNames.MatchString(name):
		return info.Size() == 0 && strings.HasSuffix(name, newSuffix) || strings.Contains(f.head(name), pageSign)
	case !dataNames.MatchString(path.Clean(dir)):
		return false
	case base == styleFile || base == programFile:
		return f.isAsset(path.Clean(dir), base)
	case blockName.MatchString(base):
		head := f.head(name)
		return strings.HasPrefix(head, blockStart) || strings.HasPrefix(blockStart, head)
	}
	return false
}

// head returns the first bytes of a file; "" if it cannot be read.
func (f *folder) head(name string) string {
	file, err := f.root.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // it was only read
	data := make([]byte, headBytes)
	n, _ := file.Read(data)
	return string(data[:n])
}

// isAsset reports whether the style or the program is of this version or the beginning of it, or of the version whose hash names the
// folder.
func (f *folder) isAsset(dir, base string) bool {
	sum := sha256.New()
	for _, asset := range assetFiles() {
		data, err := f.root.ReadFile(path.Join(dir, asset.name))
		if asset.name == base && err == nil && bytes.HasPrefix(asset.data, data) {
			return true
		}
		hashFile(sum, asset.name, data)
	}
	return hashName(sum) == path.Base(dir)
}

// sweep deletes what does not belong to the new site, and notes what publish did not write.
func (f *folder) sweep(top string) error {
	var dirs []string
	err := fs.WalkDir(f.root.FS(), top, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && f.fresh[name]:
			return fs.SkipDir
		case entry.IsDir() && (name == top || dataNames.MatchString(name)):
			dirs = append(dirs, name)
			return nil
		case f.fresh[name]:
			return nil
		case f.ours(name):
			return f.root.Remove(name)
		}
		f.foreign = append(f.foreign, name)
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	for _, dir := range slices.Backward(dirs) {
		_ = f.root.Remove(dir) // it stays while it has anything
	}
	return err
}

// check refuses to replace a page that publish did not write.
func (f *folder) check(name string) error {
	for _, at := range []string{name, name + newSuffix} {
		if _, err := f.root.Lstat(at); err == nil && !f.ours(at) {
			return eval.BadInput("%s is not a page that evalrun publish wrote: move it, or name another folder", f.path(at))
		}
	}
	return nil
}

// sameFiles refuses a data folder that lacks what its name promises: its content may come with a checkout.
func (f *folder) sameFiles(fresh, known string) error {
	return fs.WalkDir(f.root.FS(), fresh, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		want, err := f.root.ReadFile(name)
		if err != nil {
			return err
		}
		at := known + strings.TrimPrefix(name, fresh)
		if got, err := f.root.ReadFile(at); err != nil || !bytes.Equal(got, want) {
			return eval.BadInput("%s is not what evalrun publish wrote: delete its folder, or name another one with --out", f.path(at))
		}
		return nil
	})
}
