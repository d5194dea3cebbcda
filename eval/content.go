// Package eval holds the nouns of evalrun. A request has Content, Part, GenerationConfig and SafetySetting; an answer
// has Response and Candidate, and a Model gives it. evalrun makes of it a Trial, Score, Result and Run. What the service
// also knows is spelled as on the wire.
//
// It does no I/O and judges nothing.
package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// Roles of a Content in a conversation.
const (
	RoleUser  = "user"
	RoleModel = "model"
)

// Content is one turn of a conversation. Role may be empty in a single-turn request. Its JSON is the form
// in run files, with images as hash and path; internal/clients/wire writes the form that is sent.
type Content struct {
	Role  string   `json:"role,omitempty"`
	Parts partList `json:"parts"`
}

// Withheld replaces a text that is not kept in files.
type Withheld struct {
	SHA256 string `json:"sha256"` // hex; "" in an export, since short answers can be guessed by it
	Bytes  int    `json:"bytes"`
	Number int    `json:"number,omitempty"` // in an export: among the different answers of its case, if they were sampled
}

func withhold(text string) *Withheld {
	sum := sha256.Sum256([]byte(text))
	return &Withheld{SHA256: hex.EncodeToString(sum[:]), Bytes: len(text)}
}

// Image is an image in the form that is sent. Run files omit Data; Path and SHA256 identify the image.
type Image struct {
	Path     string `json:"path"`
	MIMEType string `json:"mimeType"`
	SHA256   string `json:"sha256"` // hex, of the bytes as sent
	Bytes    int    `json:"bytes"`
	Data     []byte `json:"-"`
	// SourceSHA256 is the hash of the file, when the sent image was made from it by resizing.
	SourceSHA256 string `json:"sourceSha256,omitempty"`
}

// Identity returns the hash of the image's file: versions of evalrun may resize it to different bytes.
func (i *Image) Identity() string {
	if i.SourceSHA256 != "" {
		return "resized " + i.SourceSHA256
	}
	return i.SHA256
}

// GenerationConfig are sampling parameters. An unset field is not sent; zero is.
type GenerationConfig struct {
	Temperature     *float64
	TopP            *float64
	TopK            *int
	MaxOutputTokens *int
	StopSequences   []string
	// Extra fields are sent unchanged. They are for fields of the service that evalrun does not know.
	Extra Extra
}

type wireConfig struct {
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"topP,omitempty"`
	TopK            *int     `json:"topK,omitempty"`
	MaxOutputTokens *int     `json:"maxOutputTokens,omitempty"`
	StopSequences   []string `json:"stopSequences,omitempty"`
}

// MarshalJSON writes the config in the form that is sent, with extra fields last, sorted by name.
func (c GenerationConfig) MarshalJSON() ([]byte, error) { return c.AppendJSON(make([]byte, 0, 96)) }

// AppendJSON is MarshalJSON at the end of dst.
func (c *GenerationConfig) AppendJSON(dst []byte) ([]byte, error) {
	opening := len(dst)
	dst, err := wirejson.Append(dst, &wireConfig{c.Temperature, c.TopP, c.TopK, c.MaxOutputTokens, c.StopSequences})
	if err != nil || len(c.Extra) == 0 {
		return dst, err
	}
	dst = dst[:len(dst)-1] // the closing brace
	for _, name := range slices.Sorted(maps.Keys(c.Extra)) {
		if len(dst) > opening+1 {
			dst = append(dst, ',')
		}
		dst = append(append(wirejson.AppendString(dst, name), ':'), c.Extra[name]...)
	}
	return append(dst, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *GenerationConfig) UnmarshalJSON(data []byte) error {
	var w wireConfig
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	extra := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &extra); err != nil {
		return err
	}
	for _, known := range c.Keys() {
		delete(extra, known)
	}
	*c = GenerationConfig{w.Temperature, w.TopP, w.TopK, w.MaxOutputTokens, w.StopSequences, NewExtra(extra)}
	return nil
}

// Keys are the names of its fields in requests, all that the service's specification has. Extra holds none of them.
func (GenerationConfig) Keys() []string {
	return []string{"stopSequences", "temperature", "maxOutputTokens", "topP", "topK"}
}

// SafetySetting sets the blocking threshold of one category.
type SafetySetting struct {
	Category  string `json:"category"`
	Threshold string `json:"threshold"`
}
