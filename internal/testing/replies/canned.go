package replies

import (
	"bytes"
	"io"
	"net/http"
)

// Canned is an http.RoundTripper that returns one reply without a network.
type Canned struct {
	Status int // Optional, default 200
	Header http.Header
	Body   []byte
	// Slowly returns the body byte by byte.
	Slowly bool
	// Seen is called with the request. Optional.
	Seen func(req *http.Request, body []byte)
}

// Transport returns the recorded reply.
func (r *Reply) Transport() *Canned {
	return &Canned{Status: r.Status, Header: r.Header(), Body: r.Body}
}

// RoundTrip implements http.RoundTripper.
func (c *Canned) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.Seen != nil {
		var sent []byte
		if req.Body != nil {
			sent, _ = io.ReadAll(req.Body) // from memory
		}
		c.Seen(req, sent)
	}
	var body io.Reader = bytes.NewReader(c.Body)
	if c.Slowly {
		body = oneByte{body}
	}
	resp := &http.Response{
		StatusCode: c.Status, Header: c.Header, Body: io.NopCloser(body), Request: req,
		ContentLength: -1, ProtoMajor: 1,
	}
	if c.Status == 0 {
		resp.StatusCode = http.StatusOK
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.Status = http.StatusText(resp.StatusCode)
	return resp, nil
}

type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1)]) }
