package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

const fileName = "ledger.jsonl"

const retryPause = time.Second

// ledgerFile is the file of a ledger, with one event per line. An event is safe once it is synchronised to the
// disk; one synchronisation covers many events. While the disk is full or broken, and once the file is gone,
// nothing is safe.
type ledgerFile struct {
	notice func(string)
	lock   *flock.Flock
	out    *os.File

	path  string
	book  *book
	size  int64 // of the file
	most  int64 // size at which to rewrite the file
	least int64 // lower bound of most

	mu      sync.Mutex
	buf     []byte        // not written yet
	sum     uint32        // checksum of all lines
	trouble error         // why nothing can be written; nil while it can
	added   int64         // bytes so far, including buf
	safe    int64         // bytes so far that are on the disk
	moved   chan struct{} // closed and replaced when safe grows
	work    chan struct{} // has a token while there is something to write
	closing chan struct{}
	done    chan struct{}
}

// openFile locks the folder, applies the events of its file to the book, and rewrites the file.
func openFile(dir string, b *book, notice func(string)) (*ledgerFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, eval.BadInput("--state: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR)) // which waits for no writer of a pipe
	if ok, err := lock.TryLock(); err != nil {
		return nil, eval.BadInput("--state: %w", err)
	} else if !ok {
		return nil, eval.BadInput("--state: another ledger uses the folder %s: end it, or name another folder", dir)
	}
	f := &ledgerFile{
		notice:  notice,
		lock:    lock,
		path:    filepath.Join(dir, fileName),
		book:    b,
		least:   smallest,
		moved:   make(chan struct{}),
		work:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	if err := f.open(); err != nil {
		_ = lock.Unlock() // the first error is the one to report
		return nil, err
	}
	go f.loop()
	return f, nil
}

func (f *ledgerFile) open() error {
	err := readEvents(f.path, f.book)
	if err != nil {
		return err
	}
	if err = f.rewrite(); err != nil {
		return eval.BadInput("--state: %w", err)
	}
	return nil
}

// rewrite replaces the file by one with the fewest events.
func (f *ledgerFile) rewrite() error {
	f.book.mu.Lock()
	defer f.book.mu.Unlock()
	var sum uint32
	err := files.Write(f.path, 0o600, func(w io.Writer) error {
		for _, e := range f.book.events(f.book.now()) {
			var line []byte
			line, sum = lineOf(e, sum)
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := out.Stat()
	if err != nil {
		return errors.Join(err, out.Close())
	}
	if f.out != nil {
		_ = f.out.Close() // the new file replaces it
	}
	f.out, f.size = out, info.Size()
	f.most = max(f.least, grows*f.size)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buf, f.sum = f.buf[:0], sum // events has included it
	f.reached(f.added)
	return nil
}

// A file is rewritten at grows times its size after the last rewrite, and not below smallest, in bytes.
const (
	grows    = 4
	smallest = 64 << 20
)

// reached records that the file is safe up to a place. The caller holds mu.
func (f *ledgerFile) reached(place int64) {
	f.safe, f.trouble = place, nil
	close(f.moved)
	f.moved = make(chan struct{})
}

// add adds an event. It returns the place for wait.
func (f *ledgerFile) add(e *bookEvent) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var line []byte
	line, f.sum = lineOf(e, f.sum)
	f.buf = append(f.buf, line...)
	f.added += int64(len(line))
	select {
	case f.work <- struct{}{}:
	default:
	}
	return f.added
}

// end returns the place for wait of the last event.
func (f *ledgerFile) end() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.added
}

// wait waits until the file is safe up to a place. It returns an error if nothing can be written.
func (f *ledgerFile) wait(ctx context.Context, place int64) error {
	for {
		f.mu.Lock()
		safe, trouble, moved := f.safe, f.trouble, f.moved
		f.mu.Unlock()
		switch {
		case trouble != nil:
			return trouble
		case safe >= place:
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(slowDisk):
			return errors.New("its disk does not answer")
		case <-f.done:
			return errors.New("the ledger ends")
		}
	}
}

// loop writes events until the file is closed.
func (f *ledgerFile) loop() {
	defer close(f.done)
	watch := time.NewTicker(retryPause)
	defer watch.Stop()
	for {
		select {
		case <-f.work:
		case <-watch.C: // a file that is gone is noticed without an event, too
		case <-f.closing:
			_ = f.flush() // the callers that waited have gone
			return
		}
		if !f.insist() {
			return
		}
	}
}

// insist writes until it succeeds. It returns false when the file is closed before.
func (f *ledgerFile) insist() bool {
	for failed := false; ; failed = true {
		err := f.flush()
		switch {
		case err == nil && failed:
			f.report(nil)
			f.notice("the ledger can write again")
			return true
		case err == nil:
			return true
		case errors.Is(err, errGone):
			f.report(err)
			f.notice(fmt.Sprintf("the ledger grants nothing more: %s (%s); end it, and restore the file or begin with empty accounts", err, f.path))
			<-f.closing
			return false
		case !failed:
			f.report(fmt.Errorf("it cannot write, and grants nothing until it can: %w", err))
			f.notice(fmt.Sprintf("the ledger cannot write, and grants nothing until it can: %s", err))
		}
		select {
		case <-time.After(retryPause):
		case <-f.closing:
			return false
		}
	}
}

// report makes all callers stop waiting because of an error; nil: callers can wait again.
func (f *ledgerFile) report(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reached(f.safe)
	f.trouble = err
}

func (f *ledgerFile) flush() error {
	if err := f.whole(); err != nil {
		return err
	}
	f.mu.Lock()
	buf := bytes.Clone(f.buf)
	f.mu.Unlock()
	if len(buf) == 0 {
		return nil
	}
	_, err := f.out.Write(buf)
	if err == nil {
		err = f.out.Sync()
	}
	if err != nil {
		return err
	}
	f.size += int64(len(buf))
	f.mu.Lock()
	f.buf = append(f.buf[:0], f.buf[len(buf):]...)
	f.reached(f.safe + int64(len(buf)))
	f.mu.Unlock()
	if f.size > f.most {
		return f.rewrite()
	}
	return nil
}

// errGone is the error of a file that was removed, replaced or cut while the ledger used it.
var errGone = errors.New("its state was removed or replaced")

// whole returns errGone unless the file is still at its path, with all that was written. It removes a partial line, which
// a failed write can leave.
func (f *ledgerFile) whole() error {
	there, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return errGone
	}
	if err != nil {
		return err
	}
	own, err := f.out.Stat()
	switch {
	case err != nil:
		return err
	case !os.SameFile(there, own) || own.Size() < f.size:
		return errGone
	case own.Size() > f.size:
		return f.out.Truncate(f.size)
	}
	return nil
}

// close writes the remaining events and unlocks the folder.
func (f *ledgerFile) close() {
	close(f.closing)
	<-f.done
	_ = f.out.Close() // every line that matters is on the disk
	_ = f.lock.Unlock()
}
