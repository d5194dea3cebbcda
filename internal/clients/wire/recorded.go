package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// IsEvents reports whether data begins like server-sent events.
func IsEvents(data []byte) bool {
	return beginsEvent(bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), " \t\r\n"))
}

// Whole says how a client reads an answer that is one object.
type Whole struct {
	Noun  string   // for messages, such as "a message"
	Field string   // a member that every answer has
	Other []string // further members of answers that a bare error lacks
	Read  func(Fields) (*eval.Response, error)
	Lacks func(Fields) error // says why an answer without Field has none yet; nil for answers that always have it
}

// ParseKept decodes a complete answer, or events, which stream joins. The error is an *eval.Error.
func ParseKept(data []byte, stream Assembly, whole *Whole) (*eval.Response, error) {
	if IsEvents(data) {
		if err := readEvents(data, stream); err != nil {
			return nil, err
		}
		return stream.Response()
	}
	f, err := DecodeAnswer(data, append([]string{whole.Field}, whole.Other...)...)
	if err != nil {
		return nil, err
	}
	if _, ok := f[whole.Field]; !ok {
		if whole.Lacks != nil && whole.Lacks(f) != nil {
			return nil, whole.Lacks(f)
		}
		return nil, eval.Errorf(eval.KindMalformed, "the answer is not %s: it has no `%s`: %s", whole.Noun, whole.Field,
			Excerpt(data))
	}
	out, err := whole.Read(f)
	if err != nil {
		return nil, Misshapen(err, data)
	}
	return out, nil
}

// readEvents reads a recorded stream. It returns the same *eval.Error as a live stream.
func readEvents(data []byte, out assembler) error {
	in := &eventChunks{limit: &bounded{}, lines: lines{text: bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))}}
	for n := 0; ; n++ {
		chunk, err := in.next()
		if err == nil {
			_, err = out.Add(chunk)
		}
		if err == nil {
			continue
		}
		var found *strayError
		switch {
		case errors.As(err, &found):
			return eval.Errorf(eval.KindMalformed, "the stream has text outside of an answer: %s", Excerpt(found.text))
		case errors.Is(err, io.EOF) && (in.ended() || out.Finished()):
			rest, _ := io.ReadAll(in.rest()) // from memory
			return stray(rest, out)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return eval.Errorf(eval.KindTruncated, "the stream was cut after %s", diag.Count(n, "chunk"))
		}
		return eval.AsError(err)
	}
}
