package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/internal/files"
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
	return isTemporary(name) || strings.HasPrefix(name, files.Prefix)
}

// IsRemains reports whether a directory has only what a process left that was killed before its run file was there.
func IsRemains(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !isLocked(dir) && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == FileName || !IsOwn(e.Name())
	})
}
