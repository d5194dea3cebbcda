package suite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/yaml"
)

// files opens the files that a suite names, relative to the suite's folder and never outside it. The fs.FS (an os.Root)
// enforces that; files explains its refusals.
type sourceFiles struct {
	fsys  fs.FS
	suite string

	mu     sync.Mutex
	texts  map[string][]byte
	data   data
	images map[wish]stored
	others map[string]attached // other files of prompts than images, without their bytes
	// digests are the SHA-256 sums of files that commands name; "" for words that name no file.
	digests map[string]string
	stored  int // bytes of image data in memory
	pixels  int // pixels decoded so far to check images
}

func newFiles(fsys fs.FS, suite string) *sourceFiles {
	return &sourceFiles{
		fsys:    fsys,
		suite:   suite,
		texts:   map[string][]byte{},
		images:  map[wish]stored{},
		others:  map[string]attached{},
		data:    newData(),
		digests: map[string]string{},
	}
}

// text reads a text file and remembers it.
func (f *sourceFiles) text(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if data, ok := f.texts[name]; ok {
		return data, nil
	}
	data, err := f.read(name, yaml.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	f.texts[name] = data
	return data, nil
}

type tooManyBytes struct {
	name        string
	size, limit int64
}

func (e *tooManyBytes) Error() string {
	return fmt.Sprintf("%s has %d bytes; at most %d are read", e.name, e.size, e.limit)
}

// stat finds a regular file. clean is its name in the file system.
func (f *sourceFiles) stat(name string) (clean string, info fs.FileInfo, err error) {
	clean = path.Clean(name)
	if name == "" {
		return "", nil, errors.New("the file name is empty")
	}
	if !fs.ValidPath(clean) || strings.ContainsAny(name, "\x00\\") {
		return "", nil, fmt.Errorf("%s is not a path inside the suite's folder", name)
	}
	info, err = fs.Stat(f.fsys, clean)
	if errors.Is(err, fs.ErrNotExist) {
		folder, _ := fs.ReadDir(f.fsys, path.Dir(clean)) // only for the hint
		return "", nil, fmt.Errorf("%w%s", explain(name, err), diag.NearestFile(path.Base(clean), folder))
	}
	if err != nil {
		return "", nil, explain(name, err)
	}
	if !info.Mode().IsRegular() { // opening a FIFO would wait for a writer
		return "", nil, fmt.Errorf("%s is not a file", name)
	}
	return clean, info, nil
}

func (f *sourceFiles) open(name string) (fs.File, fs.FileInfo, error) {
	clean, info, err := f.stat(name)
	if err != nil {
		return nil, nil, err
	}
	file, err := f.fsys.Open(clean)
	if err != nil {
		return nil, nil, explain(name, err)
	}
	return file, info, nil
}

func (f *sourceFiles) folder(name string) (string, error) {
	if name == "." || !fs.ValidPath(name) || strings.ContainsAny(name, "\x00\\") {
		return "", errors.New("it is not below the suite's folder")
	}
	info, err := fs.Stat(f.fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("there is no such folder")
	case err != nil:
		return "", explain(name, err)
	case !info.IsDir():
		return "", errors.New("it is not a folder")
	}
	f.listing(name, eval.Pattern(name+"/*"))
	below, err := fs.Sub(f.fsys, name)
	if err != nil { // impossible: the name was checked
		return "", err
	}
	return files.Digest(below)
}

func (f *sourceFiles) read(name string, limit int64) ([]byte, error) {
	file, info, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if info.Size() > limit {
		return nil, &tooManyBytes{name, info.Size(), limit}
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, explain(name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, nil
}

func explain(name string, err error) error {
	var pathErr *fs.PathError
	cause := err.Error()
	if errors.As(err, &pathErr) {
		cause = pathErr.Err.Error()
	}
	switch {
	case errors.Is(err, files.ErrHidden), errors.Is(err, files.ErrLink):
		return fmt.Errorf("an untrusted suite cannot read %s: %s", name, cause)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s in the suite's folder", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be read: permission denied", name)
	case strings.Contains(cause, "escapes"):
		return fmt.Errorf("%s is not inside the suite's folder", name)
	}
	return fmt.Errorf("%s cannot be read: %s", name, cause)
}
