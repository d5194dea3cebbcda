package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

type canned struct {
	status int // 200 when 0
	header http.Header
	body   io.Reader
	err    error
	calls  *int // counted when set
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.calls != nil {
		*c.calls++
	}
	if c.err != nil {
		return nil, c.err
	}
	resp := &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(c.body), Request: req, ContentLength: -1}
	if c.status == 0 {
		resp.StatusCode = http.StatusOK
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.Status = http.StatusText(resp.StatusCode)
	return resp, nil
}

type open struct{}

func (open) Authenticate(*http.Request) (string, error)  { return "", nil }
func (open) Renew(context.Context, string) (bool, error) { return false, nil }
func cannedConn(c canned, secrets ...string) *Conn {
	return New(Config{Authenticator: open{}, Secrets: secrets, Transport: c})
}

func header(key, value string) http.Header { return http.Header{key: {value}} }

func request(ctx context.Context) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodPost, "http://service.invalid/v1", nil)
}

func do(t *testing.T, c *Conn, ctx context.Context) (string, *eval.Error) {
	t.Helper()
	req, err := request(ctx)
	expect.OK(t, err)
	data, err := c.Do(req)
	if err == nil {
		return string(data), nil
	}
	return string(data), eval.AsError(err)
}

// pieces keeps the pieces of a stream apart; one with "end" in it is the last.
type pieces struct {
	got      []string
	finished bool
}

func (p *pieces) Add(data []byte) (bool, error) {
	p.got = append(p.got, string(data))
	p.finished = p.finished || bytes.Contains(data, []byte("end"))
	return true, nil
}

func (p *pieces) Finished() bool { return p.finished }

func stream(t *testing.T, c canned, secrets ...string) ([]string, *eval.Error) {
	t.Helper()
	var out pieces
	var timing eval.Timing
	if err := cannedConn(c, secrets...).Stream(t.Context(), request, &timing, &out); err != nil {
		return out.got, eval.AsError(err)
	}
	if timing.Chunks != len(out.got) {
		t.Errorf("timing has %d chunks, want %d", timing.Chunks, len(out.got))
	}
	return out.got, nil
}

func split(body string, at int) io.Reader {
	return io.MultiReader(strings.NewReader(body[:at]), strings.NewReader(body[at:]))
}

func zipped(t *testing.T, body string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, body); err != nil {
		t.Fatal(err)
	}
	expect.OK(t, w.Close())
	return b.String()
}
