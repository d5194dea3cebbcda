package generative

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Answers beyond these bounds are refused.
const (
	maxAnswer     = 100_000 // JSON values
	maxCandidates = 1000
	maxRatings    = 1000
)

type wireRating struct {
	Category    wire.Word `json:"category"`
	Probability wire.Word `json:"probability"`
	Blocked     bool      `json:"blocked"`
	extra       eval.Extra
}

// UnmarshalJSON keeps fields that evalrun does not know.
func (r *wireRating) UnmarshalJSON(data []byte) error {
	f := wire.Fields{}
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if err := cmp.Or(f.Take("category", &r.Category), f.Take("probability", &r.Probability), f.Take("blocked", &r.Blocked)); err != nil {
		return err
	}
	r.extra = eval.NewExtra(f)
	return nil
}

// plainRating is a rating without unknown fields.
type plainRating struct {
	Category    wire.Word `json:"category"`
	Probability wire.Word `json:"probability"`
	Blocked     bool      `json:"blocked"`
}

func ratings(in []wireRating) []eval.SafetyRating {
	if len(in) == 0 {
		return nil
	}
	out := make([]eval.SafetyRating, 0, len(in))
	for _, r := range in {
		out = append(out, eval.SafetyRating{
			Category:    string(r.Category),
			Probability: string(r.Probability),
			Blocked:     r.Blocked,
			Extra:       r.extra,
		})
	}
	return out
}

func plainRatings(in []plainRating) []eval.SafetyRating {
	if len(in) == 0 {
		return nil
	}
	out := make([]eval.SafetyRating, 0, len(in))
	for _, r := range in {
		out = append(out, eval.SafetyRating{
			Category:    string(r.Category),
			Probability: string(r.Probability),
			Blocked:     r.Blocked,
		})
	}
	return out
}

// readFeedback reads what the service reports about the prompt. It keeps unknown fields.
func readFeedback(f wire.Fields) (*eval.PromptFeedback, error) {
	if f == nil {
		return nil, nil
	}
	var reason wire.Word
	var rated []wireRating
	if err := cmp.Or(f.Take("blockReason", &reason), f.Take("safetyRatings", &rated)); err != nil {
		return nil, err
	}
	return &eval.PromptFeedback{BlockReason: string(reason), SafetyRatings: ratings(rated), Extra: eval.NewExtra(f)}, nil
}

// ParseResponse decodes a reply of generateContent. It keeps fields and enum values that it does not know.
// A member of the wrong type makes the reply malformed. The error is an *eval.Error.
func ParseResponse(data []byte) (*eval.Response, error) {
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	p.finish()
	p.sort()
	return blocked(p.Response), nil
}

// blocked marks the candidates of a blocked prompt, whose text came before the block.
func blocked(r *eval.Response) *eval.Response {
	for i := range r.Candidates {
		if c := &r.Candidates[i]; r.PromptBlock() != "" && c.Block() == "" {
			c.VendorReason = cmp.Or(c.VendorReason, c.FinishReason)
			wire.Refuse(c)
		}
	}
	return r
}

// ParseReply decodes a recorded reply: one of generateContent, or the array of a stream, with keys in
// camelCase or snake_case. The error is an *eval.Error. The reply of a failed call is such an error too.
func ParseReply(data []byte) (*eval.Response, error) {
	data = wirejson.CamelKeys(bytes.TrimSpace(data))
	if len(data) == 0 || data[0] != '[' {
		return ParseResponse(data)
	}
	var chunks []json.RawMessage
	if err := wire.Decode(data, &chunks); err != nil {
		return nil, err
	}
	var whole assembly
	for _, chunk := range chunks {
		if _, err := whole.Add(chunk); err != nil {
			return nil, err
		}
	}
	if !whole.Finished() {
		return nil, eval.Errorf(eval.KindTruncated, "the stream ends before its answer does")
	}
	return whole.response()
}

// parsed is an answer, or a chunk of one, with the indexes and the raw contents of its candidates. The
// contents are nil if there is only text.
type parsed struct {
	*eval.Response
	indexes []int
	found   []found
}

func parse(data []byte) (parsed, error) {
	if wire.TooMany(data, maxAnswer) {
		return parsed{}, eval.Errorf(eval.KindTooLarge, "the answer has more than %d values: %s", maxAnswer, wire.Excerpt(data))
	}
	if out, ok := parsePlain(data); ok {
		return out, nil
	}
	return parseCarefully(data)
}

func parseCarefully(data []byte) (parsed, error) {
	f := wire.Fields{}
	if err := wire.Decode(data, &f); err != nil {
		if wire.IsError(data) { // streams wrap errors in an array
			return parsed{}, wire.ErrorIn(data)
		}
		return parsed{}, err
	}
	if wire.HasError(f["error"]) || f.IsBareError("candidates", "promptFeedback", "usageMetadata") {
		return parsed{}, wire.ErrorIn(data)
	}
	delete(f, "error")
	out := parsed{Response: &eval.Response{}}
	if err := out.fill(f); err != nil {
		return parsed{}, eval.Errorf(eval.KindMalformed, "%s: %s", err, wire.Excerpt(data))
	}
	return out, nil
}

