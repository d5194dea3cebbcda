package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// ItemBody returns the body of a call in a batch, on one line: the one that Generate sends, without a stream.
func (c *Caller) ItemBody(call *eval.Call, p Protocol) ([]byte, error) {
	if err := p.Check(&call.Request); err != nil {
		return nil, c.Unsendable(err)
	}
	r := call.Request
	r.Stream = false
	return OnOneLine(c.body(&r, p)), nil
}

// OnOneLine removes the line breaks of a JSON value.
func OnOneLine(value []byte) []byte {
	if bytes.ContainsAny(value, "\n\r") {
		return Compact(value)
	}
	return value
}

// NoBatches is the error for a service whose path replaces the one of the protocol.
func (c *Caller) NoBatches() error {
	return c.Unsendable(errors.New("the service has a path of its own, and batches have none"))
}

// ReadReply reads the reply to a call, which a live call would have sent to the address at.
func (c *Caller) ReadReply(reply *BatchReply, at string, form AnswerFormat) (*eval.Response, error) {
	if reply.Error != nil {
		return c.answer(nil, reply.Error, at, form)
	}
	resp, err := form.Parse(reply.Body)
	return c.answer(resp, err, at, form)
}

// Decode decodes a reply that is no answer of a model. It returns the error of the item, or the one in the reply.
func (r *BatchReply) Decode(v any) error {
	if r.Error != nil {
		return r.Error
	}
	return decodeReply(r.Body, v)
}

// Upload is a batch as the body of a request. It streams the items.
type Upload struct {
	Batch         *OutgoingBatch
	ContentType   string
	Before, After string
	// Array puts commas between the items instead of line breaks.
	Array bool

	patience *patience
}

// into makes the upload the body of a request. The caller closes it, also after the request was sent.
func (u *Upload) into(req *http.Request) error {
	body, err := u.open()
	if err != nil {
		return &eval.Error{
			Kind: eval.KindTransport, Retry: eval.RetryNever, Unsent: true,
			Message: "the items of the batch cannot be read: " + err.Error(),
		}
	}
	req.Method, req.Body, req.GetBody = http.MethodPost, body, u.open
	req.ContentLength = int64(len(u.Before)) + u.Batch.Size + int64(len(u.After))
	req.Header.Set("Content-Type", u.ContentType)
	return nil
}

func (u *Upload) open() (io.ReadCloser, error) {
	items, err := u.Batch.Open()
	if err != nil {
		return nil, err
	}
	var middle io.Reader = items
	if u.Array {
		middle = &commas{items, u.Batch.Size}
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(u.Before), &progressing{middle, u.patience}, strings.NewReader(u.After)), items}, nil
}

// commas puts a comma for each line break, and a blank for the last one, so that the length is the same.
type commas struct {
	io.Reader
	left int64
}

func (c *commas) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	for i := range p[:n] {
		if c.left--; p[i] != '\n' {
			continue
		}
		p[i] = ','
		if c.left <= 0 {
			p[i] = ' '
		}
	}
	return n, err
}

// NotCreated is an error from before a batch was created: whatever it says, nothing was paid.
func NotCreated(err error) error {
	e := *eval.AsError(err)
	e.Unsent = true
	return &e
}

// Create sends the request that creates a batch. A failure that is no refusal and that is not Unsent leaves open whether
// there is a batch: its kind is of the connection.
func (c *Caller) Create(ctx context.Context, q Question, read func(json.RawMessage) (*BatchState, error)) (*BatchState, error) {
	state, err := c.AskBatch(ctx, q, read)
	if err == nil {
		return state, nil
	}
	e := *eval.AsError(err)
	switch e.Kind {
	case eval.KindTimeout, eval.KindCanceled:
		return nil, &e
	case eval.KindTransport:
		// What no attempt helps is a request that was not made, or that no server of the other side has read.
		e.Unsent = e.Unsent || e.Retry == eval.RetryNever
		return nil, &e
	}
	switch {
	case e.Origin == eval.FromLogin:
		e.Unsent = true
	case isRefusal(e.Status):
	default:
		e.Kind, e.Retry = eval.KindTransport, 0
		e.Message = "it is not known whether there is a batch now: " + e.Message
	}
	return nil, &e
}

// isRefusal reports whether a status says that a request has done nothing. Other errors of a server, and those of a gateway
// that has waited for one, may come after a batch was created.
func isRefusal(status int) bool {
	switch status {
	case http.StatusRequestTimeout:
		return false
	case http.StatusNotImplemented, http.StatusServiceUnavailable, 529: // overloaded
		return true
	}
	return status >= 300 && status < 500
}

