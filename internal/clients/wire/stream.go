package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// maxStreamBytes bounds a whole stream. MaxResponseBytes bounds what is kept of it, and each chunk.
const maxStreamBytes = 256 << 20

// lingering is how long to wait for the end after the last event, so that the connection can be reused.
const lingering = 100 * time.Millisecond

type assembler interface {
	// Add adds a piece, which is valid until it returns, and reports whether it had text.
	Add(data []byte) (text bool, err error)
	// Finished reports whether the answer is complete.
	Finished() bool
}

// Stream sends a request, passes the pieces of the reply to out, and fills in timing.
func (c *Conn) Stream(
	given context.Context, request func(context.Context) (*http.Request, error), timing *eval.Timing, out assembler,
) error {
	ctx, cancel := context.WithCancel(given)
	defer cancel()
	req, err := request(ctx)
	if err != nil {
		return err
	}
	timing.StreamTiming = eval.StreamTiming{}
	clock := stopwatch{started: time.Now(), timing: timing}
	defer clock.stop()
	resp, err := c.send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	in, err := c.chunksOf(ctx, resp)
	if err != nil {
		return c.streamError(req, err, 0)
	}
	patience := time.AfterFunc(time.Hour, cancel) // an hour means never; it is reset once the answer is complete
	defer patience.Stop()
	s := streamReading{c, in, out, &clock, patience}
	for err == nil {
		err = s.piece(ctx)
	}
	whole := c.cfg.Verbatim && errors.Is(err, io.EOF) && delimited(resp)
	var found *strayError // also of a line that the timer cut
	if whole || (errors.Is(err, io.EOF) || overdue(given, ctx) && !errors.As(err, &found)) && s.complete() {
		clock.stop()
		if err = c.trailing(in, out, cancel); err == nil {
			return nil
		}
	} else if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if failed := c.streamError(req, err, timing.Chunks); !isBrokenAfter(out, err, failed) {
		return failed
	}
	return nil
}

// isBrokenAfter reports whether only the connection failed, after the event that ends an answer. Another call would pay again for
// what is there.
func isBrokenAfter(out assembler, err, failed error) bool {
	var found *eval.Error
	marked, ok := out.(interface{ Over() bool })
	kind := eval.AsError(failed).Kind
	return ok && marked.Over() && !errors.As(err, &found) && (kind == eval.KindTruncated || kind == eval.KindTransport)
}

type streamReading struct {
	conn     *Conn
	in       chunks
	out      assembler
	clock    *stopwatch
	patience *time.Timer // ends a stream that does not end itself
}

func (s *streamReading) piece(ctx context.Context) error {
	data, err := s.in.next()
	if err != nil {
		return err
	}
	if named, ok := s.out.(interface{ Name(event string) }); ok {
		named.Name(s.in.called())
	}
	text, err := s.out.Add(s.conn.masked(data)) // which renames the keys of those pieces that it decodes
	s.clock.chunk(text)
	if err == nil {
		err = ctx.Err() // data that was read ahead must not outlive the deadline
	}
	if s.in.endless() && s.out.Finished() {
		s.patience.Reset(afterTheEnd)
	}
	return err
}

func (s *streamReading) complete() bool { return s.in.ended() || s.out.Finished() }

// delimited reports whether the end of a response is marked, so that a broken connection is noticed.
func delimited(resp *http.Response) bool {
	return resp.ProtoMajor > 1 || resp.ContentLength >= 0 ||
		resp.Uncompressed || slices.Contains(resp.TransferEncoding, "chunked")
}

// afterTheEnd is how long to wait for further events after all candidates have finished. Usage may still
// come, and some servers do not close the connection.
const afterTheEnd = time.Second

// overdue reports whether the stream's own timer, and not the caller, ended the wait.
func overdue(given, own context.Context) bool { return own.Err() != nil && given.Err() == nil }

// trailing reads what follows a stream without waiting: a server that fails late reports that there.
func (c *Conn) trailing(in chunks, out assembler, cancel context.CancelFunc) error {
	timer := time.AfterFunc(lingering, cancel)
	defer timer.Stop()
	rest, _ := io.ReadAll(io.LimitReader(in.rest(), maxTrailing)) // a broken connection does no harm now
	if !in.framed() {
		out = nil
	}
	return stray(c.clean(rest), out)
}

