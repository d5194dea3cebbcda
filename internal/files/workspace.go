package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Bounds of a folder: each trial gets a copy.
const (
	maxEntries = 10_000    // files, folders and links
	maxBytes   = 256 << 20 // of all files together
)

// Digest is the SHA-256, in hex, of the names below a folder, of what files hold, which of them are executable, and
// where links lead.
func Digest(fsys fs.FS) (string, error) { return walk(fsys, nothing{}) }

// Copy copies what is below a folder into another one, which is there and empty, and returns the Digest of what it
// has copied. What cannot be copied faithfully is refused: a device, a link that leads out of the folder, more than the
// bounds allow. Files keep their permissions; links stay links.
func Copy(fsys fs.FS, to string) (string, error) { return walk(fsys, folderSink(to)) }

// CopyKnown copies what is below a folder that a program has worked in, and leaves out what cannot be copied faithfully: devices,
// sockets, and links that lead out of it.
func CopyKnown(fsys fs.FS, to string) error {
	w := &folderWalker{fsys: fsys, sink: folderSink(to), sum: sha256.New(), lenient: true}
	return w.below(".")
}

// CopyOver is Copy into a folder that may hold something: what has the same name goes, links too.
func CopyOver(fsys fs.FS, to string) (string, error) { return walk(fsys, overSink{folderSink(to)}) }

// Remove removes a copy with all that a program has left in it, folders that cannot be written to included.
func Remove(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // folders are entered
		}
		return nil // what cannot be entered even so is reported below
	})
	return os.RemoveAll(dir)
}

// sink takes what a walk meets.
type sink interface {
	folder(name string) error
	// file returns what takes the content, nil when it is not needed.
	file(name string, mode fs.FileMode) (io.WriteCloser, error)
	link(name, target string) error
}

type folderWalker struct {
	fsys    fs.FS
	sink    sink
	sum     hash.Hash
	entries int
	bytes   int64
	lenient bool // leaves out what cannot be copied faithfully
}

func walk(fsys fs.FS, to sink) (string, error) {
	w := &folderWalker{fsys: fsys, sink: to, sum: sha256.New()}
	if err := w.below("."); err != nil {
		return "", err
	}
	return hex.EncodeToString(w.sum.Sum(nil)), nil
}

// below takes what is in a folder, in the order of names.
func (w *folderWalker) below(dir string) error {
	entries, err := fs.ReadDir(w.fsys, dir)
	if err != nil {
		return explain(dir, err)
	}
	for _, entry := range entries {
		if w.entries++; w.entries > maxEntries {
			return fmt.Errorf("it has more than %d files and folders", maxEntries)
		}
		if err := w.entry(path.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (w *folderWalker) entry(name string) error {
	info, err := fs.Lstat(w.fsys, name)
	if err != nil {
		return explain(name, err)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		w.note("folder", name)
		if err := w.sink.folder(name); err != nil {
			return err
		}
		return w.below(name)
	case mode.IsRegular():
		return w.file(name, mode)
	case mode&fs.ModeSymlink != 0:
		return w.link(name)
	case w.lenient:
		return nil
	}
	return fmt.Errorf("%s in it is neither a file, nor a folder, nor a link", name)
}

// note hashes what is known of an entry. Names hold no zero byte.
func (w *folderWalker) note(what ...string) {
	for _, word := range what {
		w.sum.Write([]byte(word + "\x00"))
	}
}

func (w *folderWalker) file(name string, mode fs.FileMode) error {
	in, err := w.fsys.Open(name)
	if err != nil {
		return explain(name, err)
	}
	defer in.Close() //nolint:errcheck // it was only read
	kind := "file"
	if mode&0o111 != 0 {
		kind = "program"
	}
	w.note(kind, name)
	content := sha256.New()
	n, err := w.copy(in, content, name, mode)
	if err != nil {
		return err
	}
	if w.bytes += n; w.bytes > maxBytes {
		return fmt.Errorf("its files have more than %d MiB together", maxBytes>>20)
	}
	w.sum.Write(content.Sum(nil))
	return nil
}

// copy hashes a file, and writes it where the sink wants it.
func (w *folderWalker) copy(in io.Reader, content hash.Hash, name string, mode fs.FileMode) (int64, error) {
	out, err := w.sink.file(name, mode)
	if err != nil {
		return 0, err
	}
	to := io.Writer(content)
	if out != nil {
		to = io.MultiWriter(content, out)
	}
	n, err := io.Copy(to, io.LimitReader(in, maxBytes-w.bytes+1))
	if out != nil {
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return n, explain(name, err)
	}
	return n, nil
}

func (w *folderWalker) link(name string) error {
	target, err := fs.ReadLink(w.fsys, name)
	if err != nil {
		return explain(name, err)
	}
	target = filepath.ToSlash(target)
	if !stays(name, target) {
		if w.lenient {
			return nil
		}
		return fmt.Errorf("the link %s in it leads out of it, to %s", name, target)
	}
	w.note("link", name, target)
	return w.sink.link(name, target)
}

// stays reports whether a link leads to a place inside of the folder. Steps up are allowed at its beginning alone:
// after another link they could lead anywhere.
func stays(name, target string) bool {
	rest := target
	for strings.HasPrefix(rest, "../") {
		rest = rest[len("../"):]
	}
	if rest != ".." && rest != "." && (!fs.ValidPath(path.Clean(rest)) || strings.Contains("/"+rest+"/", "/../")) {
		return false
	}
	return fs.ValidPath(path.Join(path.Dir(name), target))
}

// explain is an error without the path of this machine.
func explain(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	if errors.Is(err, ErrDeep) {
		return err
	}
	if name == "." {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	return fmt.Errorf("%s in it cannot be copied: %w", name, err)
}

type nothing struct{}

func (nothing) folder(string) error                              { return nil }
func (nothing) file(string, fs.FileMode) (io.WriteCloser, error) { return nil, nil }
func (nothing) link(string, string) error                        { return nil }

type folderSink string

func (f folderSink) path(name string) string {
	return filepath.Join(string(f), filepath.FromSlash(name))
}

func (f folderSink) folder(name string) error { return os.Mkdir(f.path(name), 0o755) }

func (f folderSink) file(name string, mode fs.FileMode) (io.WriteCloser, error) {
	perm := mode.Perm() | 0o600 // programs work on copies
	return os.OpenFile(f.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
}

func (f folderSink) link(name, target string) error {
	return os.Symlink(filepath.FromSlash(target), f.path(name))
}

// overSink replaces what is there, so that nothing is written through a link.
type overSink struct{ folderSink }

func (o overSink) folder(name string) error {
	if info, err := os.Lstat(o.path(name)); err == nil && info.IsDir() {
		return nil
	}
	if err := os.RemoveAll(o.path(name)); err != nil {
		return err
	}
	return o.folderSink.folder(name)
}

func (o overSink) file(name string, mode fs.FileMode) (io.WriteCloser, error) {
	if err := os.RemoveAll(o.path(name)); err != nil {
		return nil, err
	}
	return o.folderSink.file(name, mode)
}

func (o overSink) link(name, target string) error {
	if err := os.RemoveAll(o.path(name)); err != nil {
		return err
	}
	return o.folderSink.link(name, target)
}
