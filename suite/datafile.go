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

	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// maxKept bounds the data files that are kept in memory, and so in the snapshot of a run. Others are read from the disk each
// time; of them the hash of the suite holds what was read of them.
const maxKept = 64 << 20

// data is what is known of the files whose rows are cases.
type data struct {
	loaded  bool              // from then on nothing new is learned
	kept    int64             // bytes
	digests map[string]string // of files that are too large to be kept, as far as they were read
	hashed  map[string]int64  // how many bytes of them
	globs   map[string][]string
	stamps  map[string]stamp // of all of them
	failure error            // why rows could not be read after all
}

func newData() data {
	return data{digests: map[string]string{}, hashed: map[string]int64{}, globs: map[string][]string{}, stamps: map[string]stamp{}}
}

// stamp is what shows that a file has changed.
type stamp struct {
	size int64
	time time.Time
}

func (s stamp) same(o stamp) bool { return s.size == o.size && s.time.Equal(o.time) }

// stamp is the stamp of a file; false where there is no such file.
func (f *files) stamp(name string) (stamp, bool) {
	_, info, err := f.stat(name)
	if err != nil {
		return stamp{}, false
	}
	return stamp{info.Size(), info.ModTime()}, true
}

// note records the stamp of a data file before it is first read.
func (f *files) note(name string) {
	if _, known := f.data.stamps[name]; known || f.data.loaded {
		return
	}
	if now, ok := f.stamp(name); ok {
		f.data.stamps[name] = now
	}
}

// unchanged reports whether all data files are as they were when the suite was loaded.
func (f *files) unchanged() bool {
	for name, before := range f.data.stamps {
		if now, ok := f.stamp(name); !ok || !now.same(before) {
			return false
		}
	}
	return true
}

// check says why a file cannot be opened, nil when it can.
func (f *files) check(name string) error {
	_, _, err := f.stat(name)
	return err
}

// stream opens a data file.
func (f *files) stream(name string) (io.ReadCloser, error) {
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
		if bytes >= f.data.hashed[name] { // a limit reads but the beginning, which must not hide a change behind it
			f.data.digests[name], f.data.hashed[name] = sum, bytes
		}
	}}, nil
}

// row reads a data file as a whole: it is a row, or YAML. As others it is kept only while there is room.
func (f *files) row(name string) ([]byte, error) {
	_, info, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > yamlnode.MaxFileBytes {
		return nil, &tooManyBytes{name, info.Size(), yamlnode.MaxFileBytes}
	}
	in, err := f.stream(name)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(in, yamlnode.MaxFileBytes))
	if err != nil {
		return nil, explain(name, err)
	}
	return text, nil
}

// keeps decides whether a data file is kept in memory.
func (f *files) keeps(name string, size int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.texts[name]; known {
		return true
	}
	if f.data.loaded || size > yamlnode.MaxFileBytes || f.data.kept+size > maxKept {
		return false
	}
	f.data.kept += size
	return true
}

// hashed is a file that is hashed while it is read.
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

// head is how a file begins.
func (f *files) head(name string) ([]byte, error) {
	file, _, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(file, dataset.HeadBytes))
}

// broken notes that a row could not be read.
func (f *files) broken(name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.data.failure == nil {
		f.data.failure = fmt.Errorf("%s: %w", name, err)
	}
}

// freeze ends the loading: the rows are known from here on, and what fails now is a change.
func (f *files) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data.loaded, f.data.failure = true, nil
}

// Err says that a data file could not be read any more while cases were yielded, so that some are missing; nil when all came.
func (s *Suite) Err() error {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	return s.files.data.failure
}

// KeepsData reports whether the files that Sources yields are all that cases are made of, images aside.
func (s *Suite) KeepsData() bool { return len(s.files.data.digests)+len(s.files.data.globs) == 0 }

// digest writes down what is known of data files that Sources does not yield.
func (d *data) digest(w io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(d.digests)) {
		fmt.Fprintf(w, "data %s %s\n", name, d.digests[name])
	}
	for _, glob := range slices.Sorted(maps.Keys(d.globs)) {
		fmt.Fprintf(w, "glob %s %q\n", glob, d.globs[glob])
	}
}

// globRoot is the folder below which a glob can match.
func globRoot(g glob.Pattern) string {
	head, _, _ := strings.Cut(string(g), "*")
	if i := strings.LastIndexByte(head, '/'); i >= 0 {
		return path.Clean(head[:i])
	}
	return "."
}

// glob lists the files that match, in the order of their names; those whose names begin with a dot are left out.
func (f *files) glob(g glob.Pattern) ([]string, error) {
	clean := glob.Pattern(strings.TrimPrefix(string(g), "./"))
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

// listing notes a glob for a caller that wants to know which files match it later.
func (f *files) listing(root string, g glob.Pattern) {
	if fsys, notes := f.fsys.(interface {
		Listing(glob string, matches func() []string)
	}); notes {
		fsys.Listing(string(g), func() []string {
			out, _ := matching(f.fsys, root, g) // a folder that cannot be read has no files
			return out
		})
	}
}

// matching are the files below a folder that match; hidden ones are left out.
func matching(fsys fs.FS, root string, g glob.Pattern) (out []string, err error) {
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
