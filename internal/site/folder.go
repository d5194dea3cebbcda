package site

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

// markerName marks the folder of a site. It is also the lock file for writing the site.
const markerName = "evalrun-site.json"

type siteMarker struct {
	MadeBy  string `json:"madeBy"`
	Version int    `json:"version"`
}

var ours = siteMarker{MadeBy: "evalrun publish", Version: 1}

// Folders of a site. sweep deletes what earlier sites left in them.
const (
	dataDir        = "data"
	runsDir        = "runs"
	comparisonsDir = "comparisons"
)

// folder is the folder of a site. Data is written first, to folders named by a hash of their content. Then each page is
// replaced atomically, so a reader sees a complete old or new page even if the writer is killed. Unused data is deleted
// last, so a kill then leaves a folder with some of its files.
type folder struct {
	root  *os.Root
	lock  *flock.Flock
	fresh map[string]bool // pages and data folders of the new site
	pages []pageFile      // in the order of replacement

	foreign []string // what publish did not write, and left where it was
}

type pageFile struct {
	name string
	data []byte
}

// openFolder opens or creates the folder of a site. It refuses a folder with anything else in it.
func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, eval.BadInput("the folder of the site cannot be made: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, eval.BadInput("the folder of the site cannot be opened: %w", err)
	}
	f := &folder{root: root, fresh: map[string]bool{}}
	if err := f.claim(dir); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// claim checks that the folder is empty or has a site, and locks it.
func (f *folder) claim(dir string) error {
	known, err := f.marked(dir)
	for _, name := range []string{dataDir, runsDir, comparisonsDir} {
		if info, problem := f.root.Lstat(name); problem == nil && !info.IsDir() {
			return eval.BadInput("the site cannot be written: %s in %s is a link or a file; name another folder", name, dir)
		}
	}
	if err == nil && !known {
		err = f.mark(dir)
	}
	if err != nil {
		return err
	}
	f.lock = flock.New(filepath.Join(f.root.Name(), markerName), flock.SetFlag(os.O_RDWR))
	if free, err := f.lock.TryLock(); err != nil {
		return eval.BadInput("the folder %s cannot be locked: %w", dir, err)
	} else if !free {
		return eval.BadInput("another evalrun is writing to %s: wait until it has ended", dir)
	}
	return nil
}

// marked reports whether the folder has the marker of a site. It returns an error for a marker of another
// tool or version. A marker without content is none: a publish was killed before it wrote it.
func (f *folder) marked(dir string) (bool, error) {
	info, err := f.root.Lstat(markerName)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return false, nil
	}
	var m siteMarker
	if err == nil && info.Mode().IsRegular() && info.Size() < 1<<10 {
		var data []byte
		if data, err = files.ReadFile(filepath.Join(f.root.Name(), markerName), 1<<10); err == nil {
			err = json.Unmarshal(data, &m)
		}
	}
	switch {
	case err != nil || m.MadeBy != ours.MadeBy:
		return false, eval.BadInput("%s in %s is not the marker of a site: name another folder", markerName, dir)
	case m.Version > ours.Version:
		return false, eval.BadInput("%s was written by a newer evalrun: name another folder, or update evalrun", dir)
	}
	return true, nil
}

// mark writes the marker into a folder that has nothing else.
func (f *folder) mark(dir string) error {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return eval.BadInput("the folder of the site cannot be read: %w", err)
	}
	for _, e := range entries {
		if e.Name() != markerName {
			return eval.BadInput(
				"%s has files that evalrun publish did not write (%s): name a folder that is empty or not there yet", dir, e.Name(),
			)
		}
	}
	data, err := json.Marshal(ours)
	if err == nil {
		err = f.root.WriteFile(markerName, append(data, '\n'), 0o644)
	}
	if err != nil {
		return eval.BadInput("the site cannot be written to %s: %w", dir, err)
	}
	return nil
}

func (f *folder) close() {
	if f.lock != nil {
		_ = f.lock.Unlock() // the lock ends with the process anyway
	}
	_ = f.root.Close() // all files in it are closed
}

func (f *folder) path(name string) string {
	return filepath.Join(f.root.Name(), filepath.FromSlash(name))
}

type dataFolder struct {
	in   *folder
	name string
	sum  hash.Hash
}

// newParcel creates a data folder under a random name, until its hash is known.
func (f *folder) newParcel() (*dataFolder, error) {
	p := &dataFolder{in: f, name: path.Join(dataDir, "new-"+strings.ToLower(rand.Text())), sum: sha256.New()}
	return p, f.root.MkdirAll(p.name, 0o755)
}

func (p *dataFolder) add(name string, parts ...[]byte) error {
	at := path.Join(p.name, name)
	if err := p.in.root.MkdirAll(path.Dir(at), 0o755); err != nil {
		return err
	}
	file, err := p.in.root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	hashFile(p.sum, name, parts...)
	for _, part := range parts {
		if _, err = file.Write(part); err != nil {
			break
		}
	}
	return errors.Join(err, file.Close())
}

// hashFile adds a file to the hash that names its folder.
func hashFile(sum hash.Hash, name string, parts ...[]byte) {
	fmt.Fprintf(sum, "%q %d\n", name, len(parts))
	for _, part := range parts {
		_, _ = sum.Write(part) // hashes never fail
	}
}

func hashName(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)[:8]) }

// done renames the folder to the hash of its content and returns the name. It keeps and completes a folder of that name that is there.
func (p *dataFolder) done() (string, error) {
	name := path.Join(dataDir, hashName(p.sum))
	p.in.fresh[name] = true
	if _, err := p.in.root.Lstat(name); err == nil {
		return name, errors.Join(p.in.complete(name, p.name), p.in.root.RemoveAll(p.name))
	}
	return name, p.in.root.Rename(p.name, name)
}

// page keeps a page in memory until commit writes it.
func (f *folder) page(name string, draw func(io.Writer) error) error {
	var b strings.Builder
	if err := draw(&b); err != nil {
		return err
	}
	f.fresh[name] = true
	f.pages = append(f.pages, pageFile{name, []byte(b.String())})
	return nil
}

// commit replaces the pages, and deletes what the new site does not use.
func (f *folder) commit() error {
	for _, p := range f.pages {
		if err := f.check(p.name); err != nil {
			return err
		}
	}
	for _, p := range f.pages {
		if err := f.replace(p); err != nil {
			return err
		}
	}
	for _, dir := range []string{runsDir, comparisonsDir, dataDir} {
		if err := f.sweep(dir); err != nil {
			return err
		}
	}
	return nil
}

// newSuffix is the suffix of a page until it replaces the old one.
const newSuffix = ".new"

func (f *folder) replace(p pageFile) error {
	if err := f.root.MkdirAll(path.Dir(p.name), 0o755); err != nil {
		return err
	}
	if err := f.root.WriteFile(p.name+newSuffix, p.data, 0o644); err != nil {
		return err
	}
	return f.root.Rename(p.name+newSuffix, p.name)
}
