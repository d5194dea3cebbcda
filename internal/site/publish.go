// Package site shows runs in the browser: as pages that a server on this machine serves, or as a static site.
package site

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
)

const mostRuns = 1000

// PublishOptions configure a site.
type PublishOptions struct {
	// Runs are runs, folders with runs, and selectors, as in rundir.Dir.NamedRuns. Required.
	Runs []string
	// Out is the folder of the site: a new or empty one, or one of an earlier Write. Required.
	Out string
	// NoContent leaves out prompts, answers, and texts that may quote them.
	NoContent bool
	// Margin is how much lower a rate may be and still count as not worse. Optional: without it,
	// comparisons have estimates and no verdicts.
	Margin float64
}

// Site is the result of Write.
type Site struct {
	Index       string // path of the first page
	Runs        int
	Comparisons int
	LeftOut     int             // comparisons that are left out, since there would be too many
	Content     page.TextCounts // what of it can be read in the site
	WithContent []string        // ids of the runs with any of it
	Withheld    bool            // of all runs: nothing can be read
	Foreign     []string        // what is in the folders of the site and was not written by Write: it stays
}

type site struct {
	options   PublishOptions
	in        rundir.Dir
	to        *folder
	scratch   string // a folder for copies without content; "" until one is needed
	unscratch func() // removes it
	runs      []*published
	assets    addresses
	out       Site
}

// Write writes the site. It returns an error for a run that is missing, unreadable or still in progress,
// and for a folder that has something else.
func Write(in rundir.Dir, o PublishOptions) (_ *Site, err error) {
	s := &site{options: o, in: in}
	if err := s.check(); err != nil {
		return nil, err
	}
	paths, err := in.NamedRuns(o.Runs)
	if err != nil {
		return nil, err
	}
	if len(paths) > mostRuns {
		return nil, eval.BadInput("%d runs are named, and a site may have %d: name fewer", len(paths), mostRuns)
	}
	if err := s.heads(paths); err != nil {
		return nil, err
	}
	if link := files.Link(in.Abs(""), in.Join(o.Out)); link != "" {
		return nil, eval.BadInput("%s is a link, and a site replaces files: name the folder itself with --out", link)
	}
	if s.to, err = openFolder(in.Join(o.Out)); err != nil {
		return nil, err
	}
	defer s.to.close()
	defer s.tidy()
	if err := s.write(); err != nil {
		return nil, fmt.Errorf("the site cannot be written: %w", err)
	}
	s.out.Index, s.out.Foreign = s.to.path(indexPage), s.to.foreign
	return &s.out, nil
}

// check refuses invalid options.
func (s *site) check() error {
	switch m := s.options.Margin; {
	case s.options.Out == "":
		return eval.BadInput("--out is missing: name the folder of the site, such as --out public")
	case len(s.options.Runs) == 0:
		return eval.BadInput("no run is named: evalrun publish latest --out %s", s.options.Out)
	case m != 0 && !(m > 0 && m < 1):
		return eval.BadInput("--margin is a number between 0 and 1, such as 0.05")
	}
	return nil
}

// write writes data first, then the pages that use it, and then deletes old data.
func (s *site) write() error {
	if err := s.writeAssets(); err != nil {
		return err
	}
	list := page.RunList{Runs: []page.ListedRun{}, Numbers: map[string]page.RunFigures{}}
	for _, r := range s.runs {
		summary, err := s.writeRun(r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
		list.Runs, list.Numbers[r.Key] = append(list.Runs, r.ListedRun), summary
	}
	compared, err := s.compareAll()
	if err != nil {
		return err
	}
	if err := s.writeGallery(list, compared); err != nil {
		return err
	}
	s.out.Runs, s.out.Withheld = len(s.runs), s.out.Content == page.TextCounts{} && len(s.out.WithContent) == 0
	return s.to.commit()
}

// tidy deletes the copies without content.
func (s *site) tidy() {
	if s.scratch != "" {
		s.unscratch()
	}
}

func newestFirst(a, b *page.ListedRun) int {
	return cmp.Or(strings.Compare(b.StartedAt, a.StartedAt), strings.Compare(b.ID, a.ID))
}

// What publish writes. The marker proves nothing, since it may come with a checkout: a file is replaced or deleted only if its name and
// its content are those of a site.
var (
	pageNames = regexp.MustCompile(`^(?:(?:index|trends|compare)|(?:runs|comparisons)/[^/]+)\.html(?:\.new)?$`)
	dataNames = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^data/(?:[0-9a-f]{16}|new-[a-z2-7]{26})(?:/[a-z]+)?$`)
	})
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
	case !dataNames().MatchString(path.Clean(dir)):
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
		case entry.IsDir() && (name == top || dataNames().MatchString(name)):
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

// complete moves files that are missing in a data folder into it: a sweep that was killed may have deleted them. It refuses a folder whose
// files are not what its name promises: they may come with a checkout.
func (f *folder) complete(known, fresh string) error {
	return fs.WalkDir(f.root.FS(), fresh, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		at := known + strings.TrimPrefix(name, fresh)
		if _, err := f.root.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			return errors.Join(f.root.MkdirAll(path.Dir(at), 0o755), f.root.Rename(name, at))
		}
		want, err := f.root.ReadFile(name)
		if err != nil {
			return err
		}
		if got, err := f.root.ReadFile(at); err != nil || !bytes.Equal(got, want) {
			return eval.BadInput("%s is not what evalrun publish wrote: delete its folder, or name another one with --out", f.path(at))
		}
		return nil
	})
}
