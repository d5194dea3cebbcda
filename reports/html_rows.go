package reports

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// htmlTable gives lists of words numbers. What trials are filtered by is kept so: few lists, and a number a trial.
type htmlTable struct {
	lists [][]string
	index map[string]int
}

// MarshalJSON writes the lists; their places are their numbers.
func (t *htmlTable) MarshalJSON() ([]byte, error) {
	if t.lists == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(t.lists)
}

func (t *htmlTable) number(words ...string) int {
	key := strings.Join(words, "\x00")
	if n, ok := t.index[key]; ok {
		return n
	}
	if t.index == nil {
		t.index = map[string]int{}
	}
	n := len(t.lists)
	t.index[key] = n
	t.lists = append(t.lists, append([]string{}, words...))
	return n
}

// htmlTables are the lists by column.
type htmlTables struct {
	Outcome  *htmlTable `json:"outcome"`
	Suite    *htmlTable `json:"suite"`
	Arm      *htmlTable `json:"arm"`
	Tag      *htmlTable `json:"tag"`
	Scorer   *htmlTable `json:"scorer"` // those that failed, or could not tell
	Error    *htmlTable `json:"error"`
	Finish   *htmlTable `json:"finish"`
	Category *htmlTable `json:"category"`
	Note     *htmlTable `json:"note"`
}

func newHTMLTables() htmlTables {
	return htmlTables{
		&htmlTable{}, &htmlTable{}, &htmlTable{}, &htmlTable{}, &htmlTable{}, &htmlTable{}, &htmlTable{}, &htmlTable{}, &htmlTable{},
	}
}

// htmlFacets are the names of the tables.
var htmlFacets = []string{"outcome", "suite", "arm", "tag", "scorer", "error", "finish", "category", "note"}

// all are the tables in the order of htmlFacets.
func (t *htmlTables) all() []*htmlTable {
	return []*htmlTable{t.Outcome, t.Suite, t.Arm, t.Tag, t.Scorer, t.Error, t.Finish, t.Category, t.Note}
}

// lengths are the numbers of lists in the tables.
func (t *htmlTables) lengths() []int {
	var out []int
	for _, one := range t.all() {
		out = append(out, len(one.lists))
	}
	return out
}

// htmlRows are trials as the table of the page needs them, by column.
type htmlRows struct {
	Case     []any     `json:"case"` // the name, or 0: that of the row before
	Repeat   []int     `json:"repeat"`
	Outcome  []int     `json:"outcome"`
	Suite    []int     `json:"suite"`
	Arm      []int     `json:"arm"`
	Tag      []int     `json:"tag"`
	Scorer   []int     `json:"scorer"`
	Error    []int     `json:"error"`
	Finish   []int     `json:"finish"`
	Category []int     `json:"category"`
	Note     []int     `json:"note"`
	Why      []string  `json:"why"`
	Answer   []string  `json:"answer"`
	Latency  []float64 `json:"latency"`     // milliseconds; -1: not known
	Tokens   []int     `json:"tokens"`      // -1: not known
	N        []int     `json:"n,omitempty"` // place in the plan, where a run may get more trials

	last string
}

func (rows *htmlRows) add(t *htmlTables, r *eval.Result, run *eval.Run) {
	name := any(r.Case)
	if len(rows.Case) > 0 && r.Case == rows.last {
		name = 0
	}
	rows.last = r.Case
	rows.Case = append(rows.Case, name)
	rows.Repeat = append(rows.Repeat, r.Repeat)
	rows.Outcome = append(rows.Outcome, t.Outcome.number(string(r.Outcome)))
	rows.Suite = append(rows.Suite, t.Suite.number(r.Suite))
	rows.Arm = append(rows.Arm, t.Arm.number(r.Arm))
	rows.Tag = append(rows.Tag, t.Tag.number(r.Tags...))
	rows.Scorer = append(rows.Scorer, t.Scorer.number(troubled(r)...))
	var kind, notes []string
	if r.Error != nil {
		kind = []string{string(r.Error.Kind)}
	}
	if r.Quarantine.Holds(run.StartedAt) {
		notes = []string{"quarantined"}
	}
	rows.Error = append(rows.Error, t.Error.number(kind...))
	rows.Note = append(rows.Note, t.Note.number(notes...))
	finish, categories := serviceSaid(r.Response)
	rows.Finish = append(rows.Finish, t.Finish.number(finish...))
	rows.Category = append(rows.Category, t.Category.number(categories...))
	rows.Why = append(rows.Why, excerpt(why(r)))
	answer := ""
	if r.Response != nil {
		answer = excerpt(r.Response.Text())
	}
	rows.Answer = append(rows.Answer, answer)
	latency, tokens := -1.0, -1
	if r.Timing != nil {
		latency = float64(int(r.Timing.LatencyMs*10)) / 10
	}
	if r.Usage != nil {
		tokens = r.Usage.TotalTokens
	}
	rows.Latency, rows.Tokens = append(rows.Latency, latency), append(rows.Tokens, tokens)
}

