package journal

import (
	"errors"
	"io"
	"os"
)

// windowSize is how much of a file is read at once: some hundreds of trials, as many as a run sends at the same time.
// What is before a line is read with it, since trials are not written in the order of the plan.
const (
	windowSize  = 1 << 19
	windowStart = windowSize / 4
)

// window reads lines that mostly follow each other with few calls of the operating system.
type window struct {
	file *os.File
	buf  []byte
	from int64 // where buf begins in the file
}

// line is a trial's line, good until the next one is read.
func (w *window) line(e *entry) ([]byte, error) {
	length := int64(e.length)
	if at := e.offset - w.from; w.buf != nil && at >= 0 && at+length <= int64(len(w.buf)) {
		return w.buf[at:][:length], nil
	}
	w.from = max(0, e.offset-windowStart)
	at := e.offset - w.from
	size := max(windowSize, int(at+length))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	n, err := w.file.ReadAt(w.buf[:size], w.from)
	w.buf = w.buf[:n]
	if int64(n) < at+length {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return w.buf[at:][:length], nil
}
