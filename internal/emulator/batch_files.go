package emulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

// ledgerName is the file of what is kept of batches besides their items and results.
const ledgerName = "batches.json"

const maxLedger = 64 << 20

// batchLedger is what the emulator that comes after this one continues with.
type batchLedger struct {
	Submissions int64            `json:"submissions"`
	Matches     map[int]int64    `json:"matches"` // of the script's rules, by line
	Counts      map[string]int64 `json:"counts"`  // of Stats
	Batches     []*batch         `json:"batches"`
}

// batchCounts are the counts that are kept.
var batchCounts = []string{servedBatches, servedItems, servedAnswers, servedTwice}

// KeepBatches keeps batches in a folder, and continues with those that are there: call it before there are others. The folder is made
// for the first batch.
func (e *Emulator) KeepBatches(dir string) error {
	b := &e.batches
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files.dir = dir
	path := filepath.Join(dir, ledgerName)
	data, err := files.ReadFile(path, maxLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var kept batchLedger
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	if err == nil && slices.Contains(kept.Batches, nil) {
		err = errors.New("one of them is null")
	}
	if err == nil {
		b.all, b.submissions = kept.Batches, kept.Submissions
		err = e.readPast()
	}
	if err != nil {
		return fmt.Errorf("the batches of the emulator in %s cannot be read: %w", path, err)
	}
	for _, name := range batchCounts {
		e.n[name].Add(kept.Counts[name])
	}
	for _, rule := range e.opts.Script.rules {
		rule.matches.Add(kept.Matches[rule.line])
	}
	return nil
}

// readPast reads what was answered in the batches of earlier emulators, and how often was drawn for it.
func (e *Emulator) readPast() error {
	for _, b := range e.batches.all {
		if b.End == "" {
			continue
		}
		plain := *b
		plain.Course = batchCourse{}
		err := e.eachResult(&plain, func(one *batchResult) error {
			if one.Sum != 0 {
				e.bills.add(one.Sum, true)
			}
			if one.Draw != 0 {
				e.draws.next(one.Draw)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// save keeps what is known of batches, if there is a folder for it. A killed process leaves either what was before or what is now.
func (e *Emulator) save() *problem {
	b := &e.batches
	if b.files.dir == "" {
		return nil
	}
	kept := batchLedger{b.submissions, map[int]int64{}, map[string]int64{}, b.all}
	for _, name := range batchCounts {
		kept.Counts[name] = e.n[name].Load()
	}
	for _, rule := range e.opts.Script.rules {
		if n := rule.matches.Load(); n > 0 {
			kept.Matches[rule.line] = n
		}
	}
	if err := b.files.write(ledgerName, func(w io.Writer) error { return writeLine(w, kept) }); err != nil {
		return internal(err)
	}
	return nil
}

// bills are the requests that were answered, by a hash; true for those in batches.
type bills struct {
	mu   sync.Mutex
	seen map[uint64]bool
}

// add returns 1 for a request that was answered before, if one of the answers came in a batch.
func (b *bills) add(sum uint64, inBatch bool) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, known := b.seen[sum]
	if b.seen == nil {
		b.seen = map[uint64]bool{}
	}
	b.seen[sum] = before || inBatch
	if known && (before || inBatch) {
		return 1
	}
	return 0
}

// billUnless notes that a request is answered, unless something goes wrong before a model has answered it.
func (e *Emulator) billUnless(f *fault, r *http.Request, q *query) {
	if f != nil {
		switch f.kind.(type) {
		case errorStatus, hanging:
			return
		case cutOff, endlessStream, malformedAnswer, batchCourse:
		}
	}
	e.bill(r, q.model, q.Raw)
}

// bill notes that a request is answered.
func (e *Emulator) bill(r *http.Request, m *eval.Model, body []byte) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.ID() + "\n"))
	_, _ = h.Write(body)
	if result := itemOf(r); result != nil {
		result.Sum = h.Sum64() // it is counted once its batch has ended
		return
	}
	e.n[servedTwice].Add(e.bills.add(h.Sum64(), false))
}

// shelf keeps the files of batches: in memory, or in a folder. The zero value keeps them in memory.
type shelf struct {
	dir   string
	mu    sync.Mutex
	files map[string][]byte
}

// path is where a file is in the folder. Names come from requests, and from what is in the folder.
func (s *shelf) path(name string) (string, error) {
	if !shelfName.MatchString(name) {
		return "", fmt.Errorf("%q: %w", name, fs.ErrInvalid)
	}
	return filepath.Join(s.dir, name), nil
}

var shelfName = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z]+)?$`)

// write writes a file as a whole, or not at all. The folder is made for the first one.
func (s *shelf) write(name string, write func(io.Writer) error) error {
	path, err := s.path(name)
	if err != nil {
		return err
	}
	if s.dir != "" {
		if err := os.MkdirAll(s.dir, 0o755); err != nil {
			return err
		}
		return files.Write(path, 0o644, write)
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

type shelved interface {
	io.ReaderAt
	io.ReadSeekCloser
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func (s *shelf) open(name string) (shelved, error) {
	path, err := s.path(name)
	if err != nil {
		return nil, err
	}
	if s.dir != "" {
		return files.Open(path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return inMemory{bytes.NewReader(data)}, nil
}
