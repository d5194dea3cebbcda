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
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/yaml"
)

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

// glob lists the files that match, sorted by name, without hidden ones.
func (f *sourceFiles) glob(g eval.Pattern) ([]string, error) {
	clean := eval.Pattern(strings.TrimPrefix(string(g), "./"))
	root := globRoot(clean)
	if !fs.ValidPath(root) || strings.ContainsAny(string(g), "\x00\\") {
		return nil, fmt.Errorf("%s is not a path inside the suite's folder", g)
	}
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