// troubled names the scorers that failed, or could not tell.
func troubled(r *eval.Result) []string {
	var out []string
	for _, s := range r.Scores {
		if name := scoreName(s); (!s.Passed || s.Value == nil) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// serviceSaid are the finish reasons and the ratings of an answer, each once.
func serviceSaid(r *eval.Response) (finish, categories []string) {
	if r == nil {
		return nil, nil
	}
	add := func(list []string, word string) []string {
		if word == "" || slices.Contains(list, word) {
			return list
		}
		return append(list, word)
	}
	rated := func(ratings []eval.SafetyRating) {
		for _, one := range ratings {
			categories = add(categories, strings.TrimPrefix(one.Category, "HARM_CATEGORY_")+": "+one.Probability)
		}
	}
	if reason := r.PromptBlock(); reason != "" {
		finish = add(finish, "prompt blocked: "+reason)
	}
	if r.PromptFeedback != nil {
		rated(r.PromptFeedback.SafetyRatings)
	}
	for i := range r.Candidates {
		finish = add(finish, r.Candidates[i].FinishReason)
		rated(r.Candidates[i].SafetyRatings)
	}
	return finish, categories
}

// excerpt is the beginning of a text in one line.
func excerpt(text string) string {
	short := strings.Join(strings.Fields(cutText(text, htmlExcerpt)), " ")
	if len(text) > htmlExcerpt {
		short += "..."
	}
	return short
}

// once leaves out what a live chat holds twice: the model's replies in the request, and the last of them, which is the answer.
func once(r *eval.Result) {
	if len(r.Turns) == 0 {
		return
	}
	if r.Request != nil {
		r.Request.Contents = slices.DeleteFunc(r.Request.Contents, func(c eval.Content) bool { return c.Role == eval.RoleModel })
	}
	if r.Response != nil {
		r.Turns[len(r.Turns)-1].Response = eval.Response{}
	}
}

// cut leaves out the ends of long texts. What is said of a text that was withheld then tells its length and hash.
func (h *htmlReport) cut(r *eval.Result) {
	most := htmlText
	if h.written > htmlDetails {
		most = htmlLate
	}
	text := func(s *string, w **eval.Withheld) {
		if len(*s) <= most {
			return
		}
		sum := sha256.Sum256([]byte(*s))
		*w = &eval.Withheld{SHA256: hex.EncodeToString(sum[:]), Bytes: len(*s)}
		*s = cutText(*s, most)
		h.left.Texts++
	}
	if r.Request != nil {
		for _, c := range r.Request.Contents {
			for i := range c.Parts {
				text(&c.Parts[i].Text, &c.Parts[i].Withheld)
			}
		}
	}
	response := func(r *eval.Response) {
		for i := range r.Candidates {
			c := &r.Candidates[i]
			text(&c.Text, &c.Withheld)
			c.Extra = h.extra(c.Extra, most)
		}
		r.Extra = h.extra(r.Extra, most)
	}
	if r.Response != nil {
		response(r.Response)
	}
	for i := range r.Turns {
		response(&r.Turns[i].Response)
	}
	for i := range r.Judgements {
		j := &r.Judgements[i]
		if text(&j.Reply, &j.Withheld); j.Error != nil {
			j.Error.Message = shortened(j.Error.Message, most)
		}
	}
	for i := range r.Scores {
		s := &r.Scores[i]
		if s.Reason, s.Diff = shortened(s.Reason, most), shortened(s.Diff, most); s.Judged == nil {
			continue
		}
		for k := range s.Judged.Rulings {
			s.Judged.Rulings[k].Reason = shortened(s.Judged.Rulings[k].Reason, most)
		}
	}
	if r.Error != nil {
		r.Error.Message = shortened(r.Error.Message, most)
	}
}

// extra leaves out fields that evalrun does not know and that are long.
func (h *htmlReport) extra(fields map[string]json.RawMessage, most int) map[string]json.RawMessage {
	for name, raw := range fields {
		if len(raw) > most {
			fields[name] = fmt.Appendf(nil, "%q", fmt.Sprintf("[%d bytes, left out of this report]", len(raw)))
			h.left.Texts++
		}
	}
	return fields
}

func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s\n[... %d more bytes]", cutText(s, most), len(s)-most)
}
