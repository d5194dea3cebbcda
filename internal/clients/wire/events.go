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
	e := newEventChunks(&bounded{}, bytes.NewReader(text))
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

// beginsEvent reports whether a text begins with a field of an event, or with a comment.
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
	lines *bufio.Scanner
	done  bool
	name  string // of the last event
	// spaces makes events count that are only spaces, because they may be a piece of a text.
	spaces bool
}

func newEventChunks(limit *bounded, in io.Reader) *eventChunks {
	e := &eventChunks{limit: limit, lines: bufio.NewScanner(in)}
	e.lines.Buffer(nil, MaxResponseBytes)
	e.lines.Split(new(lineEnds).split)
	return e
}

// lineEnds splits text at the three line endings that events may use.
type lineEnds struct {
	afterCR  bool // a following LF belongs to the same line ending
	searched int  // bytes of the line that were searched
}

func (l *lineEnds) split(data []byte, atEOF bool) (int, []byte, error) {
	skip := 0
	if l.afterCR && len(data) > 0 && data[0] == '\n' {
		skip = 1
	}
	if len(data) > 0 {
		l.afterCR = false
	}
	rest := data[skip:]
	from := min(l.searched, len(rest))
	if i := bytes.IndexAny(rest[from:], "\r\n"); i >= 0 {
		i += from
		l.searched = 0
		l.afterCR = rest[i] == '\r' // a LF may follow later
		return skip + i + 1, rest[:i:i], nil
	}
	if atEOF && len(rest) > 0 {
		return len(data), rest, nil
	}
	l.searched = len(rest)
	return skip, nil, nil
}

// endMark is the last event of some servers.
const endMark = "[DONE]"

func (e *eventChunks) event() string { return e.name }

func (e *eventChunks) ended() bool { return e.done }

func (e *eventChunks) endless() bool { return true }

func (e *eventChunks) framed() bool { return true }

// rest returns what follows the end mark, line by line.
func (e *eventChunks) rest() io.Reader {
	e.limit.refill()
	var b bytes.Buffer
	for b.Len() < maxTrailing && e.lines.Scan() {
		b.Write(e.lines.Bytes())
		b.WriteByte('\n')
	}
	return &b
}

// beginsField reports whether a text is a part of the name of a field.
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
	for !json.Valid(text) && len(text) < maxTrailing && e.lines.Scan() {
		text = append(append(text, '\n'), e.lines.Bytes()...)
	}
	return &strayError{text}
}

var errorField = []byte("error:")

// strayError is text outside of events.
type strayError struct{ text []byte }

func (e *strayError) Error() string { return "text outside of events" }

func (e *eventChunks) next() ([]byte, error) {
	e.limit.refill()
	f := eventFields{spaces: e.spaces}
	for !e.done && e.lines.Scan() {
		line := e.lines.Bytes()
		switch {
		case len(line) == 0 && f.whole():
			return e.take(f.name, f.data)
		case len(line) == 0:
			f = eventFields{spaces: e.spaces}
			continue
		case e.lines.Err() != nil && beginsField(line): // the rest of the line did not come
			return nil, e.lines.Err()
		case !isField(line):
			return nil, e.stray(line)
		}
		if f.add(line); len(f.data) > MaxResponseBytes {
			return nil, ErrTooLarge
		}
	}
	return e.last(&f)
}

// last returns the event at the end of the stream, or the error that ended the stream.
func (e *eventChunks) last(f *eventFields) ([]byte, error) {
	err := e.lines.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, ErrTooLarge
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

	spaces bool // see eventChunks
}

// whole reports whether the event has content if it ends here.
func (f *eventFields) whole() bool {
	return f.seen && (f.spaces || len(bytes.TrimSpace(f.data)) > 0) || f.name == "error"
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
	e.name = name
	if name == "error" {
		return nil, ErrorIn(data)
	}
	if string(bytes.TrimSpace(data)) == endMark {
		e.done = true
		return nil, io.EOF
	}
	return data, nil
}
