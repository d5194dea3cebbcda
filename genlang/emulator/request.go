package emulator

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// maxBody bounds a request body: the largest prompt and room for the rest.
const maxBody = eval.MaxPromptBytes + 1<<20

// request is what a client sends, as far as the emulator looks at it. Unknown fields are
// ignored.
type request struct {
	Contents         []content       `json:"contents"`
	GenerationConfig config          `json:"generationConfig"`
	SafetySettings   []setting       `json:"safetySettings"`
	Raw              json.RawMessage `json:"-"` // the body
	Wrapped          *request        `json:"generateContentRequest"`
}

type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Text       *string `json:"text,omitempty"`
	InlineData *blob   `json:"inlineData,omitempty"`
}

type blob struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

type config struct {
	Temperature     *float64 `json:"temperature"`
	MaxOutputTokens *int     `json:"maxOutputTokens"`
	StopSequences   []string `json:"stopSequences"`
	CandidateCount  int      `json:"candidateCount"`
}

type setting struct {
	Category  string `json:"category"`
	Threshold string `json:"threshold"`
}

// readJSON decodes a body, keys in either spelling, and returns it as it came.
func readJSON(r *http.Request, into any) ([]byte, *problem) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, badRequest("the body could not be read: %s", err)
	}
	if len(body) > maxBody {
		return nil, badRequest("the request is larger than %d bytes", maxBody)
	}
	if err := json.Unmarshal(eval.CamelKeys(body), into); err != nil {
		return nil, badRequest("the body is not the JSON that is expected: %s", err)
	}
	return body, nil
}

// readRequest decodes and checks what every method with contents checks.
func readRequest(r *http.Request) (*request, *problem) {
	var req request
	body, p := readJSON(r, &req)
	if p != nil {
		return nil, p
	}
	if req.Wrapped != nil && len(req.Contents) == 0 {
		req = *req.Wrapped
	}
	req.Raw = body
	if len(req.Contents) == 0 {
		return nil, badRequest("contents is required")
	}
	for i, c := range req.Contents {
		if len(c.Parts) == 0 {
			return nil, badRequest("contents[%d].parts is required", i)
		}
		if c.Role != "" && c.Role != eval.RoleUser && c.Role != eval.RoleModel {
			return nil, badRequest("contents[%d].role must be user or model, not %q", i, c.Role)
		}
	}
	return &req, req.checkImages()
}

func (r *request) checkImages() *problem {
	size, images := 0, 0
	for i, c := range r.Contents {
		for j, p := range c.Parts {
			switch {
			case p.InlineData != nil:
				images++
				size += len(p.InlineData.Data)
				if !slices.Contains(eval.ImageTypes, p.InlineData.MimeType) {
					return badRequest("contents[%d].parts[%d]: the image type %q is not supported", i, j, p.InlineData.MimeType)
				}
				if _, err := base64.StdEncoding.Strict().DecodeString(p.InlineData.Data); err != nil || strings.ContainsAny(p.InlineData.Data, "\r\n") {
					return badRequest("contents[%d].parts[%d]: the image data is not base64 without line breaks", i, j)
				}
			case p.Text != nil:
				size += len(*p.Text)
			}
		}
	}
	if images > eval.MaxImages {
		return badRequest("%d images; at most %d are allowed", images, eval.MaxImages)
	}
	if size > eval.MaxPromptBytes {
		return badRequest("the prompt has %d bytes; at most %d are allowed", size, eval.MaxPromptBytes)
	}
	return nil
}

// images counts the images of all turns.
func (r *request) images() int {
	n := 0
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			if p.InlineData != nil {
				n++
			}
		}
	}
	return n
}

// tokens is what the emulator counts: UTF-8 bytes / 4 rounded up, 258 an image.
func (r *request) tokens() int {
	bytes := 0
	for _, c := range r.Contents {
		bytes += len(c.text())
	}
	return eval.EstimateTokens(bytes) + eval.TokensPerImage*r.images()
}

func (c content) text() string {
	var b strings.Builder
	for _, p := range c.Parts {
		if p.Text != nil {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}

// prompt is the text of the last user turn.
func (r *request) prompt() string {
	for i := len(r.Contents) - 1; i >= 0; i-- {
		if r.Contents[i].Role != eval.RoleModel {
			return r.Contents[i].text()
		}
	}
	return ""
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
	n := r.images()
	switch {
	case real == "svc-pro" && n > 0:
		return badRequest("svc-pro takes text only; send images to svc-pro-vision")
	case real == "svc-pro-vision" && n == 0:
		return badRequest("svc-pro-vision does not take a prompt without an image")
	}
	if t := r.tokens(); t > m.InputTokenLimit {
		return badRequest("the prompt has %d tokens; %s takes at most %d", t, m.Name, m.InputTokenLimit)
	}
	c := r.GenerationConfig
	switch {
	case c.MaxOutputTokens != nil && (*c.MaxOutputTokens < 1 || *c.MaxOutputTokens > m.OutputTokenLimit):
		return badRequest("maxOutputTokens must be from 1 to %d", m.OutputTokenLimit)
	case c.Temperature != nil && *c.Temperature < 0:
		return badRequest("temperature must not be negative")
	case c.CandidateCount < 0 || c.CandidateCount > 8:
		return badRequest("candidateCount must be from 1 to 8")
	}
	return nil
}

func (e *Emulator) countTokens(w http.ResponseWriter, r *http.Request) {
	req, p := readRequest(r)
	if p != nil {
		fail(w, p)
		return
	}
	reply(w, struct {
		TotalTokens int `json:"totalTokens"`
	}{req.tokens()})
}
