package emulator

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

type content struct {
	Role  string     `json:"role"`
	Parts []wirePart `json:"parts"`
}

// wirePart is a part of a turn, in requests and answers. It has one of text, inlineData and so on, and possibly
// the flag for thoughts and a signature.
type wirePart struct {
	Text                *string           `json:"text,omitempty"`
	Thought             bool              `json:"thought,omitempty"`
	InlineData          *blob             `json:"inlineData,omitempty"`
	FunctionCall        *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse    *functionResponse `json:"functionResponse,omitempty"`
	FileData            json.RawMessage   `json:"fileData,omitempty"` // accepted and ignored, like the next two
	ExecutableCode      json.RawMessage   `json:"executableCode,omitempty"`
	CodeExecutionResult json.RawMessage   `json:"codeExecutionResult,omitempty"`
	ThoughtSignature    string            `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response,omitempty"`
}

// holds lists the kinds of content in a part. A valid part has one.
func (p *wirePart) holds() []string {
	var out []string
	for _, m := range []struct {
		name string
		has  bool
	}{
		{"text", p.Text != nil},
		{"inlineData", p.InlineData != nil},
		{"functionCall", p.FunctionCall != nil},
		{"functionResponse", p.FunctionResponse != nil},
		{"fileData", p.FileData != nil},
		{"executableCode", p.ExecutableCode != nil},
		{"codeExecutionResult", p.CodeExecutionResult != nil},
	} {
		if m.has {
			out = append(out, m.name)
		}
	}
	return out
}

// checkParts requires that each part has one kind of content, at a place where it is allowed.
func (r *request) checkParts() *problem {
	for i, c := range r.Contents {
		for j := range c.Parts {
			at := fmt.Sprintf("contents[%d].parts[%d]", i, j)
			if p := c.Parts[j].check(at, c.Role); p != nil {
				return p
			}
		}
	}
	return nil
}

func (p *wirePart) check(at, role string) *problem {
	held := p.holds()
	switch {
	case len(held) == 0:
		return badRequest("%s is empty: a part holds text, inlineData, functionCall, functionResponse or fileData", at)
	case len(held) > 1:
		return badRequest("%s holds %s: a part holds one of them", at, strings.Join(held, " and "))
	case p.FunctionCall != nil:
		return p.FunctionCall.check(at+".functionCall", role)
	case p.FunctionResponse != nil:
		return p.FunctionResponse.check(at+".functionResponse", role)
	case p.InlineData != nil:
		if wrong := p.InlineData.check(); wrong != "" {
			return badRequest("%s.inlineData: %s", at, wrong)
		}
	}
	return nil
}

func (c *functionCall) check(at, role string) *problem {
	switch {
	case role != eval.RoleModel:
		return badRequest("%s must be in a turn of the model", at)
	case c.Name == "":
		return badRequest("%s.name is required", at)
	case isSet(c.Args) && !isObject(c.Args):
		return badRequest("%s.args must be an object", at)
	}
	return nil
}

func (f *functionResponse) check(at, role string) *problem {
	switch {
	case role == eval.RoleModel:
		return badRequest("%s must be in a turn of the user", at)
	case f.Name == "":
		return badRequest("%s.name is required", at)
	case !isSet(f.Response):
		return badRequest("%s.response is required", at)
	case !isObject(f.Response):
		return badRequest("%s.response must be an object", at)
	}
	return nil
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }

