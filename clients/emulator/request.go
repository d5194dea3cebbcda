package emulator

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/estimate"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// maxBody bounds a request body: the largest prompt and room for the rest.
const maxBody = service.MaxPromptBytes + 1<<20

// request is what a client sends, as far as the emulator looks at it. Unknown fields are
// ignored.
type request struct {
	Contents          []content       `json:"contents"`
	GenerationConfig  config          `json:"generationConfig"`
	SafetySettings    []setting       `json:"safetySettings"`
	SystemInstruction *content        `json:"systemInstruction"`
	Raw               json.RawMessage `json:"-"` // the body
	Wrapped           *request        `json:"generateContentRequest"`
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
	MaxOutputTokens *integer `json:"maxOutputTokens"`
	StopSequences   []string `json:"stopSequences"`
	CandidateCount  integer  `json:"candidateCount"`
}

type setting struct {
	Category  enum `json:"category"`
	Threshold enum `json:"threshold"`
}

// integer is a whole number in any of the spellings that clients of this protocol use: 5, 5.0, "5".
type integer int

func (n *integer) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if text == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return fmt.Errorf("%s is not a whole number", text)
	}
	*n = integer(f)
	return nil
}

// enum is the name of a value; clients may send its number instead.
type enum string

func (e *enum) UnmarshalJSON(data []byte) error {
	*e = enum(strings.Trim(string(data), `"`))
	return nil
}

// category is the name of a category, whose number clients of this protocol may send.
func (e enum) category() string {
	switch e {
	case "7":
		return "HARM_CATEGORY_HARASSMENT"
	case "8":
		return "HARM_CATEGORY_HATE_SPEECH"
	case "9":
		return "HARM_CATEGORY_SEXUALLY_EXPLICIT"
	case "10":
		return "HARM_CATEGORY_DANGEROUS_CONTENT"
	case "11":
		return "HARM_CATEGORY_CIVIC_INTEGRITY"
	}
	return string(e)
}

// threshold is the name of a threshold, whose number clients of this protocol may send.
func (e enum) threshold() string {
	switch e {
	case "0":
		return "HARM_BLOCK_THRESHOLD_UNSPECIFIED"
	case "1":
		return "BLOCK_LOW_AND_ABOVE"
	case "2":
		return "BLOCK_MEDIUM_AND_ABOVE"
	case "3":
		return "BLOCK_ONLY_HIGH"
	case "4":
		return "BLOCK_NONE"
	case "5":
		return "OFF"
	}
	return string(e)
}

// readJSON decodes a body, keys in either spelling, and returns it as it came.
func readJSON(r *http.Request, into any) ([]byte, *problem) {
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
	err = json.Unmarshal(wirejson.CamelKeys(body), into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return nil, badRequest("the body is not the JSON that is expected: %s cannot be a %s", wrong.Field, wrong.Value)
	case err != nil:
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
	if p := req.checkRoles(); p != nil {
		return nil, p
	}
	req.joinModelTurns()
	return &req, req.checkImages()
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

// checkImages says what is wrong with the images, or with the size of all that the prompt has.
func (r *request) checkImages() *problem {
	size, images := 0, 0
	for i, c := range r.Contents {
		for j, p := range c.Parts {
			if p.InlineData != nil {
				images++
				size += len(p.InlineData.Data)
				if problem := p.InlineData.check(); problem != "" {
					return badRequest("contents[%d].parts[%d]: %s", i, j, problem)
				}
			} else if p.Text != nil {
				size += len(*p.Text)
			}
		}
	}
	if images > service.MaxImages {
		return badRequest("%d images; at most %d are allowed", images, service.MaxImages)
	}
	if size > service.MaxPromptBytes {
		return badRequest("the prompt has %d bytes; at most %d are allowed", size, service.MaxPromptBytes)
	}
	return nil
}

// check says what is wrong with an image, "" when nothing is.
func (b *blob) check() string {
	if !slices.Contains(service.ImageTypes, b.MimeType) {
		return fmt.Sprintf("the image type %q is not supported", b.MimeType)
	}
	if !isBase64(b.Data) {
		return "the image data is not base64 without line breaks"
	}
	return ""
}

// isBase64 reports whether data is base64 in the standard alphabet or that for addresses, padded or
// not, without line breaks.
func isBase64(data string) bool {
	if strings.ContainsAny(data, "\r\n") {
		return false
	}
	data = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(data, "="))
	_, err := base64.RawStdEncoding.Strict().DecodeString(data)
	return err == nil
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
	if r.SystemInstruction != nil {
		bytes += len(r.SystemInstruction.text())
	}
	return estimate.Tokens(bytes) + estimate.TokensPerImage*r.images()
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
	return r.GenerationConfig.check()
}

// check says what is wrong with the settings.
func (c *config) check() *problem {
	switch {
	case c.MaxOutputTokens != nil && *c.MaxOutputTokens < 1: // one above the model's limit is allowed, and of no use
		return badRequest("maxOutputTokens must be at least 1")
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
