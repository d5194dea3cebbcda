package journal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/evalrun/evalrun/eval"
)

// Header reads the header of a run file alone; path is as in Open.
func Header(path string) (*eval.Run, error) {
	file, path, err := openRun(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := readLine(newReader(file), maxHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d := &Document{Dir: filepath.Dir(path)}
	if len(data) > 0 {
		if err := d.line(1, data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if d.Run.Version == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNoHeader)
	}
	return &d.Run, nil
}
