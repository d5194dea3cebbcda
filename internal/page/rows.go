package page

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// wordLists numbers lists of words. Trials have few different lists in a column, so a number per trial takes
// little space.
type wordLists struct {
	lists [][]string
	index map[string]int
}

// MarshalJSON writes the lists in the order of their numbers.
func (t *wordLists) MarshalJSON() ([]byte, error) {
	if t.lists == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(t.lists)
}

func (t *wordLists) number(words ...string) int {
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

type tables struct {
	Outcome  *wordLists `json:"outcome"`
	Suite    *wordLists `json:"suite"`
	Arm      *wordLists `json:"arm"`
	Tag      *wordLists `json:"tag"`
	Scorer   *wordLists `json:"scorer"` // scorers that failed or gave no score
	Error    *wordLists `json:"error"`
	Finish   *wordLists `json:"finish"`
	Category *wordLists `json:"category"`
	Note     *wordLists `json:"note"`
	Number   *wordLists `json:"number"`   // names of scores and derived metrics: "score.NAME", "metric.NAME"
	Call     *wordLists `json:"call"`     // names of the called tools
	Var      *wordLists `json:"var"`      // names of variables
	Class    *wordLists `json:"class"`    // label of a classification
	Answered *wordLists `json:"answered"` // answered class, or "(other)"
}

func newTables() tables {
	return tables{
		&wordLists{}, &wordLists{}, &wordLists{}, &wordLists{}, &wordLists{}, &wordLists{}, &wordLists{},
		&wordLists{}, &wordLists{}, &wordLists{}, &wordLists{}, &wordLists{}, &wordLists{}, &wordLists{},
	}
}

var facets = []string{
	"outcome", "suite", "arm", "tag", "scorer", "error", "finish", "category", "note", "number", "call", "var", "class", "answered",
}

// all returns the tables in the order of facets.
func (t *tables) all() []*wordLists {
	return []*wordLists{
		t.Outcome, t.Suite, t.Arm, t.Tag, t.Scorer, t.Error, t.Finish, t.Category, t.Note, t.Number, t.Call, t.Var, t.Class, t.Answered,
	}
}

func (t *tables) lengths() []int {
	var out []int
	for _, one := range t.all() {
		out = append(out, len(one.lists))
	}
	return out
}

type columns struct {
	Case     []any      `json:"case"` // the name, or 0 if it equals the name in the previous row
	Repeat   []int      `json:"repeat"`
	Outcome  []int      `json:"outcome"`
	Suite    []int      `json:"suite"`
	Arm      []int      `json:"arm"`
	Tag      []int      `json:"tag"`
	Scorer   []int      `json:"scorer"`
	Error    []int      `json:"error"`
	Finish   []int      `json:"finish"`
	Category []int      `json:"category"`
	Note     []int      `json:"note"`
	Number   []int      `json:"number"`
	Call     []int      `json:"call"`
	Var      []int      `json:"var"`
	Class    []int      `json:"class"`
	Answered []int      `json:"answered"`
	Value    []*float64 `json:"value"` // the numbers of all trials, in the order of their names; nil: unscored
	Text     []uint32   `json:"text"`  // hash of the whole answer
	Why      []string   `json:"why"`
	Input    []string   `json:"input"`  // of a trial that failed or could not be judged: what was asked; else ""
	Wanted   []string   `json:"wanted"` // of a trial that failed: the text that was wanted; "" where no texts were compared
	Answer   []string   `json:"answer"`
	Latency  []float64  `json:"latency"`        // milliseconds; -1: unknown
	Tokens   []int      `json:"tokens"`         // -1: unknown
	Cost     []float64  `json:"cost,omitempty"` // by the run's price list, if it has one; -1: unknown
	N        []int      `json:"n,omitempty"`    // index in the plan, if the run may get more trials

	last string
}

func (c *columns) add(t *tables, r *eval.Result, of surroundings) {
	name := any(r.Case)
	if len(c.Case) > 0 && r.Case == c.last {
		name = 0
	}
	c.last = r.Case
	c.Case = append(c.Case, name)
	c.Repeat = append(c.Repeat, r.Repeat)
	c.Outcome = append(c.Outcome, t.Outcome.number(string(r.Outcome())))
	c.Suite = append(c.Suite, t.Suite.number(r.Suite))
	c.Arm = append(c.Arm, t.Arm.number(r.Arm))
	c.Tag = append(c.Tag, t.Tag.number(r.Tags...))
	c.Scorer = append(c.Scorer, t.Scorer.number(troubled(r)...))
	c.Error = append(c.Error, t.Error.number(errorKind(r)...))
	c.Note = append(c.Note, t.Note.number(notes(r, of)...))
	c.Why = append(c.Why, excerpt(text.Why(r)))
	input, wanted := asked(r)
	c.Input, c.Wanted = append(c.Input, excerpt(input)), append(c.Wanted, excerpt(wanted))
	c.answer(t, r.Response)
	c.cost(r, of.prices)
	c.numbers(t, r)
	c.Call = append(c.Call, t.Call.number(called(r)...))
	c.Var = append(c.Var, t.Var.number(slices.Sorted(maps.Keys(r.Vars))...))
	c.Text = append(c.Text, hashOfAnswer(r.Response))
	class, answered := classified(r)
	c.Class, c.Answered = append(c.Class, t.Class.number(class...)), append(c.Answered, t.Answered.number(answered...))
}

// asked is what a trial that did not pass asked and wanted.
func asked(r *eval.Result) (input, wanted string) {
	if o := r.Outcome(); o != eval.Fail && o != eval.Err {
		return "", ""
	}
	return text.Asked(r), text.Wanted(r)
}

// otherAnswer is the name of an answer outside the classes, as in the confusion matrix.
const otherAnswer = "(other)"

// classified returns the classification of an answer; empty without one.
func classified(r *eval.Result) (class, answered []string) {
	for i := range r.Scores {
		if pair := r.Scores[i].Class; pair != nil {
			return []string{pair.Expected}, []string{cmp.Or(pair.Answer, otherAnswer)}
		}
	}
	return nil, nil
}

func (c *columns) answer(t *tables, r *eval.Response) {
	var finish, categories []string
	body := ""
	if r != nil {
		finish, categories, body = finishReasons(r), ratings(r), excerpt(text.Answer(r))
	}
	c.Finish = append(c.Finish, t.Finish.number(finish...))
	c.Category = append(c.Category, t.Category.number(categories...))
	c.Answer = append(c.Answer, body)
}

// cost adds time, tokens and money.
func (c *columns) cost(r *eval.Result, prices *eval.PriceList) {
	latency, tokens := -1.0, -1
	if text.Timed(r) {
		latency = float64(int(r.Timing.LatencyMs*10)) / 10
	}
	if r.Usage != nil {
		tokens = r.Usage.TotalTokens
	}
	c.Latency, c.Tokens = append(c.Latency, latency), append(c.Tokens, tokens)
	if prices == nil {
		return
	}
	money := -1.0
	if r.Usage != nil {
		if cost, known := prices.OfTrial(r.Model, r.Usage, r.ModelCalls()); known {
			money = cost
		}
	}
	c.Cost = append(c.Cost, money)
}

func errorKind(r *eval.Result) []string {
	if r.Err() == nil {
		return nil
	}
	return []string{string(r.Err().Kind)}
}

type surroundings struct {
	run      *eval.Run
	failures overview.Failures
	prices   *eval.PriceList // nil without one
}

func surroundingsOf(d *journal.Document) surroundings {
	out := surroundings{run: &d.Run, failures: overview.NewFailures(d)}
	if err := json.Unmarshal(d.Run.Prices, &out.prices); err != nil {
		out.prices = nil // the run has none, or evalrun did not write the file
	}
	return out
}

func notes(r *eval.Result, of surroundings) (out []string) {
	if r.Quarantine.Holds(of.run.StartedAt) {
		out = append(out, "quarantined")
	}
	if standing := of.failures.OfTrial(r); standing != "" {
		out = append(out, string(standing))
	}
	return out
}

// troubled names the scorers that failed or gave no score.
func troubled(r *eval.Result) []string {
	var out []string
	for _, s := range r.Scores {
		_, scored := s.Value()
		if name := text.ScoreName(s); (!scored || !s.Passed()) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// finishReasons returns the distinct finish reasons of an answer, and that of a blocked prompt.
func finishReasons(r *eval.Response) []string {
	var out []string
	if reason := r.PromptBlock(); reason != "" {
		out = append(out, "prompt blocked: "+reason)
	}
	for i := range r.Candidates {
		out = addOnce(out, r.Candidates[i].FinishReason)
	}
	return out
}

// ratings returns the distinct safety ratings of a prompt and its answer.
func ratings(r *eval.Response) []string {
	var out []string
	add := func(ratings []eval.SafetyRating) {
		for _, one := range ratings {
			out = addOnce(out, strings.TrimPrefix(one.Category, "HARM_CATEGORY_")+": "+one.Probability)
		}
	}
	if r.PromptFeedback != nil {
		add(r.PromptFeedback.SafetyRatings)
	}
	for i := range r.Candidates {
		add(r.Candidates[i].SafetyRatings)
	}
	return out
}

func addOnce(list []string, word string) []string {
	if word == "" || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}