// plainKeys are the keys of the answers that parsePlain can read.
var plainKeys = map[string]bool{
	"candidates": true, "content": true, "parts": true, "text": true, "role": true, "finishReason": true, "index": true,
	"safetyRatings": true, "category": true, "probability": true, "promptFeedback": true, "blockReason": true, "modelVersion": true,
	"usageMetadata": true, "promptTokenCount": true, "candidatesTokenCount": true, "totalTokenCount": true,
}

type plainResponse struct {
	Candidates     []plainCandidate `json:"candidates"`
	PromptFeedback *struct {
		BlockReason   wire.Word     `json:"blockReason"`
		SafetyRatings []plainRating `json:"safetyRatings"`
	} `json:"promptFeedback"`
	UsageMetadata *wireUsage `json:"usageMetadata"`
	ModelVersion  string     `json:"modelVersion"`
}

type plainCandidate struct {
	Content struct {
		Parts []struct {
			Text *string `json:"text"`
		} `json:"parts"`
	} `json:"content"`
	FinishReason  *string       `json:"finishReason"`
	Index         int           `json:"index"`
	SafetyRatings []plainRating `json:"safetyRatings"`
}

// parsePlain is a fast path for the most common answers: one candidate, only text parts, no unknown field.
// It returns false for all others, and for invalid ones, whose problem the slow path explains.
func parsePlain(data []byte) (out parsed, ok bool) {
	if wire.Decodable(data) != nil || !wirejson.HasOnlyKeys(data, plainKeys) {
		return out, false
	}
	var w plainResponse
	if wirejson.Decode(data, &w) != nil || len(w.Candidates) != 1 {
		return out, false
	}
	c := &w.Candidates[0]
	text, ok := c.text()
	if !ok {
		return out, false
	}
	out = parsed{&eval.Response{
		Candidates:   []eval.Candidate{{Text: text, SafetyRatings: plainRatings(c.SafetyRatings)}},
		ModelVersion: w.ModelVersion,
		Usage:        w.UsageMetadata.usage(),
	}, []int{c.Index}, nil}
	if c.FinishReason != nil {
		out.Candidates[0].FinishReason = *c.FinishReason
	}
	if f := w.PromptFeedback; f != nil {
		out.PromptFeedback = &eval.PromptFeedback{BlockReason: string(f.BlockReason), SafetyRatings: plainRatings(f.SafetyRatings)}
	}
	return out, true
}

// text joins the parts of a candidate. It returns false when a part is not text, or the candidate may be an
// empty object.
func (c *plainCandidate) text() (string, bool) {
	if c.FinishReason == nil && len(c.Content.Parts) == 0 {
		return "", false
	}
	var text strings.Builder
	for _, p := range c.Content.Parts {
		if p.Text == nil {
			return "", false
		}
		text.WriteString(*p.Text)
	}
	return text.String(), true
}

// fill reads the known members of f and keeps the others.
func (out *parsed) fill(f wire.Fields) error {
	var candidates []found
	var feedback, usage wire.Fields
	if err := cmp.Or(
		f.Take("candidates", &candidates),
		f.Take("promptFeedback", &feedback),
		f.Take("modelVersion", &out.ModelVersion),
	); err != nil {
		return err
	}
	metadata := f["usageMetadata"]
	if f.Take("usageMetadata", &usage) == nil {
		out.Usage = readUsage(usage)
	}
	if out.Usage == nil && wire.HasError(metadata) { // the answer is worth more than its usage record
		f["usageMetadata"] = metadata
	}
	if err := out.fillCandidates(candidates); err != nil {
		return err
	}
	var err error
	out.PromptFeedback, err = readFeedback(feedback)
	out.Extra = eval.NewExtra(f)
	return err
}

// fillCandidates reads the candidates and their indexes.
func (out *parsed) fillCandidates(candidates []found) error {
	candidates = slices.DeleteFunc(candidates, func(c found) bool { return len(c.fields) == 0 }) // null and {} are not candidates
	out.Candidates = make([]eval.Candidate, len(candidates))
	if len(candidates) > maxCandidates {
		return &wire.ShapeError{Field: "candidates", Found: fmt.Sprintf("%d of them", len(candidates))}
	}
	out.indexes, out.found = make([]int, len(candidates)), candidates
	given := false
	for i := range candidates {
		_, has := candidates[i].fields["index"]
		given = given || has
		if err := candidates[i].fill(&out.Candidates[i], &out.indexes[i]); err != nil {
			return err
		}
	}
	if !given { // one missing index means 0, but if all are missing, the position counts
		for i := range out.indexes {
			out.indexes[i] = i
		}
	}
	return nil
}

// finish sets the parts and raw contents of the candidates, once the answer is complete.
func (out *parsed) finish() {
	for i := range out.found {
		c, f := &out.Candidates[i], &out.found[i]
		c.Pieces = pieces(f.marks, c.Text)
		if f.more {
			c.Raw = compact(f.raw)
		}
		endInCalls(c)
	}
}

// sort orders the candidates by index.
func (out *parsed) sort() {
	if slices.IsSorted(out.indexes) {
		return
	}
	type indexedCandidate struct {
		c eval.Candidate
		i int
	}
	pairs := make([]indexedCandidate, len(out.Candidates))
	for k := range pairs {
		pairs[k] = indexedCandidate{out.Candidates[k], out.indexes[k]}
	}
	slices.SortStableFunc(pairs, func(a, b indexedCandidate) int { return cmp.Compare(a.i, b.i) })
	for k := range pairs {
		out.Candidates[k] = pairs[k].c
	}
}