// maxTrailing bounds what is read after a stream or between its events, in bytes.
const maxTrailing = 64 << 10

// stray returns the error for unexpected text, or the error of the service in it. After a stream of events, which out joined,
// there may be comments and events that add no text.
func stray(text []byte, out assembler) error {
	var known *eval.Error
	text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), errorField))
	switch {
	case len(text) == 0:
		return nil
	case parseErrorBody(text) != nil:
		return ErrorIn(text)
	case out != nil:
		if err := onlyEvents(text, out); err == nil || errors.As(err, &known) {
			return err
		}
	}
	return eval.Errorf(eval.KindMalformed, "the stream has text outside of an answer: %s", Excerpt(text))
}

func (c *Conn) streamError(req *http.Request, err error, n int) error {
	var syntax *json.SyntaxError
	var found *strayError
	if errors.As(err, &found) {
		err = stray(c.clean(found.text), nil)
	}
	e := &eval.Error{}
	switch {
	case errors.As(err, &e):
		named := n > 1 || e.Cause != "" // without the chunk, its text would mean a cause in files of version 0.1
		e.Cause = ""                    // of a broken stream nothing is kept that could be read in another way
		if named {
			e.Message = "in chunk " + strconv.Itoa(n) + " of the stream: " + e.Message
		}
		return c.cleaned(e)
	case errors.As(err, &syntax):
		return eval.Errorf(eval.KindMalformed, "the stream is not JSON after %s", diag.Count(n, "chunk"))
	case errors.Is(err, io.ErrUnexpectedEOF):
		if e := contextError(req.Context(), err); e != nil {
			return e
		}
		return eval.Errorf(eval.KindTruncated, "the stream was cut after %s", diag.Count(n, "chunk"))
	}
	e = eval.AsError(c.bodyError(req, err))
	if e.Kind == eval.KindTransport {
		e.Message += "; the stream was cut after " + strconv.Itoa(n) + " chunks"
	}
	return e
}

type stopwatch struct {
	started, last time.Time
	gaps          time.Duration
	timing        *eval.Timing
	stopped       bool
}

func (s *stopwatch) chunk(text bool) {
	now := time.Now()
	t := &s.timing.StreamTiming
	if text && t.FirstTokenMs == 0 {
		t.FirstTokenMs = max(eval.Milliseconds(now.Sub(s.started)), 0.001) // 0 would mean that there was no text
	}
	if t.Chunks++; t.Chunks > 1 {
		gap := now.Sub(s.last)
		s.gaps += gap
		t.MaxGapMs = max(t.MaxGapMs, eval.Milliseconds(gap))
		t.MeanGapMs = eval.Milliseconds(s.gaps / time.Duration(t.Chunks-1))
	}
	s.last = now
}

func (s *stopwatch) stop() {
	if !s.stopped {
		s.stopped = true
		s.timing.LatencyMs = eval.Milliseconds(time.Since(s.started))
	}
}

// chunks yields the pieces of a streamed answer, each a JSON object.
type chunks interface {
	// next returns the next piece, which lasts until the one after it; io.EOF after the last one.
	next() ([]byte, error)
	// called returns the name of the last piece, "" for none.
	called() string
	// ended reports whether the stream marked its end.
	ended() bool
	// endless reports whether streams of this form have no end mark.
	endless() bool
	// framed reports whether the pieces are server-sent events.
	framed() bool
	// rest returns what follows the last piece.
	rest() io.Reader
}

