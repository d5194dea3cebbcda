package generative

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
)

// decode reads one JSON value into v and says in an *eval.Error why it is none.
func decode(data []byte, v any) error {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return eval.Errorf(eval.KindMalformed, "the answer is empty")
	case !utf8.Valid(data):
		return eval.Errorf(eval.KindMalformed, "the answer is not UTF-8: %s", excerpt(data))
	case tooMany(data, maxValues):
		return eval.Errorf(eval.KindTooLarge, "the answer has more than %d values: %s", maxValues, excerpt(data))
	case tooDeep(data):
		return eval.Errorf(eval.KindMalformed, "the answer nests deeper than %d levels: %s", maxNesting, excerpt(data))
	}
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && isCut(data):
		return eval.Errorf(eval.KindTruncated, "the answer was cut off after %d bytes", len(data))
	case errors.As(err, &syntax):
		return eval.Errorf(eval.KindMalformed, "the answer is not JSON: %s", excerpt(data))
	case errors.As(err, &wrong) && wrong.Field != "":
		return eval.Errorf(eval.KindMalformed, "%s: %s", &shapeError{wrong.Field, "a " + wrong.Value}, excerpt(data))
	}
	return eval.Errorf(eval.KindMalformed, "the answer has another shape than expected: %s", excerpt(data))
}

// maxNesting bounds how deep an answer may nest: what is kept of it stands in a line of the run
// file, which must be read again.
const maxNesting = 200

// maxValues bounds how many values an answer may have: each takes many times the memory of its bytes. It
// leaves room for a hundred long vectors.
const maxValues = 500_000

// Bounds of an answer to a prompt.
const (
	maxAnswer     = 100_000 // values
	maxCandidates = 1000
	maxRatings    = 1000
)

// tooMany reports whether an answer may have too many values. Commas inside texts are counted when there are very many
// alone.
func tooMany(data []byte, limit int) bool {
	if bytes.Count(data, []byte(",")) <= limit {
		return false
	}
	n, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case c == ',' && !inString:
			n++
		}
	}
	return n > limit
}

func tooDeep(data []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// isCut reports whether data is the beginning of a JSON value.
func isCut(data []byte) bool {
	var whole json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(data)).Decode(&whole), io.ErrUnexpectedEOF)
}

// fields is a JSON object of which the known members are taken out one by one; what is
// left is kept as it came.
type fields map[string]json.RawMessage

// take decodes a member into v and removes it; absent and null leave v alone.
func (f fields) take(name string, v any) error {
	raw, ok := f[name]
	delete(f, name)
	if !ok || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return &shapeError{name, kindOf(raw)}
	}
	return nil
}

// isBareError reports whether the object is an error without the member `error` around it, as some servers send it: it has the
// words of one, and nothing of an answer.
func (f fields) isBareError() bool {
	for _, name := range []string{"candidates", "promptFeedback", "usageMetadata"} {
		if _, ok := f[name]; ok {
			return false
		}
	}
	var text word
	_, coded := f["code"]
	_, named := f["status"]
	return (coded || named) && json.Unmarshal(f["message"], &text) == nil && text != ""
}

// word is a string that some servers send as a number.
type word string

