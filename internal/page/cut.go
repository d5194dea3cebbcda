package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// excerpt returns the beginning of a text on one line.
func excerpt(body string) string {
	short := strings.Join(strings.Fields(text.CutText(body, mostExcerpt)), " ")
	if len(body) > mostExcerpt {
		short += "..."
	}
	return short
}

// once removes what a trial with several turns has twice. From the request it removes the model's replies
// and the results of its calls. From the turns it removes the last reply, which is the answer.
func once(r *eval.Result) {
	if len(r.Calls) == 0 {
		return
	}
	if r.Request != nil {
		r.Request.Contents = text.SuiteContents(r)
	}
	if r.Response != nil {
		r.Calls[len(r.Calls)-1].Response = eval.Response{}
	}
}

// fits reports whether the JSON of a trial can be in a page as it is: no text has more than most bytes, and it has no turns.
func fits(data []byte, most int) bool {
	return len(data) <= most && !bytes.Contains(data, []byte(`"turns":`))
}

// cutTexts makes a trial fit, and returns how many prompts and answers it cut.
func cutTexts(r *eval.Result, most int) int {
	once(r)
	c := cutter{most: most}
	c.result(r)
	return c.texts
}

// cutter cuts long texts and counts the prompts and answers that it cut.
type cutter struct {
	most  int // bytes of a text
	texts int
}

func (c *cutter) result(r *eval.Result) {
	c.request(r.Request)
	c.response(r.Response)
	for i := range r.Calls {
		c.response(&r.Calls[i].Response)
		c.results(r.Calls[i].Results)
	}
	for i := range r.Judgements {
		j := &r.Judgements[i]
		c.text(&j.Reply, &j.Withheld)
		c.shorten(&j.Prompt)
		c.failure(j.Error)
	}
	c.shorten(&r.Changes)
	for i := range r.Scores {
		c.score(&r.Scores[i])
	}
	c.failure(r.Err())
	for name, value := range r.Vars {
		c.shorten(&value)
		r.Vars[name] = value
	}
}

// text cuts a prompt or an answer. It records the length and the hash, as --no-content does.
func (c *cutter) text(s *string, w **eval.Withheld) {
	if len(*s) <= c.most {
		return
	}
	sum := sha256.Sum256([]byte(*s))
	*w = &eval.Withheld{SHA256: hex.EncodeToString(sum[:]), Bytes: len(*s)}
	*s = text.CutText(*s, c.most)
	c.texts++
}

func (c *cutter) request(r *eval.Request) {
	if r == nil {
		return
	}
	for _, content := range r.Contents {
		for i := range content.Parts {
			content.Parts[i] = c.part(content.Parts[i])
		}
	}
	c.shorten(&r.System)
	for i := range r.Tools {
		c.shorten(&r.Tools[i].Description)
		c.raw(&r.Tools[i].Parameters)
	}
	c.extra(r.Extra)
	c.application(r.App)
}

func (c *cutter) part(p eval.Part) eval.Part {
	switch p := p.(type) {
	case eval.TextPart:
		c.text(&p.Text, &p.Withheld)
		return p
	case eval.RawPart:
		c.raw(&p.Raw)
		return p
	case eval.ResultPart:
		c.shorten(&p.Result.Text)
	case eval.ImagePart, eval.DataPart: // their contents are not in a run file
	}
	return p
}

func (c *cutter) application(r *eval.Rendered) {
	if r == nil {
		return
	}
	switch p := r.Payload.(type) {
	case *eval.HTTP:
		c.shorten(&p.URL)
		c.shorten(&p.Body)
		for i := range p.Headers {
			c.shorten(&p.Headers[i].Value)
		}
	case *eval.ProgramRun:
		c.raw(&p.Input)
		for i := range p.Command {
			c.shorten(&p.Command[i])
		}
	case *eval.Unknown:
		c.raw(&p.JSON)
	case eval.EchoRun:
	}
}

func (c *cutter) results(results []eval.CallResult) {
	for i := range results {
		c.shorten(&results[i].Text)
	}
}

func (c *cutter) response(r *eval.Response) {
	if r == nil {
		return
	}
	for i := range r.Candidates {
		one := &r.Candidates[i]
		c.text(&one.Text, &one.Withheld)
		c.extra(one.Extra)
		c.raw(&one.Raw)
		for i := range one.Pieces {
			one.Pieces[i] = c.piece(one.Pieces[i])
		}
	}
	c.extra(r.Extra)
	for i := range r.Calls {
		c.response(r.Calls[i].Response)
		c.results(r.Calls[i].Results)
		c.failure(r.Calls[i].Error)
	}
}

// extra drops long values of fields that evalrun does not know.
func (c *cutter) extra(fields eval.Extra) {
	for name, raw := range fields {
		c.raw(&raw)
		fields[name] = raw
	}
}

// raw replaces long JSON by its length.
func (c *cutter) raw(data *json.RawMessage) {
	if len(*data) > c.most {
		*data = fmt.Appendf(nil, "%q", fmt.Sprintf("[%d bytes, left out of this report]", len(*data)))
		c.texts++
	}
}

func (c *cutter) piece(p eval.Piece) eval.Piece {
	switch p := p.(type) {
	case eval.TextPiece:
		c.shorten(&p.Text)
		return p
	case eval.ReasoningPiece:
		c.shorten(&p.Reasoning)
		return p
	case eval.OtherPiece:
		c.raw(&p.Other)
		return p
	case eval.CallPiece:
		c.raw(&p.Call.Args)
	}
	return p
}

func (c *cutter) score(s *eval.Score) {
	c.shorten(&s.Reason)
	c.shorten(&s.Diff)
	if s.Judged == nil {
		return
	}
	for i := range s.Judged.Rulings {
		c.shorten(&s.Judged.Rulings[i].Reason)
	}
}

func (c *cutter) failure(e *eval.Error) {
	if e != nil {
		c.shorten(&e.Message)
	}
}

// shorten cuts a text other than a prompt or an answer, and says so at its end.
func (c *cutter) shorten(s *string) {
	if len(*s) > c.most {
		*s = fmt.Sprintf("%s\n[... %d more bytes]", text.CutText(*s, c.most), len(*s)-c.most)
	}
}
