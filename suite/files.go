package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/yaml"
)

// sourceFiles opens the files that a suite names, relative to the suite's folder. The fs.FS (a files.Within) decides which it may
// open; sourceFiles explains its refusals.
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
	// commands are the files of commands of scorers, tools and prompts, and with a slash at the end the folders of verifiers.
	commands map[string]bool
	stored   int // bytes of image data in memory
	pixels   int // pixels decoded so far to check images
}

func newFiles(fsys fs.FS, suite string) *sourceFiles {
	return &sourceFiles{
		fsys:    fsys,
		suite:   suite,
		texts:   map[string][]byte{},
		images:  map[wish]stored{},
		others:  map[string]attached{},
		data:    newData(),
		digests: map[string]string{}, commands: map[string]bool{},
	}
}

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
	if !files.Local(clean) || strings.ContainsAny(name, "\x00\\") {
		return "", nil, notLocal(name)
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

// unshown opens a file whose content is not sent, shown or kept; see files.Unshown.
func (f *sourceFiles) unshown(name string) (fs.File, fs.FileInfo, error) {
	return newFiles(files.Unshown(f.fsys), "").open(name)
}

func (f *sourceFiles) folder(name string) (fs.FS, error) {
	switch {
	case !files.Local(name) || strings.ContainsAny(name, "\x00\\"):
		return nil, errors.New("it is not a folder inside the project")
	case name == "." || strings.HasSuffix("/"+name, "/.."):
		return nil, errors.New("the suite is in it")
	}
	info, err := fs.Stat(f.fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such folder")
	case err != nil:
		return nil, explain(name, err)
	case !info.IsDir():
		return nil, errors.New("it is not a folder")
	}
	f.listing(name, eval.Pattern(name+"/*"))
	return files.Sub(f.fsys, name)
}

func (f *sourceFiles) read(name string, limit int64) ([]byte, error) {
	file, info, err := f.open(name)
	if err != nil {
		return nil, err
	}
	return readOpen(file, info, name, limit)
}

func readOpen(file fs.File, info fs.FileInfo, name string, limit int64) ([]byte, error) {
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

// notLocal is the error for a name that no file of the project has, or none that run files and reports could show.
func notLocal(name string) error {
	if !utf8.ValidString(name) {
		return fmt.Errorf("the file name %q is not UTF-8: rename the file", name)
	}
	return fmt.Errorf("%s is not a path inside the project", name)
}

func explain(name string, err error) error {
	var pathErr *fs.PathError
	cause := err.Error()
	if errors.As(err, &pathErr) {
		cause = pathErr.Err.Error()
	}
	refusal, refused := errors.AsType[*files.Refusal](err)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(name, "../"):
		return fmt.Errorf("there is no file %s", name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s in the suite's folder", name)
	case refused && refusal.Untrusted:
		return fmt.Errorf("an untrusted suite cannot read %s: %s", name, cause)
	case errors.Is(err, fs.ErrInvalid):
		return notLocal(name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be read: permission denied", name)
	case strings.Contains(cause, "escapes"):
		return fmt.Errorf("%s is not inside the project: a link leads out of it", name)
	}
	return fmt.Errorf("%s cannot be read: %s", name, cause)
}

// maxKept is the total size, in bytes, of data files kept in memory, and so in the copies of a run. Larger ones are read
// from disk each time, and the suite's hash covers the part that was read.
const maxKept = 64 << 20

type data struct {
	loaded  bool              // the suite is loaded, and the maps below are final
	kept    int64             // bytes
	digests map[string]string // of files too large to keep: hashes of the part that was read
	hashed  map[string]int64  // length of that part, in bytes
	globs   map[string][]string
	stamps  map[string]stamp // of all data files, by name
	failure error            // the first error after loading
}

func newData() data {
	return data{
		digests: map[string]string{},
		hashed:  map[string]int64{},
		globs:   map[string][]string{},
		stamps:  map[string]stamp{},
	}
}

// stamp shows cheaply whether a file has changed.
type stamp struct {
	size int64
	time time.Time
}

func (s stamp) same(o stamp) bool { return s.size == o.size && s.time.Equal(o.time) }

func (f *sourceFiles) stamp(name string) (stamp, bool) {
	_, info, err := f.stat(name)
	if err != nil {
		return stamp{}, false
	}
	return stamp{info.Size(), info.ModTime()}, true
}

func (f *sourceFiles) note(name string) {
	if _, known := f.data.stamps[name]; known || f.data.loaded {
		return
	}
	if now, ok := f.stamp(name); ok {
		f.data.stamps[name] = now
	}
}

// unchanged reports whether no data file has changed since the suite was loaded.
func (f *sourceFiles) unchanged() bool {
	for name, before := range f.data.stamps {
		if now, ok := f.stamp(name); !ok || !now.same(before) {
			return false
		}
	}
	return true
}

func (f *sourceFiles) check(name string) error {
	_, _, err := f.stat(name)
	return err
}

func (f *sourceFiles) stream(name string) (io.ReadCloser, error) {
	_, info, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	if f.keeps(name, info.Size()) {
		text, err := f.text(name)
		return io.NopCloser(bytes.NewReader(text)), err
	}
	file, _, err := f.open(name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.data.loaded {
		return file, nil
	}
	return &hashed{File: file, hash: sha256.New(), sum: func(sum string, bytes int64) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if bytes >= f.data.hashed[name] { // keep the longest part: `limit` may read less of the file elsewhere
			f.data.digests[name], f.data.hashed[name] = sum, bytes
		}
	}}, nil
}

// row reads a whole data file, which is a row or YAML. It is kept in memory only within maxKept.
func (f *sourceFiles) row(name string) ([]byte, error) {
	_, info, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > yaml.MaxFileBytes {
		return nil, &tooManyBytes{name, info.Size(), yaml.MaxFileBytes}
	}
	in, err := f.stream(name)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(in, yaml.MaxFileBytes))
	if err != nil {
		return nil, explain(name, err)
	}
	return text, nil
}

func (f *sourceFiles) keeps(name string, size int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.texts[name]; known {
		return true
	}
	if f.data.loaded || size > yaml.MaxFileBytes || f.data.kept+size > maxKept {
		return false
	}
	f.data.kept += size
	return true
}

type hashed struct {
	fs.File
	hash  hash.Hash
	bytes int64
	sum   func(sum string, bytes int64)
}

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.File.Read(p)
	h.hash.Write(p[:n])
	h.bytes += int64(n)
	return n, err
}

func (h *hashed) Close() error {
	h.sum(hex.EncodeToString(h.hash.Sum(nil)), h.bytes)
	return h.File.Close()
}

func (f *sourceFiles) head(name string) ([]byte, error) {
	file, _, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(file, dataset.HeadBytes))
}

