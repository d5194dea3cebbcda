package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"
)

// Hold keeps writers away from the run in a directory until release is called. The error is ErrLocked while another
// process writes to it.
func Hold(dir string) (release func() error, err error) {
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	letGo := func() error { return errors.Join(removeQuietly(lock.Path()), lock.Unlock()) }
	if runtime.GOOS == "windows" {
		return letGo, nil
	}
	file := flock.New(filepath.Join(dir, FileName), flock.SetFlag(os.O_RDWR))
	ok, err := file.TryLock()
	if err == nil && !ok {
		err = fmt.Errorf("%s: %w", dir, ErrLocked)
	}
	if err != nil {
		return nil, errors.Join(err, letGo())
	}
	return func() error { return errors.Join(file.Unlock(), letGo()) }, nil
}

// ReportName is the name of the HTML report in a run directory.
const ReportName = "report.html"

// IsOwn reports whether a name is one that evalrun gives to a file or a folder at the top of a run directory.
func IsOwn(name string) bool {
	switch name {
	case FileName, headerName, lockName, copiesDir, "workspaces", ReportName, FileName + newSuffix, FileName + partSuffix:
		return true
	}
	return isTemporary(name)
}