// AskBatch asks a question whose answer is a batch.
func (c *Caller) AskBatch(ctx context.Context, q Question, read func(json.RawMessage) (*BatchState, error)) (*BatchState, error) {
	var raw json.RawMessage
	if _, err := c.AskPatiently(ctx, q, &raw); err != nil {
		return nil, err
	}
	return read(raw)
}

// AskPatiently is Ask for a question that may take long, and that is given up when there is no progress.
func (c *Caller) AskPatiently(ctx context.Context, q Question, v any) ([]byte, error) {
	ctx, p := c.patient(ctx)
	defer p.end()
	if q.Items != nil {
		q.Items.patience = p
	}
	return c.Ask(ctx, q, v)
}

// NotABatch is the error for an answer that should be a batch.
func NotABatch(raw []byte) error {
	return eval.Errorf(eval.KindMalformed, "the answer is not a batch: %s", Excerpt(raw))
}

// Reason joins what a vendor says of a batch that it refused: the first three messages, without secrets.
func (c *Caller) Reason(messages []string) string {
	more := len(messages) - 3
	if more > 0 {
		messages = append(messages[:3:3], fmt.Sprintf("and %d more", more))
	}
	return cutRunes(c.Secrets().OutOf(strings.Join(messages, "; ")), maxMessage)
}

// TimeIn reads a time: seconds since 1970, or a text as in RFC 3339. Others are the zero time.
func TimeIn(raw json.RawMessage) time.Time {
	var seconds LenientInt
	if len(raw) > 0 && Read(raw, &seconds) == nil && seconds > 0 {
		return time.Unix(int64(seconds), 0)
	}
	var t time.Time
	_ = json.Unmarshal(raw, &t) // leaves zero
	return t
}

// Listed yields the batches of a list. page returns a page of it, and what to pass for the next one, "" after the last. More than
// MaxPages pages are an error.
func Listed(page func(after string) (found []*BatchState, next string, err error)) iter.Seq2[*BatchState, error] {
	return func(yield func(*BatchState, error) bool) {
		after := ""
		for range MaxPages {
			found, next, err := page(after)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, b := range found {
				if !yield(b, nil) {
					return
				}
			}
			if len(found) == 0 || next == "" || next == after {
				return
			}
			after = next
		}
		yield(nil, eval.Errorf(eval.KindTooLarge, "the list of batches has more than %d pages", MaxPages))
	}
}

// ListedBelow is Listed for a list at a path, as most vendors have it. cursor is the parameter with the last id of a page.
func (c *Caller) ListedBelow(
	ctx context.Context, path, cursor string, read func(json.RawMessage) (*BatchState, error),
) iter.Seq2[*BatchState, error] {
	return Listed(func(after string) (found []*BatchState, next string, err error) {
		at := c.URL(path, "") + "?limit=100"
		if after != "" {
			at += "&" + cursor + "=" + url.QueryEscape(after)
		}
		var page modelList
		if _, err := c.AskPatiently(ctx, Question{URL: at}, &page); err != nil {
			return nil, "", err
		}
		for _, raw := range page.Data {
			b, err := read(raw)
			if err != nil {
				return nil, "", err
			}
			found, next = append(found, b), b.ID
		}
		if !page.HasMore {
			next = ""
		}
		return found, next, nil
	})
}

// longAnswer is an answer of any length, to be read in pieces of at most MaxResponseBytes.
type longAnswer struct {
	io.Closer
	conn *Conn
	req  *http.Request
	body io.Reader
	left int
	wait *patience
}

// Long asks for an answer of any length. The caller closes it.
func (c *Caller) Long(ctx context.Context, at string) (a *longAnswer, err error) {
	ctx, wait := c.patient(ctx)
	defer func() {
		if err != nil {
			wait.end()
		}
	}()
	req, err := c.request(ctx, at, nil, "")
	if err != nil {
		return nil, err
	}
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	body, err := c.decoded(ctx, resp)
	if err != nil {
		_ = resp.Body.Close() // it was only read
		return nil, c.bodyError(req, err)
	}
	return &longAnswer{resp.Body, c.Conn, req, &progressing{body, wait}, MaxResponseBytes, wait}, nil
}

// Close ends the request.
func (a *longAnswer) Close() {
	_ = a.Closer.Close() // it was only read
	a.wait.end()
}

// Next begins a piece.
func (a *longAnswer) Next() { a.left = MaxResponseBytes }

