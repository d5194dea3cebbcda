package generative

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

type assembly struct {
	head       eval.Response // everything except the candidates
	candidates map[int]*growing
	kept       int // approximate bytes

	alike   wire.Alike // to the last chunk, if that adds to the text of speaker alone
	speaker *growing
	counted []byte // the last chunk that is alike, whose usage was not read yet; empty for none
}

type growing struct {
	eval.Candidate
	gathered
	raws   rawParts
	call   json.RawMessage // the first call of a function
	ending wire.StreamEnd
	more   bool                       // there is more than text, a finish reason and ratings
	fields map[string]json.RawMessage // of the candidate, without its content; later values replace earlier ones
	rated  []eval.SafetyRating        // the latest ratings, unless they are among the fields
}

func (a *assembly) Add(data []byte) (text bool, err error) {
	if said, ok := a.alike.Text(data); ok {
		a.counted = append(a.counted[:0], data...)
		return a.more(said)
	}
	a.settle()
	a.alike.Forget()
	plain := wirejson.CamelKeys(bytes.Clone(data)) // parts are kept
	chunk, err := parse(plain)
	if err != nil {
		return false, err
	}
	for i := range chunk.Candidates {
		if slices.Contains(chunk.indexes[:i], chunk.indexes[i]) {
			return text, eval.Errorf(eval.KindMalformed, "two candidates have the index %d: %s", chunk.indexes[i], wire.Excerpt(data))
		}
		text = text || !eval.IsBlank(chunk.Candidates[i].Text)
		if err := a.take(&chunk, i); err != nil {
			return text, err
		}
	}
	a.head.ModelVersion = cmp.Or(chunk.ModelVersion, a.head.ModelVersion)
	a.head.Usage = later(a.head.Usage, chunk.Usage)
	a.head.PromptFeedback = joined(a.head.PromptFeedback, chunk.PromptFeedback)
	if a.head.Extra, err = a.keep(a.head.Extra, chunk.Extra); err == nil && len(chunk.indexes) == 1 && len(plain) == len(data) {
		a.learn(data, chunk.indexes[0])
	}
	return text, err
}

// take adds a candidate of a chunk.
func (a *assembly) take(chunk *parsed, i int) error {
	c, f, g := &chunk.Candidates[i], &chunk.found[i], a.candidate(chunk.indexes[i])
	other := isOther(a.head.Extra["responseId"], chunk.Extra["responseId"])
	if other && c.Text != "" && g.pieces.Text() != "" {
		return wire.SecondReply()
	}
	call := f.call()
	again := other || call != nil && bytes.Equal(call, g.call)
	if err := cmp.Or(a.note(g, f), a.grow(g, c)); err != nil {
		return err
	}
	return g.ending.Add(c.Text != "" || call != nil, ends(c.FinishReason) && !again, len(g.pieces.Text()))
}

// learn remembers a chunk that only adds to the text of a candidate and counts it.
func (a *assembly) learn(data []byte, index int) {
	s := wire.Shape{
		Text: "candidates.0.content.parts.0.text", Other: []string{"promptFeedback"},
		Known: []string{"content", "parts", "text", "role", "index", "safetyRatings"},
	}
	// Of usage with both numbers that grow, each chunk replaces what the ones before said.
	if used := gjson.GetManyBytes(data, "usageMetadata.promptTokenCount", "usageMetadata.candidatesTokenCount"); used[0].Int() > 0 &&
		used[1].Type == gjson.Number {
		s.Free = []string{"usageMetadata.candidatesTokenCount", "usageMetadata.totalTokenCount"}
	}
	a.speaker = a.candidate(index)
	a.alike.Learn(data, &s)
}

// more adds the text of a chunk with nothing but a text.
func (a *assembly) more(said string) (text bool, err error) {
	g, p := a.speaker, answerPart{text: &said}
	g.add(&p)
	g.raws.add(&p)
	a.kept += len(said)
	if err := g.ending.Add(said != "", false, len(g.pieces.Text())); err != nil {
		return false, err
	}
	a.head.Extra, err = a.keep(a.head.Extra, nil)
	return !eval.IsBlank(said), err
}

// settle reads the usage of the last chunk that was alike.
func (a *assembly) settle() {
	if len(a.counted) == 0 {
		return
	}
	if chunk, err := parse(bytes.Clone(a.counted)); err == nil { // as the one that it is alike to
		a.head.Usage = later(a.head.Usage, chunk.Usage)
	}
	a.counted = a.counted[:0]
}

// isOther reports whether the ids of two chunks are those of different responses.
func isOther(before, id json.RawMessage) bool {
	return !wire.IsEmpty(before) && !wire.IsEmpty(id) && !bytes.Equal(before, id)
}

func (a *assembly) note(g *growing, f *found) error {
	g.more = g.more || f.more
	for i := range f.parts {
		p := &f.parts[i]
		whole, err := g.join(*p)
		if err != nil {
			return wire.Misshapen(err, p.raw)
		}
		for k := range whole {
			g.raws.add(&whole[k])
		}
		if a.kept += len(p.said()); !p.isPlain() {
			a.kept += 3*len(p.raw) + 124
		}
	}
	if g.call == nil {
		g.call = f.call()
	}
	if g.fields == nil {
		g.fields = map[string]json.RawMessage{}
	}
	for name, value := range wirejson.Members(f.raw) {
		if string(name) != "content" {
			a.kept += len(value) - len(g.fields[string(name)])
			g.fields[string(name)] = value
		}
	}
	return nil
}