func (f *sourceFiles) broken(name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.data.failure == nil {
		f.data.failure = fmt.Errorf("%s: %w", name, err)
	}
}

// freeze ends the loading. From now on, a failure means that a file has changed.
func (f *sourceFiles) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data.loaded, f.data.failure = true, nil
}

// Err returns the error of a data file that could not be read while Cases or Outlines yielded cases, so that some are
// missing. It is nil when all cases were yielded.
func (s *Suite) Err() error {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	return s.files.data.failure
}

// KeepsData reports whether Sources yields all files that define cases, except images.
func (s *Suite) KeepsData() bool { return len(s.files.data.digests)+len(s.files.data.globs) == 0 }

// digest adds the data files that Sources leaves out to a hash.
func (d *data) digest(w io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(d.digests)) {
		fmt.Fprintf(w, "data %s %s\n", name, d.digests[name])
	}
	for _, glob := range slices.Sorted(maps.Keys(d.globs)) {
		fmt.Fprintf(w, "glob %s %q\n", glob, d.globs[glob])
	}
}

// globRoot returns the folder below which a glob can match.
func globRoot(g eval.Pattern) string {
	head, _, _ := strings.Cut(string(g), "*")
	if i := strings.LastIndexByte(head, '/'); i >= 0 {
		return path.Clean(head[:i])
	}
	return "."
}

// cleanGlob is the glob for the names of files below its root, which have no detours such as `./` or `data/../`.
func cleanGlob(g eval.Pattern, root string) eval.Pattern {
	_, rest, _ := strings.Cut(string(g), "*")
	fixed := strings.TrimSuffix(string(g), "*"+rest)
	return eval.Pattern(strings.TrimPrefix(root+"/"+fixed[strings.LastIndexByte(fixed, '/')+1:]+"*"+rest, "./"))
}

// glob lists the files that match, sorted by name, without hidden ones.
func (f *sourceFiles) glob(g eval.Pattern) ([]string, error) {
	root := globRoot(g)
	if !files.Local(root) || strings.ContainsAny(string(g), "\x00\\") {
		return nil, notLocal(string(g))
	}
	clean := cleanGlob(g, root)
	f.listing(root, clean)
	out, err := matching(f.fsys, root, clean)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, explain(string(g), err)
	}
	f.data.globs[string(g)] = out
	return out, nil
}

// listing reports a glob to the file system, for callers that watch for new files.
func (f *sourceFiles) listing(root string, g eval.Pattern) {
	if fsys, notes := f.fsys.(interface {
		Listing(glob string, matches func() []string)
	}); notes {
		fsys.Listing(string(g), func() []string {
			out, _ := matching(f.fsys, root, g) // a folder that cannot be read has no files
			return out
		})
	}
}

func matching(fsys fs.FS, root string, g eval.Pattern) (out []string, err error) {
	err = fs.WalkDir(fsys, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := name != root && strings.HasPrefix(entry.Name(), ".")
		switch {
		case hidden && entry.IsDir():
			return fs.SkipDir
		case !hidden && !entry.IsDir() && g.Match(name):
			out = append(out, name)
		}
		return nil
	})
	return out, err
}
