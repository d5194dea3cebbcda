package eval

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// RequestMaker makes the requests to an application under test, as its suite describes it. Each target of a run has a value of its own.
type RequestMaker interface {
	// Render makes the request for a case. Its error says which value does not fit into its template.
	Render(in *Input) (*Rendered, error)
}

// Called is an application under test to which a call goes.
type Called struct {
	// Name is that of its target in the run. The runner leaves it "", and the application's way to its client sets it.
	Name string
	// RequestMaker makes the requests. It stays in this process: a call from another one comes with the name alone.
	RequestMaker
}

// Input has the data for the templates of a request.
type Input struct {
	Vars   Dict   // of the case
	System string // the system text
	// Messages are the turns so far. The last one is the user's.
	Messages []Message
	// Trial is unique to the run and the trial; Attempt counts the attempts of a call, from 1. Both are
	// zero when a request is only hashed or shown.
	Trial   string
	Attempt int
	// Login has what a login to the endpoint gave, by name; nil when a request is only hashed or shown.
	Login map[string]string
}

// Prompt returns the text of the last message.
func (in *Input) Prompt() string {
	if len(in.Messages) == 0 {
		return ""
	}
	return in.Messages[len(in.Messages)-1].Text
}

// Message is a turn of a conversation, in the form that most chat interfaces share.
type Message struct {
	Role string `json:"role"` // user or assistant
	Text string `json:"content"`
}

// TraceID returns the W3C trace id that all calls of a trial share, in hex.
func TraceID(trialName string) string {
	sum := sha256.Sum256([]byte("trace " + trialName))
	return hex.EncodeToString(sum[:16])
}

// Rendered is what an application gets: filled-in templates. Run files have it without secrets.
type Rendered struct{ Payload Payload }

// Payload is what is sent: a *HTTP, a *ProgramRun, an EchoRun, or in run files of later versions an *Unknown.
type Payload interface {
	withheld() Payload
	identity() Payload
	withoutSecrets() Payload
}

// EchoRun is a request to answer with the prompt.
type EchoRun struct{}

// Unknown is a request of a kind that a later version has, as its run file has it. It is never sent.
type Unknown struct{ JSON json.RawMessage }

// HTTP is a request to an endpoint.
type HTTP struct {
	Method string `json:"method"`
	// URL has names such as ${env:EVALRUN_APP_URL} instead of values in run files.
	URL     string   `json:"url"`
	Headers []Header `json:"headers,omitempty"` // in the order of the suite
	// Body is JSON if the suite has a mapping, and otherwise a text.
	Body   string `json:"body,omitempty"`
	Stream bool   `json:"stream,omitempty"` // the reply is a stream of events
	// Shown is the address for run files, "" if it equals URL.
	Shown string `json:"-"`
	// Digest distinguishes requests whose URL is not recorded; "" if it is.
	Digest string `json:"-"`
}

// Header is a header of a request.
type Header struct {
	Name string `json:"name"`
	// Value is empty in run files when Secret is set.
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"`
	// Data means that the value has data of the case, and so belongs to the request's identity.
	Data bool `json:"-"`
}

// Endpoint says how to call an HTTP endpoint.
type Endpoint struct {
	Reading Reading
	Timeout time.Duration // of one attempt; 0 uses the run's
	TLS     *tls.Config   // nil uses the system's
	// Secrets are values to mask. They are never written.
	Secrets []string
}

// Reading says how to read replies. Each text is a jq expression over the reply; "" means none.
type Reading struct {
	Answer       string // returns the text
	ToolCalls    string // returns a list of {name, args}
	FinishReason string // returns a word
	Usage        string // returns an object with numbers of tokens
	Error        string // returns the application's error; null if there is none
	Stream       bool   // apply the expressions to each event of a stream
	Repeats      bool   // each event of a stream has the text so far
}

// ProgramRun is one run of a program.
type ProgramRun struct {
	Command []string `json:"command"`
	// Args are the arguments with their templates filled; nil when the command has none.
	Args []string `json:"args,omitempty"`
	// Files has SHA-256 digests, in hex, of the files in the command, by their names in the suite's folder.
	Files map[string]string `json:"files,omitempty"`
	// Input is a JSON object for the program's standard input.
	Input json.RawMessage `json:"input"`
	// Workspace is the SHA-256 digest of the folder that is copied for each trial, "" if there is none.
	Workspace string `json:"workspace,omitempty"`
	// Models are the services that it calls by way of evalrun's proxy.
	Models []string `json:"models,omitempty"`
	// Faults go wrong on purpose with these calls.
	Faults []ModelFault `json:"faults,omitempty"`
}

