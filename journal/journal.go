// Package journal keeps a run: run.jsonl in a run directory, the truth that every report is a view of. Lines are
// appended as results come, each with a sequence number and a checksum. A killed process loses no line that was
// written, and a damaged line is found and left out.
//
// The usual order: Create (or Resume, to continue a run), Append for each result, Finish; or, to look at a run, Open
// and Document.Trials.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

// lockName is the file that a writer locks while it writes.
const lockName = "lock"

// FileName is the run file in a run directory.
const FileName = "run.jsonl"

// headerName holds a copy of the header, without which a run file says little.
const headerName = "head.json"

// Version is the format of the run files that are written.
const Version = 1

// syncEvery is how long a written line may stay unsynced: what a power cut can cost.
// A killed process costs nothing, since each line is written at once.
const syncEvery = 100 * time.Millisecond

// Writer appends to a run file; safe for concurrent use.
type Writer struct {
	dir  string
	path string // of the run file
	open opener
	file file
	lock *flock.Flock
	held *flock.Flock // lock of the run file itself; nil where it would keep readers out

	mu     sync.Mutex
	seq    int
	size   int64 // of the file, when no other program writes to it
	buf    []byte
	dirty  bool
	err    error
	broken func(error) // see Watch; nil until then

	finished bool // the end is written

	stop chan struct{}
	done chan struct{}
}

// file is the part of os.File that a Writer uses. Tests replace it with files that fail.
type file interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
	Close() error
}

type opener func(path string, flag int) (file, error)

func openFile(path string, flag int) (file, error) { return os.OpenFile(path, flag, 0o600) }

func newWriter(dir string, lock *flock.Flock, open opener) *Writer {
	return &Writer{
		dir: dir, path: filepath.Join(dir, FileName), open: open, lock: lock, stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// ErrLocked is returned by Create and Resume when another process writes to the run directory.
var ErrLocked = errors.New("another evalrun writes to this run")

// Create makes the run directory, writes the header of the run file and the copies of the suites, and takes
// the lock. An existing run file is not touched: that is an error.
func Create(dir string, run *eval.Run, copies map[string][]byte) (*Writer, error) {
	return create(dir, run, copies, openFile, "")
}

// partSuffix ends the name of a run file that CreateWhole is writing.
const partSuffix = ".part"

// CreateWhole is Create for a run file that must be complete or absent: until Finish it has another name. The remains of a
// killed process are overwritten.
func CreateWhole(dir string, run *eval.Run, copies map[string][]byte) (*Writer, error) {
	return create(dir, run, copies, openFile, partSuffix)
}

func create(dir string, run *eval.Run, copies map[string][]byte, open opener, suffix string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	w := newWriter(dir, lock, open)
	w.path += suffix
	if err := w.begin(run, copies); err != nil {
		_ = lock.Unlock() // the first error is the one to tell
		return nil, err
	}
	go w.syncLoop()
	return w, nil
}

func lockDir(dir string) (*flock.Flock, error) {
	if err := files.Lockable(filepath.Join(dir, lockName)); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, lockName))
	if ok, err := lock.TryLock(); err != nil {
		return nil, err
	} else if !ok {
		return nil, fmt.Errorf("%s: %w", dir, ErrLocked)
	}
	return lock, nil
}

func (w *Writer) begin(run *eval.Run, copies map[string][]byte) error {
	if err := w.clean(); err != nil {
		return err
	}
	for name, data := range copies {
		path := filepath.Join(w.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := w.put(path, data); err != nil {
			return err
		}
	}
	run.Version = Version
	header, err := appendLine(nil, "run", run, 0)
	if err != nil {
		return err
	}
	if err := w.place(w.path, header); err != nil { // no trial ran, so the directory must stay as it was
		return errors.Join(err, removeQuietly(w.path+newSuffix), removeQuietly(w.path))
	}
	w.seq = 1
	return nil
}

// clean removes the remains of a process that was killed before the run began. It refuses a directory with a run.
func (w *Writer) clean() error {
	path := filepath.Join(w.dir, FileName)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s holds a run already", w.dir)
	}
	left := false
	for _, name := range []string{path + newSuffix, path + partSuffix, path + partSuffix + newSuffix} {
		if _, err := os.Lstat(name); err == nil {
			left = true
			if err := removeQuietly(name); err != nil {
				return err
			}
		}
	}
	if !left {
		return nil
	}
	return os.RemoveAll(filepath.Join(w.dir, copiesDir))
}

// newSuffix ends the name of a run file until it has its header.
const newSuffix = ".new"

// place writes the header and its copy, under the lock: no process sees a run file without a header.
func (w *Writer) place(path string, header []byte) error {
	err := w.put(filepath.Join(w.dir, headerName), header)
	if err == nil {
		err = w.put(path+newSuffix, header)
	}
	if err == nil {
		err = os.Rename(path+newSuffix, path)
	}
	if err == nil {
		w.file, err = w.open(path, os.O_WRONLY|os.O_APPEND)
	}
	if err == nil {
		err = w.hold()
	}
	return err
}