var functionName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$`)
})

// checkCalls requires one function response for each call, directly after the calls.
func (r *request) checkCalls() *problem {
	for i, c := range r.Contents {
		if c.Role == eval.RoleModel {
			if p := c.checkSignatures(i); p != nil {
				return p
			}
			continue
		}
		if !c.answersCalls() {
			continue
		}
		if i == 0 || len(r.Contents[i-1].calls()) == 0 {
			return badRequest("contents[%d] has function responses: they must come right after a turn of the model with function calls", i)
		}
		if p := c.checkResponses(i, r.Contents[i-1].calls()); p != nil {
			return p
		}
	}
	return nil
}

// checkResponses compares the function responses of turn i with the calls of the previous turn.
func (c content) checkResponses(i int, calls []functionCall) *problem {
	open := slices.Clone(calls)
	n := 0
	for j, p := range c.Parts {
		f := p.FunctionResponse
		if f == nil {
			continue
		}
		n++
		at := fmt.Sprintf("contents[%d].parts[%d].functionResponse", i, j)
		k := slices.IndexFunc(open, func(call functionCall) bool { return call.Name == f.Name && call.ID == f.ID })
		if k < 0 { // if the call has no id, the client may choose one
			k = slices.IndexFunc(open, func(call functionCall) bool { return call.Name == f.Name && call.ID == "" })
		}
		if k < 0 {
			return f.unexpected(at, open)
		}
		open = slices.Delete(open, k, k+1)
	}
	if len(open) > 0 {
		return badRequest("contents[%d] has %d function responses for %d function calls: send one for each call", i, n, len(calls))
	}
	return nil
}

// unexpected explains why a function response matches none of the open calls.
func (f *functionResponse) unexpected(at string, open []functionCall) *problem {
	k := slices.IndexFunc(open, func(call functionCall) bool { return call.Name == f.Name })
	switch {
	case k < 0:
		return badRequest("%s.name: the turn before has no call of %q, or fewer than it has responses", at, f.Name)
	case f.ID == "":
		return badRequest("%s.id is required: the call has the id %q", at, open[k].ID)
	}
	return badRequest("%s.id: the turn before has no call of %q with the id %q", at, f.Name, f.ID)
}

// checkSignatures checks the signatures of the calls in turn i. They must be unchanged, and the first call
// after a thought must have one.
func (c content) checkSignatures(i int) *problem {
	thought := false
	for j, p := range c.Parts {
		thought = thought || p.Thought
		if p.FunctionCall == nil {
			continue
		}
		at := fmt.Sprintf("contents[%d].parts[%d].thoughtSignature", i, j)
		switch {
		case thought && p.ThoughtSignature == "":
			return badRequest("%s is missing: send the parts of the model back as they came", at)
		case isOwnSignature(p.ThoughtSignature) && p.ThoughtSignature != signature(p.FunctionCall):
			return badRequest("%s is not the one of this call: send the parts of the model back as they came", at)
		}
		thought = false // of several calls at once, only the first needs one
	}
	return nil
}

func (r *request) checkSize() *problem {
	size := 0
	for p := range r.parts {
		size += p.bytes()
		if p.InlineData != nil {
			size += len(p.InlineData.Data)
		}
	}
	switch images := r.images(); {
	case images > wire.MaxImages:
		return badRequest("%d images; at most %d are allowed", images, wire.MaxImages)
	case size > wire.MaxPromptBytes:
		return badRequest("the prompt has %d bytes; at most %d are allowed", size, wire.MaxPromptBytes)
	}
	return nil
}

func (b *blob) isImage() bool { return b != nil && strings.HasPrefix(b.MimeType, "image/") }

// check says what is wrong with the data, "" if nothing is.
func (b *blob) check() string {
	kind, _, _ := strings.Cut(b.MimeType, "/")
	switch {
	case b.isImage() && !slices.Contains(wire.ImageTypes, b.MimeType):
		return fmt.Sprintf("the image type %q is not supported", b.MimeType)
	case !slices.Contains([]string{"image", "audio", "video"}, kind) && b.MimeType != "application/pdf":
		return fmt.Sprintf("the mimeType %q is not supported: it is an image, audio/…, video/… or application/pdf", b.MimeType)
	case !isBase64(b.Data):
		return "the data is not base64 without line breaks"
	}
	return ""
}

// isBase64 accepts base64 in the standard and the URL alphabet, with or without padding, without line
// breaks.
func isBase64(data string) bool {
	if strings.ContainsAny(data, "\r\n") {
		return false
	}
	data = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(data, "="))
	_, err := base64.RawStdEncoding.Strict().DecodeString(data)
	return err == nil
}

func (r *request) parts(yield func(*wirePart) bool) {
	for _, c := range r.Contents {
		for i := range c.Parts {
			if !yield(&c.Parts[i]) {
				return
			}
		}
	}
}

// media counts the pieces of inline data, including images.
func (r *request) media() (n int) {
	for p := range r.parts {
		if p.InlineData != nil {
			n++
		}
	}
	return n
}

func (r *request) images() (n int) {
	for p := range r.parts {
		if p.InlineData.isImage() {
			n++
		}
	}
	return n
}

// bytes counts what is counted as text: the text, or the name and the values of a function call or
// response.
func (p *wirePart) bytes() int {
	switch {
	case p.Thought:
		return 0
	case p.Text != nil:
		return len(*p.Text)
	case p.FunctionCall != nil:
		return len(p.FunctionCall.Name) + compactLen(p.FunctionCall.Args)
	case p.FunctionResponse != nil:
		return len(p.FunctionResponse.Name) + compactLen(p.FunctionResponse.Response)
	}
	return 0
}

// compactLen returns the length of a JSON text without white space.
func compactLen(raw json.RawMessage) int {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil { // missing
		return 0
	}
	return b.Len()
}

// text joins the texts of a turn, except thoughts.
func (c content) text() string {
	var b strings.Builder
	for _, p := range c.Parts {
		if p.Text != nil && !p.Thought {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}

func (c content) calls() []functionCall {
	var out []functionCall
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			out = append(out, *p.FunctionCall)
		}
	}
	return out
}

func (c content) responses() []functionResponse {
	var out []functionResponse
	for _, p := range c.Parts {
		if p.FunctionResponse != nil {
			out = append(out, *p.FunctionResponse)
		}
	}
	return out
}

func (c content) answersCalls() bool { return len(c.responses()) > 0 }
