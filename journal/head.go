package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/regular"
)

// Head reads the head of a run file alone; path is as in Open.
func Head(path string) (*eval.Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	file, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s", ErrNoRun, path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := readLine(newReader(file), maxHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	d := &Document{Dir: filepath.Dir(path)}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s: the run file has no head", path)
	}
	if err := d.line(1, data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d.Run.Version == 0 {
		return nil, fmt.Errorf("%s: the run file has no head", path)
	}
	return &d.Run, nil
}