// hold locks the run file itself. The lock next to it is a file that comes and goes, and could be another one for
// another process.
func (w *Writer) hold() error {
	info, err := w.file.Stat()
	if err != nil {
		return errors.Join(err, w.file.Close())
	}
	w.size = info.Size()
	if runtime.GOOS == "windows" {
		return nil
	}
	w.held = flock.New(w.path, flock.SetFlag(os.O_RDWR))
	ok, err := w.held.TryLock()
	if err == nil && !ok {
		err = fmt.Errorf("%s: %w", w.dir, ErrLocked)
	}
	if err != nil {
		w.held = nil
		return errors.Join(err, w.file.Close())
	}
	return nil
}

func (w *Writer) letGo() error {
	if w.held == nil {
		return nil
	}
	return w.held.Unlock()
}

func (w *Writer) put(path string, data []byte) error {
	file, err := w.open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Resume opens the run in dir to continue it: it takes the lock, cuts off an incomplete last line, and
// continues the numbering. The document has what the run recorded so far. The caller closes both.
func Resume(dir string) (*Writer, *Document, error) { return resume(dir, openFile) }

func resume(dir string, open opener) (*Writer, *Document, error) {
	if _, err := os.Stat(filepath.Join(dir, FileName)); err != nil {
		return nil, nil, fmt.Errorf("%w at %s", ErrNoRun, dir)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, nil, err
	}
	w := newWriter(dir, lock, open)
	d, err := w.reopen()
	if err != nil {
		_ = lock.Unlock() // the first error is the one to tell
		return nil, nil, err
	}
	go w.syncLoop()
	return w, d, nil
}

func (w *Writer) reopen() (*Document, error) {
	d, err := Open(w.dir)
	if err != nil {
		return nil, err
	}
	d.Running = false // it is locked by this writer
	if w.file, err = w.open(w.path, os.O_WRONLY|os.O_APPEND); err == nil {
		err = w.hold()
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err = w.file.Truncate(d.file.whole); err == nil && d.file.unended {
		_, err = w.file.Write([]byte("\n"))
	}
	if err != nil {
		return nil, errors.Join(err, w.file.Close(), w.letGo(), d.Close())
	}
	if w.seq, w.size = d.file.next, d.file.whole; d.file.unended {
		w.size++ // the line break
	}
	return d, nil
}

// Resumed is written when a run is resumed.
type Resumed struct {
	At string `json:"at"` // RFC 3339, UTC
	// Dropped are the ids of recorded trials that the plan does not have any more.
	Dropped []string `json:"dropped,omitempty"`
	// Workers is how many calls may be under way from now on.
	Workers int `json:"workers,omitempty"`
	// Ledger is the ledger that grants calls from now on; nil without one.
	Ledger *eval.Ledger `json:"ledger,omitempty"`
}

// Resumed writes that the run is resumed.
func (w *Writer) Resumed(r *Resumed) error { return w.write("resume", r) }

// Append writes the result of a trial. It is in the hands of the operating system when
// Append returns. After an error every further Append returns it.
func (w *Writer) Append(r *eval.Result) error { return w.write(trialKind, r) }

// WriteStop writes that an arm stops before all its trials have run.
func (w *Writer) WriteStop(s eval.ArmStop) error { return w.write("stop", s) }

// WriteNotRun writes the cases that the run leaves out by its selection, before any trial. A run with a selection that
// leaves out nothing says so by an empty list.
func (w *Writer) WriteNotRun(lists []*eval.NotRun) error { return w.write(notRunKind, notRun{lists}) }

// Copy appends a trial of another run unchanged. place is its index in the plan of that run.
func (w *Writer) Copy(from *Document, place int) error {
	body, err := from.Line(from.index.entries[place].place())
	if err != nil {
		return err
	}
	return w.write(trialKind, json.RawMessage(body))
}

// Finish writes the end of the run and closes the file.
func (w *Writer) Finish(end *eval.End) error {
	err := w.write("end", end)
	w.finished = err == nil
	return errors.Join(err, w.Close())
}

// Close syncs and closes the file without an end: the run counts as interrupted.
func (w *Writer) Close() error {
	close(w.stop)
	<-w.done
	err := errors.Join(w.file.Sync(), w.file.Close())
	if whole := filepath.Join(w.dir, FileName); err == nil && w.finished && w.path != whole {
		err = os.Rename(w.path, whole)
	}
	return errors.Join(err, w.letGo(), removeQuietly(w.lock.Path()), w.lock.Unlock())
}

func removeQuietly(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// write appends one line: {"type":TYPE,...,"seq":N,"crc":"XXXXXXXX"}, in a single write so that lines
// of a killed process are whole or missing. The record is an object with members.
func (w *Writer) write(kind string, record any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if cap(w.buf) > maxKept {
		w.buf = nil
	}
	b, err := appendLine(w.buf[:0], kind, record, w.seq)
	if err != nil {
		return err
	}
	w.buf = b
	if err = w.unchanged(); err == nil {
		_, err = w.file.Write(b)
	}
	if err != nil {
		w.err = fmt.Errorf("the run file cannot be written: %w", err)
		return w.err
	}
	w.size += int64(len(b))
	w.seq++
	w.dirty = true
	return nil
}

// maxKept bounds the size of a buffer that is reused.
const maxKept = 1 << 20

// Watch has broken called when the file cannot be written any more, even while no line comes.
func (w *Writer) Watch(broken func(error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = broken
}
