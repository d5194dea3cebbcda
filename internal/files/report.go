package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Writable returns an error if a file could not be written. It does not change the file.
func Writable(path string) error {
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return errors.New("it is a folder")
		}
		if !info.Mode().IsRegular() {
			return nil
		}
	}
	err := Probe(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no folder %s", filepath.Dir(path))
	}
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return err
}

// WriteAny replaces a file atomically, through a temporary file next to it. It writes directly to pipes
// and other special
func WriteAny(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(file, write), file.Close())
	}
	return Write(path, 0o644, write)
}

func buffered(file *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(file, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}