// chunksOf distinguishes the two forms of streams by the first byte, or else by the media type. One is a
// JSON array, as the service documents it; the other is server-sent events.
func (c *Conn) chunksOf(ctx context.Context, resp *http.Response) (chunks, error) {
	body, err := c.decoded(ctx, resp)
	if err != nil {
		return nil, err
	}
	limited := &bounded{in: body, all: maxStreamBytes}
	limited.refill()
	in := bufio.NewReaderSize(limited, 32<<10)
	first, err := firstByte(in)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case first == '[', first == '{', first == '"' && c.cfg.Verbatim:
		return &jsonChunks{limit: limited, in: in, dec: json.NewDecoder(in), array: first == '['}, nil
	case kind == "text/event-stream", isEvent(in):
		return &eventChunks{limit: limited, lines: lines{in: in}, spaces: c.cfg.Verbatim}, nil
	}
	beginning, _ := in.Peek(8 * maxExcerpt) // what has arrived; longer than an excerpt, so that no key is cut
	return nil, eval.Errorf(eval.KindMalformed, "the answer is neither JSON nor a stream of events: %s", Excerpt(c.clean(beginning)))
}

// firstByte skips a byte order mark and white space, and peeks at the next byte.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return 0, io.ErrUnexpectedEOF // an empty reply is a stream cut before its first chunk
		case err != nil:
			return 0, err
		case strings.IndexByte("\xEF\xBB\xBF \t\r\n", b) < 0:
			return b, in.UnreadByte()
		}
	}
}

// bounded ends a stream that is too long in one chunk or in total.
type bounded struct {
	in   io.Reader
	left int // bytes left for the chunk
	all  int
}

func (b *bounded) refill() { b.left = MaxResponseBytes }

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 || b.all <= 0 {
		return 0, ErrTooLarge
	}
	n, err := b.in.Read(p[:min(len(p), b.left, b.all)])
	b.left -= n
	b.all -= n
	return n, err
}

// jsonChunks yields the elements of a JSON array, or consecutive objects.
type jsonChunks struct {
	limit  *bounded
	in     io.Reader // the input of dec
	dec    *json.Decoder
	array  bool
	begun  bool
	closed bool
}

func (j *jsonChunks) called() string { return "" }
func (j *jsonChunks) ended() bool    { return j.closed }
func (j *jsonChunks) endless() bool  { return !j.array }
func (j *jsonChunks) framed() bool   { return false }

func (j *jsonChunks) rest() io.Reader {
	j.limit.refill()
	return io.MultiReader(j.dec.Buffered(), j.in)
}

func (j *jsonChunks) next() ([]byte, error) {
	j.limit.refill()
	if j.array {
		if err := j.brackets(); err != nil {
			return nil, err
		}
	}
	var data json.RawMessage
	err := j.dec.Decode(&data)
	if j.array && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

// brackets reads a bracket of the array if it is next. It returns io.EOF after the closing one.
func (j *jsonChunks) brackets() error {
	if !j.begun {
		if _, err := j.dec.Token(); err != nil {
			return err
		}
		j.begun = true
	}
	if j.dec.More() {
		return nil
	}
	_, err := j.dec.Token() // the closing bracket, or an invalid token
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	j.closed = true
	return io.EOF
}

// StreamEnd finds a second reply in the stream of an answer. Some servers send a finish reason with every piece. So text
// after one is a second reply only if the stream also has text without one, or repeats itself.
type StreamEnd struct {
	open  bool  // some text came without a finish reason
	ended bool  // there was a finish reason
	ends  []int // lengths of the text where it may have ended
}

// Add notes a piece: whether it says something, and whether it has a finish reason. length is that of the text with it.
func (e *StreamEnd) Add(says, ends bool, length int) error {
	if says && e.ended && (e.open || !ends) {
		return SecondReply()
	}
	e.open = e.open || says && !ends
	if ends {
		e.ended = true
		e.ends = append(e.ends, length)
	}
	return nil
}

// Suspect notes that the answer may have ended at a length, without a finish reason.
func (e *StreamEnd) Suspect(length int) {
	e.ends = append(e.ends, length)
}

// Check returns an error for a text that repeats what it was where it may have ended.
func (e *StreamEnd) Check(text string) error {
	for _, end := range e.ends {
		if end > 0 && end < len(text) && len(text)%end == 0 && text[end:] == text[:len(text)-end] {
			return SecondReply()
		}
	}
	return nil
}

// SecondReply returns the error for a stream with more than one reply.
func SecondReply() error {
	return eval.Errorf(eval.KindMalformed, "the stream has more text after the end of its answer: a second reply, or the same again")
}
