package eval

import (
	"regexp"
	"slices"
	"sync"
)

// withoutContent replaces texts that may contain parts of prompts or answers.
const withoutContent = "not kept (--no-content)"

// Withhold removes prompts and answers from the result, and all texts that may quote them. Hashes, lengths,
// scores, ratings and numbers stay.
func (r *Result) Withhold() {
	r.Vars, r.Changes = nil, ""
	if r.Request != nil {
		r.Request = new(r.Request.withheld())
	}
	if r.Response != nil {
		r.Response = new(r.Response.withheld())
	}
	r.Usage = r.Usage.withheld()
	if r.Timing != nil {
		r.Timing = new(r.Timing.withheld())
	}
	r.Calls = slices.Clone(r.Calls)
	for i := range r.Calls {
		t := &r.Calls[i]
		t.Response, t.Timing = t.withheld(), t.Timing.withheld()
		t.Usage.Extra = nil
		t.Results = withheldResults(t.Results)
	}
	r.Scores = slices.Clone(r.Scores)
	for i := range r.Scores {
		s := &r.Scores[i]
		s.Reason, s.Diff = withoutContent, ""
		s.Grade = s.writtenGrade().withheld().grade()
		s.Judged = s.Judged.withhold()
	}
	r.Judgements = slices.Clone(r.Judgements)
	for i := range r.Judgements {
		r.Judgements[i].Withhold()
	}
	r.Ending = r.withheldEnding()
}

// withheld is the timing with plain words alone.
func (t Timing) withheld() Timing {
	t.Integrity, t.Limit, t.Batch = Integrity(word(string(t.Integrity))), word(t.Limit), word(t.Batch)
	return t
}

// withheldEnding is the ending without the words of an error that may quote a prompt or an answer.
func (r *Result) withheldEnding() Ending {
	ending := r.writtenEnding()
	harmless := []ErrorKind{KindTransport, KindTimeout, KindOverLimit}
	if err := ending.err; err != nil && (!slices.Contains(harmless, err.Kind) || r.ranProgram()) {
		e := *err
		e.Message, e.Code, e.Cause = withoutContent, word(e.Code), ""
		ending.err = &e
	}
	return ending.ending()
}

// ranProgram reports whether a program was under test: its errors show what it wrote, whatever their kind.
func (r *Result) ranProgram() bool {
	if r.Request == nil || r.Request.App == nil {
		return false
	}
	_, ok := r.Request.App.Payload.(*ProgramRun)
	return ok
}

// withheld is the request without prompts, declarations, and what is sent to an application.
func (r *Request) withheld() Request {
	out := *r
	out.Contents = nil
	out.Tools = nil
	out.Extra = nil
	if out.System != "" {
		out.System = withoutContent
	}
	for _, c := range r.Contents {
		kept := Content{Role: c.Role}
		for _, p := range c.Parts {
			kept.Parts = append(kept.Parts, p.withheld())
		}
		out.Contents = append(out.Contents, kept)
	}
	if r.App != nil {
		out.App = r.App.Withheld()
	}
	return out
}

func withheldResults(results []CallResult) []CallResult {
	results = slices.Clone(results)
	for i := range results {
		one := &results[i]
		one.ID = word(one.ID)
		one.Name = word(one.Name)
		one.Text = withoutContent
	}
	return results
}

// withheldPieces are the names of the calls among the pieces of an answer: that there was something, and no more.
func withheldPieces(parts []Piece) []Piece {
	var out []Piece
	for _, p := range parts {
		if kept := p.withheldPiece(); kept != nil {
			out = append(out, kept)
		}
	}
	return out
}

// withheld is the response without all that may quote an answer.
func (r *Response) withheld() Response {
	out := *r
	out.Candidates, out.Extra = slices.Clone(r.Candidates), nil
	for i := range out.Candidates {
		c := &out.Candidates[i]
		c.Withheld = withhold(c.Text)
		c.Text = ""
		c.Extra = nil
		c.Raw = nil
		c.Pieces = withheldPieces(c.Pieces)
		c.FinishReason = word(c.FinishReason)
		c.VendorReason = word(c.VendorReason)
		c.SafetyRatings = words(c.SafetyRatings)
	}
	out.ModelVersion = word(out.ModelVersion)
	out.Calls = slices.Clone(r.Calls)
	for i := range out.Calls {
		out.Calls[i] = out.Calls[i].withheld()
	}
	if f := r.PromptFeedback; f != nil {
		out.PromptFeedback = &PromptFeedback{BlockReason: word(f.BlockReason), SafetyRatings: words(f.SafetyRatings)}
	}
	return out
}

// withheld is the call without what was said.
func (c ModelCall) withheld() ModelCall {
	c.Model = word(c.Model)
	if c.Response != nil {
		c.Response = new(c.Response.withheld())
	}
	c.Results, c.Timing, c.Usage.Extra = withheldResults(c.Results), c.Timing.withheld(), nil
	if c.Error != nil {
		c.Error = &Error{Kind: c.Error.Kind, Status: c.Error.Status, Message: withoutContent}
	}
	return c
}

// identifier matches the service's own words. Other texts in their place may quote a prompt.
var identifier = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_.-]{0,64}$`)
})

func word(s string) string {
	if identifier().MatchString(s) {
		return s
	}
	return withoutContent
}

func words(ratings []SafetyRating) []SafetyRating {
	ratings = slices.Clone(ratings)
	for i := range ratings {
		ratings[i].Category = word(ratings[i].Category)
		ratings[i].Probability = word(ratings[i].Probability)
		ratings[i].Extra = nil
	}
	return ratings
}
