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
	"github.com/evalrun/evalrun/internal/estimate"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// maxBody bounds a request body: the largest prompt and room for the rest.
const maxBody = service.MaxPromptBytes + 1<<20

// request is what a client sends, as far as the emulator looks at it. Unknown fields are ignored, unless the script
// lists the accepted ones.
type request struct {
	Model             string          `json:"model"`
	Contents          []content       `json:"contents"`
	GenerationConfig  config          `json:"generationConfig"`
	SafetySettings    []setting       `json:"safetySettings"`
	SystemInstruction *content        `json:"systemInstruction"`
	Tools             []tool          `json:"tools"`
	ToolConfig        toolConfig      `json:"toolConfig"`
	Raw               json.RawMessage `json:"-"` // the body
	Wrapped           *request        `json:"generateContentRequest"`

	declared []string // the names of the functions in tools
	question string   // what a rule matched instead of the last turn; see Script.match
}

// readJSON decodes a body, keys in either spelling, and returns it as it came.
func readJSON(r *http.Request, into any) ([]byte, *problem) {
	body, p := readBody(r)
	if p != nil {
		return nil, p
	}
	return body, decode(wirejson.CamelKeys(body), into)
}

// readBody reads a body, which may be compressed.
func readBody(r *http.Request) ([]byte, *problem) {
	var in io.Reader = r.Body
	if strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip") {
		zipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, badRequest("the body says it is gzip and is not")
		}
		in = zipped
	}
	body, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	if err != nil {
		return nil, badRequest("the body could not be read: %s", err)
	}
	if len(body) > maxBody {
		return nil, badRequest("the request is larger than %d bytes", maxBody)
	}
	return body, nil
}

// decode decodes a body.
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

// check looks at what every method with contents looks at.
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

// checkSystem wants a system instruction of texts.
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

// checkRoles wants contents that each have a part and a role that is known.
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
		case "function": // the user's side, as some clients call it when they answer for a tool
			r.Contents[i].Role = eval.RoleUser
		default:
			return badRequest("contents[%d].role must be user or model, not %q", i, c.Role)
		}
	}
	return nil
}

// joinModelTurns makes one turn of model turns in a row: clients keep the chunks of a streamed answer as
// a turn each.
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

// tokens is what the emulator counts: the UTF-8 bytes of texts, functions and their declarations / 4 rounded up, 258
// a piece of inline data.
func (r *request) tokens() int {
	bytes := len(r.system())
	for _, c := range r.Contents {
		for i := range c.Parts {
			bytes += c.Parts[i].bytes()
		}
	}
	for _, t := range r.Tools {
		for _, raw := range t.FunctionDeclarations {
			bytes += compactLen(raw)
		}
	}
	return estimate.Tokens(bytes) + estimate.TokensPerImage*r.media()
}

// system is the text of the system instruction.
func (r *request) system() string {
	if r.SystemInstruction == nil {
		return ""
	}
	return r.SystemInstruction.text()
}

// prompt is the question: the text of the last user turn that is more than results of functions.
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

// repeatedQuestion is the question that a judge gets once more because its reply does not count; false for other requests.
func (r *request) repeatedQuestion() (question string, repeated bool) {
	if len(r.Contents) != 3 || !strings.HasPrefix(r.Contents[2].text(), "That reply ") {
		return "", false
	}
	question = r.Contents[0].text()
	return question, strings.HasPrefix(question, "You are a judge. ")
}

// step is which answer to the question this is: 1 before there are results of functions, 2 after the first ones.
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

// lastResults are the results of functions in the last turn.
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

// checkModel enforces the rules of the two multimodal models and the token limits.
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

// requestFields are the top-level fields of a request, as the service publishes them.
var requestFields = []string{
	"model", "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent",
}

// checkFields refuses a body with fields other than the known ones and the ones that the script accepts. A script
// without a list accepts all.
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

// readCount reads a request to count: contents, or a whole request to generate.
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