func (w *word) UnmarshalJSON(data []byte) error {
	if n := len(data); n >= 2 && data[0] == '"' && bytes.IndexByte(data, '\\') < 0 { // as good as always
		*w = word(data[1 : n-1])
		return nil
	}
	var s string
	if json.Unmarshal(data, &s) == nil {
		*w = word(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	*w = word(n)
	return nil
}

type wireRating struct {
	Category    word `json:"category"`
	Probability word `json:"probability"`
	Blocked     bool `json:"blocked"`
	extra       eval.Extra
}

// UnmarshalJSON reads a rating and keeps the fields that evalrun does not know.
func (r *wireRating) UnmarshalJSON(data []byte) error {
	f := fields{}
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if err := cmp.Or(f.take("category", &r.Category), f.take("probability", &r.Probability), f.take("blocked", &r.Blocked)); err != nil {
		return err
	}
	r.extra = eval.NewExtra(f)
	return nil
}

// plainRating is a rating without further fields.
type plainRating struct {
	Category    word `json:"category"`
	Probability word `json:"probability"`
	Blocked     bool `json:"blocked"`
}

func ratings(in []wireRating) []eval.SafetyRating {
	if len(in) == 0 {
		return nil
	}
	out := make([]eval.SafetyRating, 0, len(in))
	for _, r := range in {
		out = append(out, eval.SafetyRating{Category: string(r.Category), Probability: string(r.Probability), Blocked: r.Blocked, Extra: r.extra})
	}
	return out
}

func plainRatings(in []plainRating) []eval.SafetyRating {
	if len(in) == 0 {
		return nil
	}
	out := make([]eval.SafetyRating, 0, len(in))
	for _, r := range in {
		out = append(out, eval.SafetyRating{Category: string(r.Category), Probability: string(r.Probability), Blocked: r.Blocked})
	}
	return out
}

// readFeedback reads what the service says of the prompt, with the fields that evalrun does not know.
func readFeedback(f fields) (*eval.PromptFeedback, error) {
	if f == nil {
		return nil, nil
	}
	var reason word
	var rated []wireRating
	if err := cmp.Or(f.take("blockReason", &reason), f.take("safetyRatings", &rated)); err != nil {
		return nil, err
	}
	return &eval.PromptFeedback{BlockReason: string(reason), SafetyRatings: ratings(rated), Extra: eval.NewExtra(f)}, nil
}

// ParseResponse decodes the answer to generateContent. Fields and enum values
// that it does not know are kept; a member of the wrong type is malformed. The error is an
// *eval.Error.
func ParseResponse(data []byte) (*eval.Response, error) {
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	p.sort()
	return p.Response, nil
}

// ParseReply decodes a reply of the service that was kept in a file: the answer to generateContent, or the array of a stream, in either
// spelling of its keys. The error is an *eval.Error; the reply of a failed call is one.
func ParseReply(data []byte) (*eval.Response, error) {
	data = eval.CamelKeys(bytes.TrimSpace(data))
	if len(data) == 0 || data[0] != '[' {
		return ParseResponse(data)
	}
	var chunks []json.RawMessage
	if err := decode(data, &chunks); err != nil {
		return nil, err
	}
	var whole assembly
	for _, chunk := range chunks {
		if _, err := whole.add(chunk); err != nil {
			return nil, err
		}
	}
	if !whole.finished() {
		return nil, eval.Errorf(eval.KindTruncated, "the stream ends before its answer does")
	}
	return whole.response(), nil
}

// parsed is an answer, or a chunk of one, with the indexes that its candidates carry.
type parsed struct {
	*eval.Response
	indexes []int
}

func parse(data []byte) (parsed, error) {
	if tooMany(data, maxAnswer) {
		return parsed{}, eval.Errorf(eval.KindTooLarge, "the answer has more than %d values: %s", maxAnswer, excerpt(data))
	}
	if out, ok := parsePlain(data); ok {
		return out, nil
	}
	return parseCarefully(data)
}

func parseCarefully(data []byte) (parsed, error) {
	f := fields{}
	if err := decode(data, &f); err != nil {
		if parseErrorBody(data) != nil { // in an array, as errors of streams come
			return parsed{}, errorInAnswer(data)
		}
		return parsed{}, err
	}
	if hasError(f["error"]) || f.isBareError() {
		return parsed{}, errorInAnswer(data)
	}
	delete(f, "error")
	out := parsed{Response: &eval.Response{}}
	if err := out.fill(f); err != nil {
		return parsed{}, eval.Errorf(eval.KindMalformed, "%s: %s", err, excerpt(data))
	}
	return out, nil
}

// plainKeys are the keys of an answer in which there is nothing but what evalrun knows.
var plainKeys = map[string]bool{
	"candidates": true, "content": true, "parts": true, "text": true, "role": true, "finishReason": true, "index": true,
	"safetyRatings": true, "category": true, "probability": true, "promptFeedback": true, "blockReason": true, "modelVersion": true,
	"usageMetadata": true, "promptTokenCount": true, "candidatesTokenCount": true, "totalTokenCount": true,
}

type plainResponse struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text *string `json:"text"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason  *string       `json:"finishReason"`
		Index         int           `json:"index"`
		SafetyRatings []plainRating `json:"safetyRatings"`
	} `json:"candidates"`
	PromptFeedback *struct {
		BlockReason   word          `json:"blockReason"`
		SafetyRatings []plainRating `json:"safetyRatings"`
	} `json:"promptFeedback"`
	UsageMetadata *wireUsage `json:"usageMetadata"`
	ModelVersion  string     `json:"modelVersion"`
}

// parsePlain reads an answer of the common shape in one go: one candidate, texts for parts, no field
// that is not known. Anything else is left to the careful way, which also finds the words for what is
// wrong.
func parsePlain(data []byte) (out parsed, ok bool) {
	if !utf8.Valid(data) || !eval.HasOnlyKeys(data, plainKeys) {
		return out, false
	}
	var w plainResponse
	if json.Unmarshal(data, &w) != nil || len(w.Candidates) != 1 {
		return out, false
	}
	c := &w.Candidates[0]
	if c.FinishReason == nil && len(c.Content.Parts) == 0 { // it may be an empty object
		return out, false
	}
	var text strings.Builder
	for _, p := range c.Content.Parts {
		if p.Text == nil {
			return out, false
		}
		text.WriteString(*p.Text)
	}
	out = parsed{&eval.Response{
		Candidates:   []eval.Candidate{{Text: text.String(), SafetyRatings: plainRatings(c.SafetyRatings)}},
		ModelVersion: w.ModelVersion,
		Usage:        w.UsageMetadata.usage(),
	}, []int{c.Index}}
	if c.FinishReason != nil {
		out.Candidates[0].FinishReason = *c.FinishReason
	}
	if f := w.PromptFeedback; f != nil {
		out.PromptFeedback = &eval.PromptFeedback{BlockReason: string(f.BlockReason), SafetyRatings: plainRatings(f.SafetyRatings)}
	}
	return out, true
}

// errorInAnswer is the error of an answer that says 200 and holds an error all the same.
func errorInAnswer(data []byte) *eval.Error {
	e := &eval.Error{Kind: eval.KindStatus}
	if body := parseErrorBody(data); body != nil {
		body.fill(e)
		e.Status = body.Code
		classify(e)
	}
	if e.Message == "" {
		e.Message = strings.TrimSuffix("the answer holds an error: "+excerpt(data), ": ")
	}
	return e
}

// fill takes the known members out of f and keeps the others.
func (out *parsed) fill(f fields) error {
	var candidates []fields
	var feedback, usage fields
	if err := cmp.Or(
		f.take("candidates", &candidates),
		f.take("promptFeedback", &feedback),
		f.take("modelVersion", &out.ModelVersion),
	); err != nil {
		return err
	}
	metadata := f["usageMetadata"]
	if f.take("usageMetadata", &usage) == nil {
		out.Usage = readUsage(usage)
	}
	if out.Usage == nil && hasError(metadata) { // the answer is worth more than a record that cannot be read
		f["usageMetadata"] = metadata
	}
	candidates = slices.DeleteFunc(candidates, func(c fields) bool { return len(c) == 0 }) // null or {} is no candidate
	out.Candidates = make([]eval.Candidate, len(candidates))
	if len(candidates) > maxCandidates {
		return &shapeError{"candidates", fmt.Sprintf("%d of them", len(candidates))}
	}
	out.indexes = make([]int, len(candidates))
	given := false
	for i, c := range candidates {
		_, has := c["index"]
		given = given || has
		if err := fillCandidate(&out.Candidates[i], c, &out.indexes[i]); err != nil {
			return err
		}
	}
	if !given { // one that is missing is 0, unless all are
		for i := range out.indexes {
			out.indexes[i] = i
		}
	}
	var err error
	out.PromptFeedback, err = readFeedback(feedback)
	out.Extra = eval.NewExtra(f)
	return err
}

// sort puts the candidates in the order of their indexes, as far as they differ.
func (out *parsed) sort() {
	if slices.IsSorted(out.indexes) {
		return
	}
	type pair struct {
		c eval.Candidate
		i int
	}
	pairs := make([]pair, len(out.Candidates))
	for k := range pairs {
		pairs[k] = pair{out.Candidates[k], out.indexes[k]}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.i, b.i) })
	for k := range pairs {
		out.Candidates[k] = pairs[k].c
	}
}

// fillCandidate reads a candidate: its text is that of all text parts but the
// model's thoughts.
func fillCandidate(out *eval.Candidate, f fields, index *int) error {
	var content struct {
		Parts []json.RawMessage `json:"parts"`
	}
	var reason word
	var rated []wireRating
	var place number
	if err := cmp.Or(
		f.take("content", &content), f.take("finishReason", &reason),
		f.take("safetyRatings", &rated), f.take("index", &place),
	); err != nil {
		return err
	}
	*index = int(place)
	if len(rated) > maxRatings {
		return &shapeError{"safetyRatings", fmt.Sprintf("%d of them", len(rated))}
	}
	out.FinishReason, out.SafetyRatings = string(reason), ratings(rated)
	var text strings.Builder
	var others []json.RawMessage
	for _, raw := range content.Parts {
		var part struct {
			Text    *string `json:"text"`
			Thought bool    `json:"thought"`
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return &shapeError{"parts", kindOf(raw)}
		}
		if part.Text == nil || part.Thought {
			others = append(others, raw)
			continue
		}
		text.WriteString(*part.Text)
	}
	out.Text = text.String()
	if len(others) > 0 {
		f["parts"] = must(eval.Marshal(others))
	}
	out.Extra = eval.NewExtra(f)
	return nil
}

// shapeError says that a member of an answer has not the type it should have.
type shapeError struct{ field, found string }

func (e *shapeError) Error() string {
	return fmt.Sprintf("`%s` in the answer has an unexpected shape (%s)", e.field, e.found)
}

// kindOf names the JSON type of raw.
func kindOf(raw []byte) string {
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "an array"
	case raw[0] == '"':
		return "a string"
	case raw[0] == 't' || raw[0] == 'f':
		return "a boolean"
	}
	return "a number"
}
