package files

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"
)

// Prefix begins the names of temporary files.
const Prefix = ".evalrun-"

// Write replaces the file at path by what write writes, as a whole or not at all: a temporary file next to it takes its
// place once it is complete. A killed process may leave one behind, which Sweep removes. A file that is there keeps its
// permissions, a new one gets perm. The folder must be there.
func Write(path string, perm fs.FileMode, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	Sweep(dir)
	temp, release, err := create(dir)
	if err != nil {
		return err
	}
	defer release()
	w := bufio.NewWriterSize(temp, 1<<16)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	err = errors.Join(err, temp.Chmod(Perm(os.Stat, path, perm)), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // the first error is the one to report
	}
	return err
}

// Perm returns the permissions of the file at path, or perm if there is no file. stat is os.Stat, or that
// of a root.
func Perm(stat func(string) (fs.FileInfo, error), path string, perm fs.FileMode) fs.FileMode {
	if info, err := stat(path); err == nil && info.Mode().IsRegular() {
		return info.Mode().Perm()
	}
	return perm
}

// Probe returns an error when no file can be made in a folder.
func Probe(dir string) error {
	temp, release, err := create(dir)
	if err != nil {
		return err
	}
	defer release()
	return errors.Join(temp.Close(), os.Remove(temp.Name()))
}

// create makes a temporary file that is locked until it is released.
func create(dir string) (temp *os.File, release func(), err error) {
	return held(func() (*os.File, error) { return os.CreateTemp(dir, Prefix+"*") })
}

// held makes a file that is locked until it is released. Another process may sweep it away before that, and then held makes
// another one.
func held(make func() (*os.File, error)) (temp *os.File, release func(), err error) {
	for {
		temp, err = make()
		if err != nil {
			return nil, nil, err
		}
		release = hold(temp.Name())
		mine, err := temp.Stat()
		if err != nil {
			release()
			return nil, nil, errors.Join(err, temp.Close())
		}
		if now, err := os.Stat(temp.Name()); err == nil && os.SameFile(mine, now) {
			return temp, release, nil
		}
		release()
		_ = temp.Close() // nothing is in it
	}
}

// hold waits for the lock of a temporary file, which keeps other processes from taking it for a left-over one. Where
// files cannot be locked, no process sweeps them either.
func hold(path string) (release func()) {
	if runtime.GOOS == "windows" { // where a locked file could not be renamed
		return func() {}
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDWR)) // which makes no file when it has gone
	if err := lock.Lock(); err != nil {
		return func() {}
	}
	return func() { _ = lock.Unlock() } // the file has another name by now, or none
}

// Sweep removes temporary files of killed processes in a folder. It ignores failures, because such files
// only take up space.
func Sweep(dir string) {
	if runtime.GOOS == "windows" {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, temporary := strings.CutPrefix(e.Name(), Prefix)
		if temporary && e.Type().IsRegular() && !strings.Contains(name, ".") { // what has a point belongs to another
			removeUnlocked(filepath.Join(dir, e.Name()))
		}
	}
}

func removeUnlocked(path string) {
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	if ok, err := lock.TryLock(); err == nil && ok {
		removeOwned(path)
		_ = os.Remove(path) // see Sweep
		_ = lock.Unlock()
	}
}

// A scratch folder belongs to the temporary file next to it whose name it has, up to the suffix. What else begins with that
// name and a point is removed with both.
const scratchSuffix = ".d"

// ScratchName returns the path of a folder for temporary files, which is not there yet.
func ScratchName() string {
	return filepath.Join(os.TempDir(), Prefix+strings.ToLower(rand.Text())+scratchSuffix)
}

// Claim makes this process the owner of a folder that ScratchName named, until remove deletes it. When the process is killed,
// SweepScratch of another one deletes it.
func Claim(dir string) (remove func(), err error) {
	owner := strings.TrimSuffix(dir, scratchSuffix)
	file, release, err := held(func() (*os.File, error) { return os.OpenFile(owner, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) })
	if err != nil {
		return nil, err
	}
	return func() {
		removeOwned(owner)
		_ = file.Close() // nothing was written
		_ = os.Remove(owner)
		release()
	}, nil
}

// Scratch makes a folder for temporary files, until remove deletes it.
func Scratch() (dir string, remove func(), err error) {
	SweepScratch()
	dir = ScratchName()
	if remove, err = Claim(dir); err != nil {
		return "", nil, err
	}
	if err = os.Mkdir(dir, 0o700); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// SweepScratch removes the scratch folders of killed processes. It ignores failures, as Sweep does.
func SweepScratch() { Sweep(os.TempDir()) }

// removeOwned removes what belongs to a temporary file, before the file itself, so that nothing is left without it.
func removeOwned(owner string) {
	owned, _ := filepath.Glob(filepath.Join(filepath.Dir(owner), filepath.Base(owner)+".*")) // the name has no special characters
	for _, path := range owned {
		_ = os.RemoveAll(path)
	}
}
