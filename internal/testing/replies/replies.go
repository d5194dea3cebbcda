// Package replies has recorded replies of vendors' services, each with the expected result. Only tests use
// it.
package replies

import (
	"embed"
	"encoding/json"
	"net/http"
	"path"
)

//go:embed data
var data embed.FS

// Reply is a recorded reply.
type Reply struct {
	Folder  string            // openai, compatible, anthropic or responses
	File    string            `json:"file"`
	Server  string            `json:"server"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Stream  bool              `json:"stream"`
	Expect  Expect            `json:"expect"`
	Body    []byte            `json:"-"`
}

// Expect is the expected result for a reply.
type Expect struct {
	Text            *string         `json:"text"` // the first 200 characters
	TextLength      int             `json:"textLength"`
	TextSHA256      string          `json:"textSha256"`
	FinishReason    string          `json:"finishReason"` // in the vendor's word
	ToolCalls       []ReplyCall     `json:"toolCalls"`
	Choices         []ReplyChoice   `json:"choices"`
	Reasoning       string          `json:"reasoning"` // the first 200 characters
	ReasoningLength int             `json:"reasoningLength"`
	Refusal         string          `json:"refusal"`
	Usage           json.RawMessage `json:"usage"`
	Error           *ReplyError     `json:"error"`
}

// ReplyCall is a function call that a reader must find in the reply.
type ReplyCall struct {
	Name string `json:"name"`
	// Arguments is an object, or a string if the model wrote invalid JSON.
	Arguments json.RawMessage `json:"arguments"`
}

// ReplyChoice is one of several answers in a reply.
type ReplyChoice struct {
	Index        int    `json:"index"`
	Text         string `json:"text"`
	FinishReason string `json:"finishReason"`
}

// ReplyError is the error that a reader must find in the reply.
type ReplyError struct {
	Message string `json:"message"`
}

// Name returns the name of the reply in test output.
func (r *Reply) Name() string { return r.Folder + "/" + r.File }

// Header returns the headers of the reply.
func (r *Reply) Header() http.Header {
	out := http.Header{}
	for name, value := range r.Headers {
		out.Set(name, value)
	}
	return out
}

// In returns the replies in folders.
func In(folders ...string) ([]Reply, error) {
	var out []Reply
	for _, folder := range folders {
		index, err := data.ReadFile(path.Join("data", folder, "index.json"))
		if err != nil {
			return nil, err
		}
		var all []Reply
		if err := json.Unmarshal(index, &all); err != nil {
			return nil, err
		}
		for _, r := range all {
			r.Folder = folder
			if r.Body, err = data.ReadFile(path.Join("data", folder, r.File)); err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}