// ModelFault is what goes wrong on purpose with calls that a program makes.
type ModelFault struct {
	Status  int           `json:"status,omitempty"`  // the call is answered with it, and not sent; 0: it is sent
	Latency time.Duration `json:"latency,omitempty"` // it waits so long before
	Cut     bool          `json:"cut,omitempty"`     // the connection breaks in the middle of the answer
	Rate    float64       `json:"rate"`              // the share of the calls that it happens to
}

// Withheld returns the request without anything that may quote a prompt.
func (r *Rendered) Withheld() *Rendered { return &Rendered{r.Payload.withheld()} }

// Identity returns the part of the request that makes two requests in run files the same. Of headers, it has
// the names, and values with data of the case.
func (r *Rendered) Identity() *Rendered { return &Rendered{r.Payload.identity()} }

// WithoutSecrets returns the request without secrets, for run files.
func (r *Rendered) WithoutSecrets() *Rendered { return &Rendered{r.Payload.withoutSecrets()} }

func (h *HTTP) withheld() Payload { return &HTTP{Method: h.Method, Stream: h.Stream} }

func (h *HTTP) identity() Payload {
	own := *h
	own.URL, own.Headers = strings.TrimSpace(own.URL+" "+own.Digest), nil
	for _, one := range h.Headers {
		named := Header{Name: strings.ToLower(one.Name)}
		if one.Data {
			named.Value = one.Value
		}
		own.Headers = append(own.Headers, named)
	}
	return &own
}

func (h *HTTP) withoutSecrets() Payload {
	own := *h
	own.Headers = nil
	if own.Shown != "" {
		sum := sha256.Sum256([]byte(own.URL))
		own.URL = own.Shown
		own.Shown = ""
		own.Digest = hex.EncodeToString(sum[:])
	}
	for _, one := range h.Headers {
		if one.Secret {
			one.Value = ""
		}
		own.Headers = append(own.Headers, one)
	}
	return &own
}

func (p *ProgramRun) withheld() Payload {
	return &ProgramRun{Command: p.Command, Files: p.Files, Workspace: p.Workspace, Models: p.Models, Faults: p.Faults}
}
func (p *ProgramRun) identity() Payload       { return p }
func (p *ProgramRun) withoutSecrets() Payload { return p }

func (e EchoRun) withheld() Payload       { return e }
func (e EchoRun) identity() Payload       { return e }
func (e EchoRun) withoutSecrets() Payload { return e }

// withheld keeps the names of the kinds.
func (u *Unknown) withheld() Payload {
	var kinds map[string]json.RawMessage
	_ = json.Unmarshal(u.JSON, &kinds) // it was read as an object
	for name := range kinds {
		kinds[name] = nil
	}
	kept, _ := wirejson.Marshal(kinds) // names and null always encode
	return &Unknown{kept}
}
func (u *Unknown) identity() Payload       { return u }
func (u *Unknown) withoutSecrets() Payload { return u }

// requestByKind is a request in JSON: exactly one member is there.
type requestByKind struct {
	HTTP    *HTTP       `json:"http,omitempty"`
	Program *ProgramRun `json:"program,omitempty"`
	Echo    bool        `json:"echo,omitempty"`
}

// MarshalJSON writes the payload under the name of its kind.
func (r Rendered) MarshalJSON() ([]byte, error) {
	var out requestByKind
	switch p := r.Payload.(type) {
	case *HTTP:
		out.HTTP = p
	case *ProgramRun:
		out.Program = p
	case EchoRun:
		out.Echo = true
	case *Unknown:
		return p.JSON, nil
	}
	return wirejson.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote, here or in a later version that has other kinds.
func (r *Rendered) UnmarshalJSON(data []byte) error {
	var in requestByKind
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	switch {
	case in.HTTP != nil && in.Program == nil && !in.Echo:
		r.Payload = in.HTTP
	case in.Program != nil && in.HTTP == nil && !in.Echo:
		r.Payload = in.Program
	case in.Echo && in.HTTP == nil && in.Program == nil:
		r.Payload = EchoRun{}
	case in.HTTP == nil && in.Program == nil && hasOtherKind(data):
		r.Payload = &Unknown{slices.Clone(data)}
	default:
		return errors.New("a request to an application has one of http, program and echo")
	}
	return nil
}

// hasOtherKind reports whether an object has a member that no kind of this version has.
func hasOtherKind(data []byte) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(data, &members) // data was read as an object
	delete(members, "echo")
	return len(members) > 0
}
