package generative

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Answers beyond these bounds are refused.
const (
	maxCandidates = 1000
	maxRatings    = 1000
)

// readRatings reads ratings. It keeps fields that evalrun does not know.
func readRatings(list []json.RawMessage) ([]eval.SafetyRating, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]eval.SafetyRating, len(list))
	for i, raw := range list {
		r := &out[i]
		rest, err := wire.ReadObject("safetyRatings", raw,
			"category", (*wire.Word)(&r.Category), "probability", (*wire.Word)(&r.Probability), "blocked", &r.Blocked)
		if err != nil {
			return nil, &wire.ShapeError{Field: "safetyRatings", Found: "an array"}
		}
		r.Extra = eval.NewExtra(rest)
	}
	return out, nil
}

// readFeedback reads what the service reports about the prompt. It keeps unknown fields.
func readFeedback(raw json.RawMessage) (*eval.PromptFeedback, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	var reason wire.Word
	var ratings []json.RawMessage
	rest, err := wire.ReadObject("promptFeedback", raw, "blockReason", &reason, "safetyRatings", &ratings)
	if err != nil {
		return nil, err
	}
	rated, err := readRatings(ratings)
	return &eval.PromptFeedback{BlockReason: string(reason), SafetyRatings: rated, Extra: eval.NewExtra(rest)}, err
}

// parseResponse decodes a reply of generateContent. It keeps fields and enum values that it does not know.
// A member of the wrong type makes the reply malformed. The error is an *eval.Error.
func parseResponse(data []byte) (*eval.Response, error) {
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	if err := p.finish(); err != nil {
		return nil, wire.Misshapen(err, data)
	}
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

// ParseReply decodes a recorded reply: one of generateContent, or the array or the events of a stream, with
// keys in camelCase or snake_case. The error is an *eval.Error. The reply of a failed call is such an error too.
func ParseReply(data []byte) (*eval.Response, error) {
	data = bytes.TrimSpace(data)
	if wire.IsEvents(data) {
		return wire.ParseKept(data, &assembly{}, nil)
	}
	data = wirejson.CamelKeys(data)
	if len(data) == 0 || data[0] != '[' {
		return parseResponse(data)
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
	return whole.Response()
}

// parsed is an answer, or a chunk of one, with the indexes and the raw contents of its candidates.
type parsed struct {
	*eval.Response
	indexes []int
	found   []found
}

func parse(data []byte) (parsed, error) {
	f, err := wire.DecodeAnswer(data, "candidates", "promptFeedback", "usageMetadata")
	if err != nil {
		return parsed{}, err
	}
	out := parsed{Response: &eval.Response{}}
	if err := out.fill(f); err != nil {
		return parsed{}, wire.Misshapen(err, data)
	}
	return out, nil
}

func (out *parsed) fill(f wire.Fields) error {
	var candidates []json.RawMessage
	var feedback json.RawMessage
	if err := cmp.Or(
		f.Take("candidates", &candidates),
		f.Take("promptFeedback", &feedback),
		f.Take("modelVersion", &out.ModelVersion),
	); err != nil {
		return err
	}
	metadata := f["usageMetadata"]
	if out.Usage = readUsage(metadata); out.Usage != nil || !wire.HasError(metadata) { // the answer is worth more than its usage record
		delete(f, "usageMetadata")
	}
	if err := out.fillCandidates(candidates); err != nil {
		return err
	}
	var err error
	out.PromptFeedback, err = readFeedback(feedback)
	out.Extra = eval.NewExtra(f)
	return err
}

func (out *parsed) fillCandidates(list []json.RawMessage) error {
	out.found = make([]found, 0, len(list))
	for _, raw := range list {
		if raw[0] != '{' && string(raw) != "null" {
			return &wire.ShapeError{Field: "candidates", Found: "an array"}
		}
		if !wire.IsEmpty(raw) { // null and {} are not candidates
			out.found = append(out.found, found{raw: raw})
		}
	}
	if len(out.found) > maxCandidates {
		return &wire.ShapeError{Field: "candidates", Found: fmt.Sprintf("%d of them", len(out.found))}
	}
	out.Candidates, out.indexes = make([]eval.Candidate, len(out.found)), make([]int, len(out.found))
	given := false
	for i := range out.found {
		index, err := out.found[i].fill(&out.Candidates[i])
		if err != nil {
			return err
		}
		if index != nil {
			out.indexes[i], given = int(*index), true
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
func (out *parsed) finish() error {
	for i := range out.found {
		c, f := &out.Candidates[i], &out.found[i]
		var parts gathered
		for _, p := range f.parts {
			if _, err := parts.join(p); err != nil {
				return err
			}
		}
		parts.fill(c)
		if f.more {
			c.Raw = wire.Compact(f.raw)
		}
	}
	return nil
}

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
