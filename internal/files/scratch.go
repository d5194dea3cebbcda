package files

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
)

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