// Read reads on. It refuses pieces that are too long.
func (a *longAnswer) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := a.body.Read(p[:min(len(p), a.left)])
	a.left -= n
	return n, err
}

// Error is the *eval.Error for an error of Read.
func (a *longAnswer) Error(err error) error { return a.conn.bodyError(a.req, err) }

// Replies yields the replies of a batch: those in each place with results, up to an error.
func (state *BatchState) Replies(in func(place string) iter.Seq2[*BatchReply, error]) iter.Seq2[*BatchReply, error] {
	return func(yield func(*BatchReply, error) bool) {
		for _, place := range state.Results {
			for reply, err := range in(place) {
				if !yield(reply, err) || err != nil {
					return
				}
			}
		}
	}
}

// RepliesAt yields the replies in a file that the service keeps: a JSON object per line, each read by item. A line that is
// longer than MaxResponseBytes is the error of its item, as a live answer of that length is.
func (c *Caller) RepliesAt(
	ctx context.Context, at string, item func(Fields) (*BatchReply, error),
) iter.Seq2[*BatchReply, error] {
	return func(yield func(*BatchReply, error) bool) {
		answer, err := c.Long(ctx, at)
		if err != nil {
			yield(nil, err)
			return
		}
		defer answer.Close()
		lines := bufio.NewReaderSize(answer.body, 64<<10)
		for n := 1; ; n++ {
			line, whole, err := readLine(lines)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, InResults("line", n, answer.Error(err)))
				return
			}
			if len(bytes.TrimSpace(line)) > 0 {
				reply, wrong := c.reply(line, whole, item)
				if !yield(reply, InResults("line", n, wrong)) || wrong != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

// readLine reads a line. Of one that is longer than MaxResponseBytes it returns the beginning.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		piece, err := in.ReadSlice('\n')
		if whole = whole && len(line)+len(piece) <= MaxResponseBytes; whole {
			line = append(line, piece...)
		} else if len(line) > beginning {
			line = bytes.Clone(line[:beginning])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// beginning is how much of a line that is too long is kept, to find the item that it belongs to.
const beginning = 4 << 10

// itemOf finds the item at the beginning of a line.
var itemOf = pattern(`^\s*\{\s*(?:"id"\s*:\s*"[^"\\]*"\s*,\s*)?"(?:custom_id|key)"\s*:\s*"([\w-]+)"`)

func (c *Caller) reply(line []byte, whole bool, item func(Fields) (*BatchReply, error)) (*BatchReply, error) {
	if whole {
		return c.Reply(line, item)
	}
	e := eval.Errorf(eval.KindTooLarge, "%s", ErrTooLarge)
	if id := itemOf().FindSubmatch(line); id != nil {
		return &BatchReply{Item: string(id[1]), Error: e}, nil
	}
	return nil, e
}

// Reply reads one of the results of a batch by item, and masks keys in it.
func (c *Caller) Reply(raw []byte, item func(Fields) (*BatchReply, error)) (*BatchReply, error) {
	raw = bytes.TrimSpace(c.clean(raw))
	var f Fields
	// Answers with too many values are left to the reader of each: here they would spoil the answers after them.
	if !wirejson.Valid(raw) || !read(raw, &f) {
		if err := Decode(raw, &f); err != nil {
			return nil, err
		}
	}
	reply, err := item(f)
	if err == nil && reply.Item == "" {
		err = eval.Errorf(eval.KindMalformed, "it names no item: %s", Excerpt(raw))
	}
	if err != nil {
		return nil, err
	}
	if reply.Error != nil {
		reply.Error = c.cleaned(reply.Error)
	}
	return reply, nil
}

// InResults says in which of the results of a batch an error is, the first being 1; nil for nil.
func InResults(noun string, n int, err error) error {
	if err == nil {
		return nil
	}
	e := *eval.AsError(err)
	e.Message = fmt.Sprintf("%s %d of the results of the batch: %s", noun, n, e.Message)
	return &e
}

// StatusOfItem is the error of an item that the service answered with a status other than success, as a live call has it.
func StatusOfItem(status int, body []byte) *eval.Error {
	return statusError(&http.Response{StatusCode: status}, body)
}

// ItemExpired is the error of an item that the service did not get to.
func ItemExpired() *eval.Error {
	return eval.Errorf(eval.KindTransport, "the batch expired before this item was answered")
}

// ItemCanceled is the error of an item of a batch that was canceled.
func ItemCanceled() *eval.Error {
	return eval.Errorf(eval.KindTransport, "the batch was cancelled before this item was answered")
}
