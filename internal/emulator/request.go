package emulator

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// maxBody bounds a request body: the largest prompt and 1 MiB for the rest.
const maxBody = wire.MaxPromptBytes + 1<<20

// request has the fields of a request that the emulator reads. It ignores unknown fields, unless the script
// lists the accepted ones.
type request struct {
	Model             string          `json:"model"`
	Contents          []content       `json:"contents"`
	GenerationConfig  config          `json:"generationConfig"`
	SafetySettings    []safetySetting `json:"safetySettings"`
	SystemInstruction *content        `json:"systemInstruction"`
	Tools             []tool          `json:"tools"`
	ToolConfig        toolConfig      `json:"toolConfig"`
	Raw               json.RawMessage `json:"-"` // the body
	Wrapped           *request        `json:"generateContentRequest"`

	declared []string // the names of the functions in tools
	question string   // what a rule matched instead of the last turn; see Script.match
}

// readJSON decodes a body, with keys in either spelling, and returns its bytes.
func readJSON(r *http.Request, into any) ([]byte, *problem) {
	body, p := readBody(r)
	if p != nil {
		return nil, p
	}
	return body, decode(wirejson.CamelKeys(body), into)
}

func readBody(r *http.Request) ([]byte, *problem) { return readBodyOf(r, maxBody) }

func readBodyOf(r *http.Request, limit int64) ([]byte, *problem) {
	in, p := bodyOf(r)
	if p != nil {
		return nil, p
	}
	body, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, badRequest("the body could not be read: %s", err)
	}
	if int64(len(body)) > limit {
		return nil, badRequest("the request is larger than %d bytes", limit)
	}
	return body, nil
}

// bodyOf is the body of a request, without its compression.
func bodyOf(r *http.Request) (io.ReadCloser, *problem) {
	if !strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip") {
		return r.Body, nil
	}
	zipped, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, badRequest("the body says it is gzip and is not")
	}
	return zipped, nil
}

func decode(body []byte, into any) *problem {
	err := json.Unmarshal(body, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Type == reflect.TypeFor[integer]():
		return badRequest("%s: %s is not a whole number", wrong.Field, wrong.Value)
	case errors.As(err, &wrong):
		return badRequest("the body is not the JSON that is expected: %s cannot be a %s", wrong.Field, wrong.Value)
	case err != nil:
		return badRequest("the body is not the JSON that is expected: %s", err)
	}
	return nil
}

// check makes the checks that all methods with contents have in common.
func (r *request) check() *problem {
	for _, check := range []func() *problem{
		r.checkRoles, r.checkSystem, r.checkParts, r.checkSize, r.checkTools, r.GenerationConfig.check,
	} {
		if p := check(); p != nil {
			return p
		}
	}
	r.joinModelTurns()
	return r.checkCalls()
}

// checkSystem allows only texts in the system instruction.
func (r *request) checkSystem() *problem {
	if r.SystemInstruction == nil {
		return nil
	}
	if len(r.SystemInstruction.Parts) == 0 {
		return badRequest("systemInstruction.parts is required")
	}
	for i, p := range r.SystemInstruction.Parts {
		if held := p.holds(); len(held) != 1 || p.Text == nil {
			return badRequest("systemInstruction.parts[%d] must be a text", i)
		}
	}
	return nil
}

// checkRoles requires that each content has a part and a known role.
func (r *request) checkRoles() *problem {
	if len(r.Contents) == 0 {
		return badRequest("contents is required")
	}
	for i, c := range r.Contents {
		if len(c.Parts) == 0 {
			return badRequest("contents[%d].parts is required", i)
		}
		switch c.Role {
		case "", eval.RoleUser, eval.RoleModel:
		case "function": // some clients use this role for results of functions
			r.Contents[i].Role = eval.RoleUser
		default:
			return badRequest("contents[%d].role must be user or model, not %q", i, c.Role)
		}
	}
	return nil
}

// joinModelTurns joins adjacent model turns, because clients keep each chunk of a streamed answer as a
// turn.
func (r *request) joinModelTurns() {
	var out []content
	for _, c := range r.Contents {
		if n := len(out); n > 0 && c.Role == eval.RoleModel && out[n-1].Role == eval.RoleModel {
			out[n-1].Parts = append(slices.Clone(out[n-1].Parts), c.Parts...)
			continue
		}
		out = append(out, c)
	}
	r.Contents = out
}

// tokens estimates the prompt tokens: the UTF-8 bytes of texts, functions and their declarations divided by
// 4, rounded up, and 258 per piece of inline data.
func (r *request) tokens() int {
	bytes := len(r.system())
	for p := range r.parts {
		bytes += p.bytes()
	}
	for _, t := range r.Tools {
		for _, raw := range t.FunctionDeclarations {
			bytes += compactLen(raw)
		}
	}
	return wire.Tokens(bytes) + wire.TokensPerImage*r.media()
}

