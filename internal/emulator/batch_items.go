package emulator

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
)

// itemReader reads the items of a batch from a JSON object without keeping all of it.
type itemReader struct {
	*json.Decoder
	path  []string // the names of the members that lead to the list of items
	item  func(json.RawMessage) error
	other func(name string, value json.RawMessage) // gets the other members on the way; nil: they are ignored
}

// object reads an object. depth is how many names of the path lead to it.
func (d *itemReader) object(depth int) error {
	return d.within('{', '}', "a JSON object", func() error {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if camel(name) != d.path[depth] {
			var value json.RawMessage
			if err := d.Decode(&value); err != nil || d.other == nil {
				return err
			}
			d.other(camel(name), value)
			return nil
		}
		if depth+1 < len(d.path) {
			return d.object(depth + 1)
		}
		return d.within('[', ']', name+": a list", func() error {
			var one json.RawMessage
			if err := d.Decode(&one); err != nil {
				return err
			}
			return d.item(one)
		})
	})
}

// camel is a name in the spelling of the service's own protocol.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// within reads what is between two delimiters.
func (d *itemReader) within(open, end json.Delim, what string, next func() error) error {
	token, err := d.Token()
	for ; err == nil && token == open && d.More(); err = next() {
		continue
	}
	if err != nil {
		return err
	}
	if token != open {
		return badRequest("%s is expected", what)
	}
	token, err = d.Token()
	if err == nil && token != end {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// readItems writes the file of a batch's items, which are in the body of its submission. read makes a line of one.
func (e *Emulator) readItems(
	r *http.Request, b *batch, limit int64, d *itemReader, read func(json.RawMessage) (*batchLine, *problem),
) *problem {
	body, p := bodyOf(r)
	if p != nil {
		return p
	}
	b.Input = b.ID + ".items"
	d.Decoder = json.NewDecoder(http.MaxBytesReader(nil, body, limit))
	err := e.batches.files.write(b.Input, func(w io.Writer) error {
		d.item = func(raw json.RawMessage) error {
			line, p := read(raw)
			if p != nil {
				return p
			}
			b.Items++
			return writeLine(w, line)
		}
		return d.object(0)
	})
	var large *http.MaxBytesError
	var disk *fs.PathError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return &problem{http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT", fmt.Sprintf("the request is larger than %d bytes", limit), ""}
	case errors.As(err, &disk):
		return internal(err)
	case err != nil:
		return badRequest("the body is not the JSON that is expected: %s", err)
	}
	return nil
}

// lines yields the lines of a file that are not empty, without their breaks.
func lines(r io.Reader) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := in.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line, nil) {
				return
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}