func (a *assembly) grow(g *growing, c *eval.Candidate) error {
	g.end(c.FinishReason)
	if len(c.SafetyRatings) > 0 {
		g.rated = c.SafetyRatings
	}
	g.SafetyRatings = worst(g.SafetyRatings, c.SafetyRatings)
	if len(g.SafetyRatings) > maxRatings || len(a.candidates) > maxCandidates {
		return eval.Errorf(eval.KindTooLarge, "the stream has more than %d candidates, or ratings of one", maxCandidates)
	}
	var err error
	g.Extra, err = a.keep(g.Extra, c.Extra)
	return err
}

// end sets the finish reason, unless an earlier chunk reported a block.
func (g *growing) end(reason string) {
	if g.Block() == "" && (g.FinishReason == "" || ends(reason)) {
		g.FinishReason = reason
	}
}

func (a *assembly) candidate(index int) *growing {
	g := a.candidates[index]
	if g == nil {
		if a.candidates == nil {
			a.candidates = map[int]*growing{}
		}
		g = &growing{raws: rawParts{done: []json.RawMessage{}}}
		a.candidates[index] = g
		a.kept += 200
	}
	return g
}

// keep adds unknown members; later values replace earlier ones.
func (a *assembly) keep(soFar, more eval.Extra) (eval.Extra, error) {
	for name, value := range more {
		if soFar == nil {
			soFar = eval.Extra{}
		}
		a.kept += len(name) + len(value) - len(soFar[name])
		soFar[name] = value
	}
	if a.kept > wire.MaxResponseBytes {
		return nil, eval.Errorf(eval.KindTooLarge, "%s", wire.ErrTooLarge)
	}
	return soFar, nil
}

// unspecified is the finish reason of an unfinished candidate.
const unspecified = "FINISH_REASON_UNSPECIFIED"

func ends(reason string) bool { return reason != "" && reason != unspecified }

// Finished reports whether every candidate has a finish reason, or the prompt was blocked. Only this
// distinguishes a complete stream of events from a cut one, since events have no closing bracket.
func (a *assembly) Finished() bool {
	if a.head.PromptBlock() != "" {
		return true
	}
	for _, g := range a.candidates {
		if !ends(g.FinishReason) {
			return false
		}
	}
	return len(a.candidates) > 0
}

func (a *assembly) Response() (*eval.Response, error) {
	a.settle()
	out := a.head
	indexes := make([]int, 0, len(a.candidates))
	for i := range a.candidates {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	out.Candidates = make([]eval.Candidate, 0, len(indexes))
	for _, i := range indexes {
		g := a.candidates[i]
		c := g.Candidate
		if err := g.ending.Check(g.pieces.Text()); err != nil {
			return nil, err
		}
		if g.partial.around != nil {
			return nil, eval.Errorf(eval.KindTruncated, "the stream ends inside the arguments of a call")
		}
		g.fill(&c)
		if g.more {
			c.Raw = g.raw(i)
		}
		out.Candidates = append(out.Candidates, c)
	}
	return blocked(&out), nil
}

func (g *growing) raw(index int) json.RawMessage {
	fields := maps.Clone(g.fields)
	if g.FinishReason != "" {
		fields["finishReason"] = wirejson.AppendString(nil, g.FinishReason)
	}
	if index > 0 {
		fields["index"] = strconv.AppendInt(nil, int64(index), 10)
	}
	if fields["safetyRatings"] == nil && g.rated != nil {
		fields["safetyRatings"] = wire.Encode(g.rated)
	}
	g.raws.end()
	b := append(wirejson.OpenObject(`{"content":{"parts":`), wire.Encode(g.raws.done)...)
	b = append(b, `,"role":"model"}`...)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b = append(b.Member(name), wire.Compact(fields[name])...)
	}
	return json.RawMessage(append(b, '}'))
}

// worst merges the ratings of chunks. It keeps the higher of two ratings of a category: what was rated high
// in the middle of an answer was in the answer. A rating that is not on the scale cannot be compared, so
// the later one counts.
func worst(soFar, more []eval.SafetyRating) []eval.SafetyRating {
	for _, r := range more {
		i := slices.IndexFunc(soFar, func(k eval.SafetyRating) bool { return k.Category == r.Category })
		switch {
		case i < 0:
			soFar = append(soFar, r)
			continue
		case r.Level() < 0 || soFar[i].Level() < 0 || r.Level() > soFar[i].Level():
			soFar[i].Probability = r.Probability
		}
		soFar[i].Blocked = soFar[i].Blocked || r.Blocked
		soFar[i].Extra = soFar[i].Extra.Join(r.Extra)
	}
	return soFar
}

func joined(soFar, more *eval.PromptFeedback) *eval.PromptFeedback {
	if soFar == nil || more == nil {
		return cmp.Or(more, soFar)
	}
	soFar.BlockReason = cmp.Or(soFar.BlockReason, more.BlockReason)
	soFar.SafetyRatings = worst(soFar.SafetyRatings, more.SafetyRatings)
	soFar.Extra = soFar.Extra.Join(more.Extra)
	return soFar
}