func (r *request) system() string {
	if r.SystemInstruction == nil {
		return ""
	}
	return r.SystemInstruction.text()
}

// prompt returns the text of the last user turn that has more than function results.
func (r *request) prompt() string {
	if r.question != "" {
		return r.question
	}
	for i := len(r.Contents) - 1; i >= 0; i-- {
		c := r.Contents[i]
		if text := c.text(); c.Role != eval.RoleModel && (text != "" || !c.answersCalls()) {
			return text
		}
	}
	return ""
}

// repeatedQuestion recognizes the request that a judge gets after an invalid reply, and returns the
// original question. It looks at the texts, because a service gets nothing else.
func (r *request) repeatedQuestion() (question string, repeated bool) {
	if len(r.Contents) != 3 || !strings.HasPrefix(r.Contents[2].text(), "That reply ") {
		return "", false
	}
	question = r.Contents[0].text()
	return question, strings.HasPrefix(question, "You are a judge. ")
}

// step counts the answers to the question: 1 before there are function results, 2 after the first ones.
func (r *request) step() int {
	n := 1
	for i := len(r.Contents) - 1; i >= 0; i-- {
		c := r.Contents[i]
		if c.Role == eval.RoleModel {
			continue
		}
		if !c.answersCalls() {
			break
		}
		n++
	}
	return n
}

func (r *request) lastResults() []functionResponse {
	if len(r.Contents) == 0 {
		return nil
	}
	return r.Contents[len(r.Contents)-1].responses()
}

// checkTurns enforces the order of a conversation.
func (r *request) checkTurns() *problem {
	last := ""
	for i, c := range r.Contents {
		role := c.Role
		if role == "" {
			role = eval.RoleUser
		}
		if i == 0 && role == eval.RoleModel {
			return badRequest("the first turn must be the user's")
		}
		if role == last {
			return badRequest("turns must alternate between user and model; contents[%d] is a second %s in a row", i, role)
		}
		last = role
	}
	if last != eval.RoleUser {
		return badRequest("the last turn must be the user's")
	}
	return nil
}

// checkModel enforces the rules of the two multimodal models, and the token limits.
func (r *request) checkModel(m *eval.Model, real string) *problem {
	n := r.media()
	switch {
	case real == "svc-pro" && n > 0:
		return badRequest("svc-pro takes text only; send images and other data to svc-pro-vision")
	case real == "svc-pro-vision" && n == 0:
		return badRequest("svc-pro-vision does not take a prompt without an image")
	}
	if t := r.tokens(); t > m.InputTokenLimit {
		return badRequest("the prompt has %d tokens; %s takes at most %d", t, m.Name, m.InputTokenLimit)
	}
	return nil
}

// requestFields are the top-level fields that the service documents.
var requestFields = []string{
	"model", "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent",
}

// checkFields refuses a body with unknown fields that the script does not accept. A script without a list
// accepts all fields.
func (s *Script) checkFields(body []byte, known []string) *problem {
	if !s.listsFields {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(wirejson.CamelKeys(body), &fields); err != nil {
		return badRequest("the body is not the JSON that is expected: %s", err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) && !slices.Contains(s.fields, name) {
			return badRequest("unknown name %q: a request has no such field", name)
		}
	}
	return nil
}

func (e *Emulator) countTokens(w http.ResponseWriter, r *http.Request, m *eval.Model) {
	req, p := e.readCount(r, m)
	if p != nil {
		fail(w, p)
		return
	}
	reply(w, struct {
		TotalTokens int `json:"totalTokens"`
	}{req.tokens()})
}

// readCount reads a countTokens request: contents, or a whole generateContent request.
func (e *Emulator) readCount(r *http.Request, m *eval.Model) (*request, *problem) {
	req := &request{}
	body, p := readJSON(r, req)
	if p == nil {
		p = e.opts.Script.checkFields(body, []string{"model", "contents", "generateContentRequest"})
	}
	if p != nil {
		return nil, p
	}
	if whole := req.Wrapped; whole != nil {
		if len(req.Contents) > 0 {
			return nil, badRequest("contents and generateContentRequest exclude each other: send one of them")
		}
		if whole.Model != "" && strings.TrimPrefix(whole.Model, "models/") != m.ID() {
			return nil, badRequest("generateContentRequest.model: %q is not the model of the path, %s", whole.Model, m.Name)
		}
		req = whole
	}
	return req, req.check()
}
