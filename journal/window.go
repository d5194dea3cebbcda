package journal

import (
	"errors"
	"io"
	"os"
)

// windowSize is how much of a file is read at once: some hundreds of trials.
const windowSize = 1 << 18

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
	size := max(windowSize, int(length))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	n, err := w.file.ReadAt(w.buf[:size], e.offset)
	w.buf, w.from = w.buf[:n], e.offset
	if int64(n) < length {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return w.buf[:length], nil
}
