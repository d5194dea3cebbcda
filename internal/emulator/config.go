package emulator

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// config has the generation settings that the emulator reads.
type config struct {
	Temperature      *float64        `json:"temperature"`
	TopP             *float64        `json:"topP"`
	TopK             *integer        `json:"topK"`
	MaxOutputTokens  *integer        `json:"maxOutputTokens"`
	StopSequences    []string        `json:"stopSequences"`
	CandidateCount   integer         `json:"candidateCount"`
	Seed             *integer        `json:"seed"`
	PresencePenalty  *float64        `json:"presencePenalty"`
	FrequencyPenalty *float64        `json:"frequencyPenalty"`
	ResponseMimeType string          `json:"responseMimeType"`
	ResponseSchema   json.RawMessage `json:"responseSchema"`
	ThinkingConfig   *thinking       `json:"thinkingConfig"`
}

type thinking struct {
	IncludeThoughts *bool    `json:"includeThoughts"`
	ThinkingBudget  *integer `json:"thinkingBudget"`
	ThinkingLevel   string   `json:"thinkingLevel"`
}

// hidesThoughts reports whether the request excludes thoughts from the answer.
func (c *config) hidesThoughts() bool {
	return c.ThinkingConfig != nil && c.ThinkingConfig.IncludeThoughts != nil && !*c.ThinkingConfig.IncludeThoughts
}

type safetySetting struct {
	Category  enum `json:"category"`
	Threshold enum `json:"threshold"`
}

// integer accepts all spellings of whole numbers that clients of this protocol use: 5, 5.0, "5".
type integer int

func (n *integer) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if text == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return &json.UnmarshalTypeError{Value: text, Type: reflect.TypeFor[integer]()} // the decoder adds the field
	}
	*n = integer(f)
	return nil
}

func (n *integer) float() *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// enum is the name of an enum value, or its number, which clients may send instead.
type enum string

func (e *enum) UnmarshalJSON(data []byte) error {
	*e = enum(strings.Trim(string(data), `"`))
	return nil
}

// named is the name of a value that clients may send as its number.
func (e enum) named(numbers map[enum]string) string { return cmp.Or(numbers[e], string(e)) }

func (e enum) category() string {
	return e.named(map[enum]string{
		"7": "HARM_CATEGORY_HARASSMENT", "8": "HARM_CATEGORY_HATE_SPEECH", "9": "HARM_CATEGORY_SEXUALLY_EXPLICIT",
		"10": "HARM_CATEGORY_DANGEROUS_CONTENT", "11": "HARM_CATEGORY_CIVIC_INTEGRITY",
	})
}

func (e enum) threshold() string {
	return e.named(map[enum]string{
		"0": "HARM_BLOCK_THRESHOLD_UNSPECIFIED", "1": "BLOCK_LOW_AND_ABOVE", "2": "BLOCK_MEDIUM_AND_ABOVE", "3": "BLOCK_ONLY_HIGH",
		"4": "BLOCK_NONE", "5": "OFF",
	})
}

var responseTypes = []string{"text/plain", "application/json", "text/x.enum", "application/xml", "application/yaml"}

type bounds struct {
	name   string
	value  *float64 // nil: not set
	lo, hi float64
	must   string
}

// check validates the settings. It allows a maxOutputTokens above the model's limit, which has no effect.
func (c *config) check() *problem {
	budget := (*integer)(nil)
	if c.ThinkingConfig != nil {
		budget = c.ThinkingConfig.ThinkingBudget
	}
	inf := math.Inf(1)
	for _, b := range []bounds{
		{"maxOutputTokens", c.MaxOutputTokens.float(), 1, inf, "be at least 1"},
		{"temperature", c.Temperature, 0, inf, "not be negative"},
		{"candidateCount", (&c.CandidateCount).float(), 0, 8, "be from 1 to 8"},
		{"presencePenalty", c.PresencePenalty, -2, 2, "be from -2 to 2"},
		{"frequencyPenalty", c.FrequencyPenalty, -2, 2, "be from -2 to 2"},
		{"thinkingConfig.thinkingBudget", budget.float(), -1, inf, "be at least -1"},
	} {
		if b.value != nil && (*b.value < b.lo || *b.value > b.hi) {
			return badRequest("generationConfig.%s must %s", b.name, b.must)
		}
	}
	return c.checkForm()
}

func (c *config) checkForm() *problem {
	const at = "generationConfig.responseSchema"
	switch {
	case c.ResponseMimeType != "" && !slices.Contains(responseTypes, c.ResponseMimeType):
		return badRequest(
			"generationConfig.responseMimeType must be one of %s, not %q", strings.Join(responseTypes, ", "), c.ResponseMimeType,
		)
	case !isSet(c.ResponseSchema):
		return nil
	case c.ResponseMimeType != "application/json" && c.ResponseMimeType != "text/x.enum":
		return badRequest("%s needs the responseMimeType application/json or text/x.enum", at)
	}
	return checkSchema(at, c.ResponseSchema, 0)
}
