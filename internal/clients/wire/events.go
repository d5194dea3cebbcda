package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// onlyEvents returns an error if text is anything but events that add no text to a complete answer.
func onlyEvents(text []byte, out assembler) error {
	e := &eventChunks{limit: &bounded{}, lines: lines{text: text}}
	for {
		data, err := e.next()
		switch {
		case errors.Is(err, io.EOF) && !e.done:
			return nil
		case errors.Is(err, io.EOF):
			e.done = false // ignore a second end mark
			continue
		case err != nil:
			return err
		case parseErrorBody(data) != nil:
			return ErrorIn(data)
		}
		if more, err := out.Add(data); err != nil || more {
			return cmp.Or(err, SecondReply())
		}
	}
}

// isEvent reports whether a stream begins like server-sent events.
func isEvent(in *bufio.Reader) bool {
	beginning, _ := in.Peek(len("retry:"))
	return beginsEvent(beginning)
}

func beginsEvent(text []byte) bool {
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(text, []byte(field)) {
			return true
		}
	}
	return false
}

// eventChunks reads the data of server-sent events (WHATWG HTML, section 9.2.6).
type eventChunks struct {
	limit *bounded
	lines lines
	done  bool
	name  string // of the last event
	frame []byte // with what an event of that name begins, up to its data; nil before the first
	event eventFields
	// spaces makes events count that are only spaces, because they may be a piece of a text.
	spaces bool
}

// lines splits text at the three line endings that events may use.
type lines struct {
	in       io.Reader // nil: all is in text, which stays as it is
	text     []byte    // what was read and did not come out yet
	buffer   []byte    // has text at its end
	searched int       // bytes of the line that were searched
	afterCR  bool      // a following LF belongs to the same line ending
	err      error     // why no more can be read
}

// next returns a line, which lasts until the next one if it was read, and false at the end.
func (l *lines) next() ([]byte, bool) {
	for {
		if l.afterCR && len(l.text) > 0 {
			l.afterCR = false
			l.text = bytes.TrimPrefix(l.text, newLine)
		}
		if i := lineEnd(l.text[l.searched:]); i >= 0 {
			i += l.searched
			line := l.text[:i:i]
			l.afterCR = l.text[i] == '\r' // a LF may follow later
			l.text, l.searched = l.text[i+1:], 0
			return line, true
		}
		l.searched = len(l.text)
		if l.searched > MaxResponseBytes {
			l.text, l.searched, l.err = nil, 0, ErrTooLarge
		}
		if l.in == nil || l.err != nil {
			line := l.text
			l.text, l.searched = nil, 0
			return line, len(line) > 0
		}
		l.read()
	}
}

func (l *lines) read() {
	if len(l.text) == 0 {
		l.text = l.buffer[:0]
	}
	if len(l.text) == cap(l.text) { // at the end of the buffer
		before := l.text
		if 2*len(before) >= len(l.buffer) {
			l.buffer = make([]byte, max(2*len(l.buffer), 4<<10))
		}
		l.text = l.buffer[:copy(l.buffer, before)]
	}
	n, err := l.in.Read(l.text[len(l.text):cap(l.text)])
	l.text = l.text[:len(l.text)+n]
	if err != nil && !errors.Is(err, io.EOF) {
		l.err = err
	} else if err != nil {
		l.in = nil
	}
}

// lineEnd is where a line ends, -1 if it does not.
func lineEnd(data []byte) int {
	const window = 1 << 10 // so that short lines before a long one are cheap
	for from := 0; from < len(data); from += window {
		part := data[from:min(from+window, len(data))]
		end := bytes.IndexByte(part, '\n')
		if end >= 0 {
			part = part[:end]
		}
		if i := bytes.IndexByte(part, '\r'); i >= 0 {
			end = i
		}
		if end >= 0 {
			return from + end
		}
	}
	return -1
}

// endMark is the last event of some servers.
const endMark = "[DONE]"

func (e *eventChunks) called() string { return e.name }

func (e *eventChunks) ended() bool { return e.done }

func (e *eventChunks) endless() bool { return true }

func (e *eventChunks) framed() bool { return true }

// rest returns what follows the end mark, line by line.
func (e *eventChunks) rest() io.Reader {
	e.limit.refill()
	var b bytes.Buffer
	for b.Len() < maxTrailing {
		line, ok := e.lines.next()
		if !ok {
			break
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return &b
}

func beginsField(text []byte) bool {
	names := []string{"data", "event", "id", "retry"}
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, string(text)) })
}

