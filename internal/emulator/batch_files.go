package emulator

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/evalrun/evalrun/internal/files"
)

// shelf keeps the files of batches: in memory, or in a folder. The zero value keeps them in memory.
type shelf struct {
	dir   string
	mu    sync.Mutex
	files map[string][]byte
}

// write writes a file as a whole, or not at all. The folder is made for the first one.
func (s *shelf) write(name string, write func(io.Writer) error) error {
	if s.dir != "" {
		if err := os.MkdirAll(s.dir, 0o755); err != nil {
			return err
		}
		return files.Write(filepath.Join(s.dir, name), 0o644, write)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string][]byte{}
	}
	s.files[name] = b.Bytes()
	return nil
}

// shelved is a file of a shelf.
type shelved interface {
	io.ReaderAt
	io.ReadSeekCloser
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func (s *shelf) open(name string) (shelved, error) {
	if s.dir != "" {
		return files.Open(filepath.Join(s.dir, name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return inMemory{bytes.NewReader(data)}, nil
}
