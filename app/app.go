// Package app holds the nouns of applications under test: what a target that is not a model of a service gets. An
// application is an HTTP endpoint, a program, or an echo of the prompt.
package app

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/evalrun/evalrun/variable"
)

// RequestMaker makes the requests to an application under test, as its suite describes it. Each target of a run has a value of its own.
type RequestMaker interface {
	// Render makes the request for a case. The error, for people, is a value that does not fit where its template is.
	Render(in *Input) (*Request, error)
}

// Input is what the templates of a request are rendered with.
type Input struct {
	Vars   variable.Dict // of the case
	System string        // the system text
	// Messages are the turns so far. The last one is the user's.
	Messages []Message
	// Trial is unique to the run and the trial; Attempt counts the attempts of a call, from 1. Both are zero where a request is only
	// hashed or shown.
	Trial   string
	Attempt int
}

// Prompt is the text of the last message.
func (in *Input) Prompt() string {
	if len(in.Messages) == 0 {
		return ""
	}
	return in.Messages[len(in.Messages)-1].Text
}

// Message is a turn of a conversation with an application, in the form that most chat interfaces share.
type Message struct {
	Role string `json:"role"` // user or assistant
	Text string `json:"content"`
}

// TraceID is the W3C trace id of all calls of a trial, in hex, made of the trial's name to the application.
func TraceID(session string) string {
	sum := sha256.Sum256([]byte("trace " + session))
	return hex.EncodeToString(sum[:16])
}

// Request is what an application is sent: exactly one of its members is set. As JSON it is what run files hold, without secrets.
type Request struct {
	HTTP    *HTTP       `json:"http,omitempty"`
	Program *ProgramRun `json:"program,omitempty"`
	Echo    bool        `json:"echo,omitempty"`
}

// HTTP is a request to an endpoint.
type HTTP struct {
	Method string `json:"method"`
	// URL is the address. In run files the variables of the environment that are in it are names: ${env:EVALRUN_APP_URL}.
	URL     string   `json:"url"`
	Headers []Header `json:"headers,omitempty"` // in the order of the suite
	// Body is as sent: JSON where the suite gives a mapping, else a text.
	Body   string `json:"body,omitempty"`
	Stream bool   `json:"stream,omitempty"` // server-sent events are read
	// Shown is the address as it is recorded, "" where that is the URL.
	Shown string `json:"-"`
	// Digest is of a URL that is not recorded, so that two of them are two requests; "" where the URL is what was sent.
	Digest string `json:"-"`
}

// Header is a header of a request.
type Header struct {
	Name string `json:"name"`
	// Value is empty in run files for a header that is secret.
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"`
	// Data says that the value has data of the case in it, so that it is a part of the request.
	Data bool `json:"-"`
}

// Endpoint is how an HTTP endpoint is called, next to what it is sent.
type Endpoint struct {
	Reading Reading
	Timeout time.Duration // of one attempt; 0: that of the run
	TLS     *tls.Config   // nil: the system's
	// Secrets are the values that must not show. They are never written.
	Secrets []string
}

// Reading says how the answers of an endpoint are read: each member is an expression of jq over the response, "" for none.
type Reading struct {
	Answer       string // gives the text
	ToolCalls    string // gives a list of {name, args}
	FinishReason string // gives a word
	Usage        string // gives an object with numbers of tokens
	Error        string // gives what the application says went wrong; null when nothing did
	Stream       bool   // the expressions are applied to each server-sent event
}

// ProgramRun is one run of a program.
type ProgramRun struct {
	Command []string `json:"command"`
	// Files are the SHA-256 digests, in hex, of the files that the command names, by their names in the suite's folder.
	Files map[string]string `json:"files,omitempty"`
	// Input is the JSON object on the program's standard input.
	Input json.RawMessage `json:"input"`
	// Workspace is the SHA-256 of the folder that is copied for each trial, "" where there is none.
	Workspace string `json:"workspace,omitempty"`
}

// Withheld is the request without what may quote a prompt: how it was sent, and no more.
func (r *Request) Withheld() *Request {
	switch {
	case r.HTTP != nil:
		return &Request{HTTP: &HTTP{Method: r.HTTP.Method, Stream: r.HTTP.Stream}}
	case r.Program != nil:
		return &Request{Program: &ProgramRun{Command: r.Program.Command, Files: r.Program.Files, Workspace: r.Program.Workspace}}
	}
	return r
}

// Identity is what makes two recorded requests the same: of headers the names, and the values that hold data of the case.
func (r *Request) Identity() *Request {
	if r.HTTP == nil {
		return r
	}
	own := *r.HTTP
	own.URL, own.Headers = strings.TrimSpace(own.URL+" "+own.Digest), nil
	for _, h := range r.HTTP.Headers {
		named := Header{Name: strings.ToLower(h.Name)}
		if h.Data {
			named.Value = h.Value
		}
		own.Headers = append(own.Headers, named)
	}
	return &Request{HTTP: &own}
}

// Recorded is the request without secrets, for run files.
func (r *Request) Recorded() *Request {
	if r.HTTP == nil {
		return r
	}
	out, own := *r, *r.HTTP
	own.Headers = nil
	if own.Shown != "" {
		sum := sha256.Sum256([]byte(own.URL))
		own.URL = own.Shown
		own.Shown = ""
		own.Digest = hex.EncodeToString(sum[:])
	}
	for _, h := range r.HTTP.Headers {
		if h.Secret {
			h.Value = ""
		}
		own.Headers = append(own.Headers, h)
	}
	out.HTTP = &own
	return &out
}
