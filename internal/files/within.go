package files

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Within is the file system of a suite. Names begin in the suite's folder, and `../` leads up to the top of the project. It
// decides which files a suite may read: neither files outside of the project, nor hidden ones and keys, unless they are allowed.
type Within struct {
	Project fs.FS  // the folder whose files may be read; see FS
	At      string // the suite's folder in it, "." for Project itself
	Of      string // the project in words, such as `the git checkout`
	// Allow reports whether a hidden file or a key may be read. Names begin in Project. nil allows none.
	Allow func(name string) bool
	// Untrusted allows no links, since the suite's author could lead them anywhere.
	Untrusted bool
	// Copies allows all names: the files are copies, or are going to be copied as a folder.
	Copies bool
}

// Reasons of a Refusal.
var (
	errOutside = errors.New("it is outside of")
	errHidden  = errors.New("its name, or that of a folder on the way, begins with a dot")
	errKey     = errors.New("it has the name of a key (*.pem, id_*)")
	errLink    = errors.New("it is a link, or a folder on the way is")
)

// Refusal is the error of a file that a suite may not read.
type Refusal struct {
	Why       error
	Untrusted bool // the suite
	more      string
}

func (r *Refusal) Error() string { return r.Why.Error() + r.more }

// Unwrap returns the reason. A file outside of a folder of copies does not exist there.
func (r *Refusal) Unwrap() error { return r.Why }

// follower is a file system that follows the links in a name.
type follower interface {
	Real(name string) (string, error)
}

// find returns the name of a file in the project. Links stay in it: what is read is noted by the names that the suite has.
func (w Within) find(op, name string) (string, error) {
	full := path.Join(w.At, name)
	if path.IsAbs(name) || !fs.ValidPath(full) {
		why, more := errOutside, " "+w.Of
		if w.Copies {
			why, more = fs.ErrNotExist, ""
		}
		return "", w.refuse(op, name, why, more)
	}
	if w.Copies {
		return full, nil
	}
	if err := w.check(op, name, full, ""); err != nil {
		return "", err
	}
	follow, ok := w.Project.(follower)
	if !ok {
		return full, nil
	}
	to, err := follow.Real(full)
	switch {
	case errors.Is(err, fs.ErrNotExist): // what is opened next says so
		return full, nil
	case w.Untrusted && (err == nil && to != full || errors.Is(err, errEscapes) || errors.Is(err, errTooManyLinks)):
		return "", w.refuse(op, name, errLink, "")
	case err != nil:
		return "", &fs.PathError{Op: op, Path: name, Err: cause(err)}
	}
	return full, w.check(op, name, to, " (it leads to "+to+")")
}

func (w Within) refuse(op, name string, why error, more string) error {
	return &fs.PathError{Op: op, Path: name, Err: &Refusal{why, w.Untrusted, more}}
}

// cause returns an error without the path in it.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// check refuses hidden files and keys. Folders that lead to the suite are the user's choice, and may be hidden.
func (w Within) check(op, name, full, way string) error {
	why := w.secret(full)
	if why == nil || w.allows(full) {
		return nil
	}
	return w.refuse(op, name, why, way+"; --allow-file "+full+" allows it")
}

// allows reports whether the user has named a file, or one below a folder.
func (w Within) allows(full string) bool {
	return w.Allow != nil && (w.Allow(full) || w.Allow(full+"/"))
}

// secret returns why a file is not for suites, nil if it is.
func (w Within) secret(full string) error {
	rest, way := strings.Split(full, "/"), strings.Split(w.At, "/")
	for len(rest) > 0 && len(way) > 0 && rest[0] == way[0] {
		rest, way = rest[1:], way[1:]
	}
	for _, element := range rest {
		if strings.HasPrefix(element, ".") && element != "." {
			return errHidden
		}
	}
	if len(rest) > 0 && isKey(rest[len(rest)-1]) {
		return errKey
	}
	return nil
}

func isKey(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".pem") || strings.HasPrefix(name, "id_")
}

// Open opens a regular file, or a folder.
func (w Within) Open(name string) (fs.File, error) {
	full, err := w.find("open", name)
	if err != nil {
		return nil, err
	}
	return w.Project.Open(full)
}

// Stat implements fs.StatFS.
func (w Within) Stat(name string) (fs.FileInfo, error) {
	full, err := w.find("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(w.Project, full)
}

// Lstat implements fs.ReadLinkFS.
func (w Within) Lstat(name string) (fs.FileInfo, error) {
	if full := path.Join(w.At, name); fs.ValidPath(full) {
		return fs.Lstat(w.Project, full)
	}
	return nil, w.refuse("lstat", name, errOutside, " "+w.Of)
}

// ReadLink implements fs.ReadLinkFS.
func (w Within) ReadLink(name string) (string, error) {
	if full := path.Join(w.At, name); fs.ValidPath(full) {
		return fs.ReadLink(w.Project, full)
	}
	return "", w.refuse("readlink", name, errOutside, " "+w.Of)
}

// ReadDir lists the files of a folder that may be read.
func (w Within) ReadDir(name string) ([]fs.DirEntry, error) {
	full, err := w.find("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(w.Project, full)
	if w.Copies {
		return entries, err
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		full := path.Join(full, e.Name())
		return w.secret(full) != nil && !w.allows(full)
	}), err
}

// Sub is a folder that is copied as a whole: all that is in it belongs to it, unless the suite is untrusted.
func (w Within) Sub(name string) (fs.FS, error) {
	full, err := w.find("open", name)
	if err != nil {
		return nil, err
	}
	w.At, w.Copies = full, !w.Untrusted
	return w, nil
}

// Listing reports a glob to the project; see Notes.
func (w Within) Listing(glob string, matches func() []string) {
	notes, ok := w.Project.(interface {
		Listing(glob string, matches func() []string)
	})
	if !ok {
		return
	}
	notes.Listing(path.Join(w.At, glob), func() []string {
		names := matches()
		for i := range names {
			names[i] = path.Join(w.At, names[i])
		}
		return names
	})
}

// Unshown is a file system of a suite for files whose content nobody sees: keys of a connection, and programs. It has hidden files
// and keys too, unless the suite is untrusted.
func Unshown(fsys fs.FS) fs.FS {
	switch f := fsys.(type) {
	case Within:
		if !f.Untrusted {
			f.Allow = func(string) bool { return true }
		}
		return f
	case With:
		f.FS = Unshown(f.FS)
		return f
	case Overlay:
		f = slices.Clone(f)
		for i := range f {
			f[i] = Unshown(f[i])
		}
		return f
	}
	return fsys
}

// Sub returns a folder of a suite's file system; see Within.Sub.
func Sub(fsys fs.FS, name string) (fs.FS, error) {
	switch f := fsys.(type) {
	case Within:
		return f.Sub(name)
	case With:
		return Sub(f.FS, name)
	case Overlay:
		out := Overlay{}
		for _, layer := range f {
			if below, err := Sub(layer, name); err == nil {
				out = append(out, below)
			}
		}
		return out, nil
	}
	return fs.Sub(fsys, name)
}

// Local reports whether a name, as path.Clean returns it, can be one of a suite's files: it is relative and may begin with `../`.
func Local(clean string) bool {
	for {
		rest, up := strings.CutPrefix(clean, "../")
		if !up {
			return clean == ".." || fs.ValidPath(clean)
		}
		clean = rest
	}
}
