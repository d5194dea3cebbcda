package fleet

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Protocol is the version of the messages between a coordinator and its workers.
const Protocol = 2

// Methods of calls.
const (
	methodGenerate = "generate"
	methodCount    = "count"
	methodEmbed    = "embed"
	methodModel    = "model"
	methodModels   = "models"
)

// call is an attempt for a worker.
type call struct {
	ID      uint64        `json:"id"` // unique in the process of a coordinator
	Method  string        `json:"method"`
	Timeout time.Duration `json:"timeout,omitempty"` // of the attempt, without waiting for a grant; 0: no limit

	Service    string `json:"service,omitempty"` // its name, "" for the unnamed one
	Model      string `json:"model,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`

	// Request and the following fields are for methodGenerate and methodCount.
	Request      *eval.Request   `json:"request,omitempty"`
	Data         [][]byte        `json:"data,omitempty"` // of images and files, in the order of the request
	Target       string          `json:"target,omitempty"`
	TrialID      string          `json:"trialId,omitempty"`
	TrialName    string          `json:"session,omitempty"`
	Judge        string          `json:"judge,omitempty"`
	Vars         json.RawMessage `json:"vars,omitempty"`
	PromptTokens int             `json:"promptTokens,omitempty"`
	Counted      bool            `json:"counted,omitempty"` // PromptTokens were
	OutputLimit  int             `json:"outputLimit,omitempty"`
	Attempt      int             `json:"attempt,omitempty"`

	// Texts are for methodEmbed.
	Texts []string `json:"texts,omitempty"`
}

// wireAnswer is the result of a call.
type wireAnswer struct {
	Response *eval.Response `json:"response,omitempty"`
	Usage    *eval.Usage    `json:"usage,omitempty"` // of the response
	Tokens   int            `json:"tokens,omitempty"`
	Vectors  [][]float64    `json:"vectors,omitempty"`
	Model    *eval.Model    `json:"model,omitempty"`
	Models   []eval.Model   `json:"models,omitempty"`
	Timing   eval.Timing    `json:"timing"`
	Error    *sentError     `json:"error,omitempty"`
	Emulated bool           `json:"emulated,omitempty"` // an emulator answered
}

// sentError is an eval.Error with the fields that its JSON omits.
type sentError struct {
	eval.Error
	RetryAfter time.Duration  `json:"retryAfter,omitempty"`
	Retry      eval.Retry     `json:"retry,omitempty"`
	Origin     eval.Origin    `json:"origin,omitempty"` // eval.FromProcess: another worker must make the call
	Unsent     bool           `json:"unsent,omitempty"`
	Answer     *eval.Response `json:"answer,omitempty"`
	Usage      *eval.Usage    `json:"usage,omitempty"` // of Answer
}

// newCall encodes a call to a model or an application.
func newCall(method string, c *eval.Call) (*call, error) {
	vars, err := json.Marshal(c.Vars)
	if err != nil {
		return nil, err
	}
	out := &call{
		Method:       method,
		Service:      c.Service,
		Model:        c.Model,
		APIVersion:   c.APIVersion,
		Request:      &c.Request,
		TrialID:      c.TrialID,
		TrialName:    c.TrialName,
		Judge:        c.Judge,
		PromptTokens: c.PromptTokens,
		Counted:      c.Counted,
		OutputLimit:  c.OutputLimit,
		Attempt:      c.Timing.Attempts,
	}
	if c.To != nil {
		out.Target = c.To.Name
	}
	if len(c.Vars) > 0 {
		out.Vars = vars
	}
	for image := range images(&c.Request) {
		out.Data = append(out.Data, image.Data)
	}
	return out, nil
}

// images yields the images and files of a request.
func images(r *eval.Request) func(yield func(*eval.Image) bool) {
	return func(yield func(*eval.Image) bool) {
		for _, content := range r.Contents {
			for _, part := range content.Parts {
				if file := part.File(); file != nil && !yield(file) {
					return
				}
			}
		}
	}
}

// of decodes the call of a message.
func (c *call) of() (*eval.Call, error) {
	out := &eval.Call{
		TrialID:      c.TrialID,
		TrialName:    c.TrialName,
		Judge:        c.Judge,
		PromptTokens: c.PromptTokens,
		Counted:      c.Counted,
		OutputLimit:  c.OutputLimit,
		Timing:       eval.Timing{Attempts: c.Attempt},
	}
	if c.Target != "" {
		out.To = &eval.Called{Name: c.Target}
	}
	if c.Request != nil {
		out.Request = *c.Request
	}
	out.Model = c.Model
	out.APIVersion = c.APIVersion
	out.Service = c.Service
	data := c.Data
	for image := range images(&out.Request) {
		if len(data) > 0 {
			image.Data, data = data[0], data[1:]
		}
	}
	var err error
	if len(c.Vars) > 0 {
		out.Vars, err = eval.ParseDict(c.Vars)
	}
	return out, err
}

// answered encodes the result of a call.
func answered(resp *eval.Response, timing eval.Timing, err error) *wireAnswer {
	out := &wireAnswer{Response: resp, Timing: timing, Error: failed(err)}
	if resp != nil {
		out.Usage = resp.Usage
	}
	return out
}

// response decodes the answer of a message.
func (a *wireAnswer) response() *eval.Response {
	if a.Response != nil {
		a.Response.Usage = a.Usage
	}
	return a.Response
}

func failed(err error) *sentError {
	e := eval.AsError(err)
	if e == nil {
		return nil
	}
	out := &sentError{
		Error:      *e,
		RetryAfter: e.RetryAfter,
		Retry:      e.Retry,
		Origin:     e.Origin,
		Unsent:     e.Unsent,
		Answer:     e.Answer,
	}
	if e.Answer != nil {
		out.Usage = e.Answer.Usage
	}
	return out
}

// err decodes the error of a message, nil if there is none.
func (f *sentError) err() error {
	if f == nil {
		return nil
	}
	e := f.Error
	e.RetryAfter, e.Retry, e.Origin, e.Unsent, e.Answer = f.RetryAfter, f.Retry, f.Origin, f.Unsent, f.Answer
	if e.Answer != nil {
		e.Answer.Usage = f.Usage
	}
	return &e
}

// encode encodes a message without HTML escapes, so that raw replies stay unchanged.
func encode(message any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(message)
	if b.Len() > maxText {
		return nil, eval.Errorf(eval.KindTooLarge, "%d bytes of a call or an answer are more than a fleet sends, %d", b.Len(), maxText)
	}
	return b.Bytes(), err
}

// maxParts bounds the objects and lists of an answer. Three bytes of JSON can become 400 in memory.
const maxParts = 1 << 20

// parts counts the objects and lists of a JSON text.
func parts(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == '{' || c == '['):
			n++
		}
	}
	return n
}