// isField reports whether a line belongs to server-sent events: a comment, one of the four fields, or
// another field, which clients ignore. A line without a colon, or with a name that is not a lower-case
// word, comes from a failure in between.
func isField(line []byte) bool {
	name, _, colon := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "data", "event", "id", "retry":
		return true
	case "error":
		return false
	}
	return colon && len(bytes.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")) == 0
}

// stray collects the lines after a line that is not a field, until they show what they are. Some servers made up a field for
// errors.
func (e *eventChunks) stray(line []byte) error {
	text := bytes.Clone(bytes.TrimPrefix(line, errorField))
	for !json.Valid(text) && len(text) < maxTrailing {
		more, ok := e.lines.next()
		if !ok {
			break
		}
		text = append(append(text, '\n'), more...)
	}
	return &strayError{text}
}

var errorField = []byte("error:")

type strayError struct{ text []byte }

func (e *strayError) Error() string { return "text outside of events" }

func (e *eventChunks) next() ([]byte, error) {
	e.limit.refill()
	if data := e.ahead(); data != nil {
		return data, nil
	}
	f := &e.event
	f.clear()
	for !e.done {
		line, ok := e.lines.next()
		if !ok {
			break
		}
		switch {
		case len(line) == 0 && f.whole(e.spaces):
			return e.take(f.name, f.data)
		case len(line) == 0:
			f.clear()
			continue
		case e.lines.err != nil && beginsField(line): // the rest of the line did not come
			return nil, e.lines.err
		case !isField(line):
			return nil, e.stray(line)
		}
		if f.add(line); len(f.data) > MaxResponseBytes {
			return nil, ErrTooLarge
		}
	}
	return e.last()
}

// ahead returns the data of an event that is all there and looks like most: named as the one before, with one line of an object. It
// returns nil for others, which are taken line by line.
func (e *eventChunks) ahead() []byte {
	text, ok := bytes.CutPrefix(e.lines.text, e.frame)
	if !ok || e.frame == nil || e.done || e.lines.afterCR {
		return nil
	}
	end := bytes.IndexByte(text, '\n')
	if end <= 0 || end > MaxResponseBytes || text[0] != '{' || !bytes.HasPrefix(text[end+1:], newLine) ||
		bytes.IndexByte(text[:end], '\r') >= 0 {
		return nil
	}
	e.lines.text, e.lines.searched = text[end+2:], 0
	return text[:end:end]
}

var newLine = []byte{'\n'}

// last returns the event at the end of the stream, or the error that ended the stream.
func (e *eventChunks) last() ([]byte, error) {
	f, err := &e.event, e.lines.err
	switch {
	case err != nil:
		return nil, err
	case f.name == "error":
		return e.take(f.name, f.data)
	case len(bytes.TrimSpace(f.data)) == 0:
		return nil, io.EOF
	case !json.Valid(f.data) && string(bytes.TrimSpace(f.data)) != endMark:
		return nil, io.ErrUnexpectedEOF // the stream ended inside an event
	}
	return e.take(f.name, f.data) // servers often omit the empty line after the last event
}

// eventFields are the fields of an event so far.
type eventFields struct {
	name string
	data []byte
	seen bool // there was a data field
}

func (f *eventFields) clear() { *f = eventFields{data: f.data[:0]} }

// whole reports whether the event has content if it ends here. spaces may be one.
func (f *eventFields) whole(spaces bool) bool {
	return f.seen && (spaces || len(bytes.TrimSpace(f.data)) > 0) || f.name == "error"
}

func (f *eventFields) add(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		f.name = string(value)
	case "data":
		if f.seen {
			f.data = append(f.data, '\n')
		}
		f.data, f.seen = append(f.data, value...), true
	}
}

func (e *eventChunks) take(name string, data []byte) ([]byte, error) {
	if name == "error" {
		return nil, ErrorIn(data)
	}
	if e.frame == nil || e.name != name {
		e.name, e.frame = name, []byte("data: ")
		if name != "" {
			e.frame = []byte("event: " + name + "\ndata: ")
		}
	}
	if string(bytes.TrimSpace(data)) == endMark {
		e.done = true
		return nil, io.EOF
	}
	return data, nil
}
