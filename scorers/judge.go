package scorers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/yamlnode"
	"github.com/evalrun/evalrun/suite"
)

func judgeKind() Kind {
	return Kind{
		Name: "judge", Summary: "a model that the suite names under `judges:` finds the answer good",
		Doc: "Takes one of five questions. `rubric: TEXT`: how well the answer does what the text says. `faithfulness: {context}`: how far " +
			"everything in the answer stands in the context. " +
			"`relevance: {}`: how far the answer answers the question. These three are judged by a number from 0 to 1, or on `scale: [1, 5]`, " +
			"which is mapped to that. " +
			"`factuality: {reference}`: by a choice, compared with the facts of the reference: `same` (1), `differsHarmlessly` (1), `superset` " +
			"(0.6), `subset` (0.4), `disagrees` (0). " +
			"`closedQA: {criteria, reference}` (one of them or both): by `yes` (1) or `no` (0). `values: {subset: 0.8}` beside either of these " +
			"two replaces values. " +
			"The judge sees the question: the last turn of the user, or `question: TEXT` in the mapping. With `sees: conversation` it also sees " +
			"the system prompt, all turns, the tool calls and their results, and judges an answer that consists of tool calls. The value " +
			"must be at least 0.5, `min`, " +
			"or the `threshold` beside the kind. " +
			"`judge: NAME` chooses among several judges. `repeats: N` asks it so often: the value is the mean of the numbers, or that of the " +
			"choice most often made (of several the lowest), and the reason tells which share of the pairs of repeats agrees. " +
			"The answer goes to the judge between fences with a code that it cannot know, and is no template. " +
			"Only one JSON object with `reason` and `score` (or `choice`) counts; what is no such object is asked for once more, and after " +
			"that, or for a score out of range, a block or a judge that cannot be asked, the score is unscored.",
		Example: "- judge:\n    rubric: The answer names the capital of France and nothing else.\n    repeats: 3\n  threshold: 0.8",
		takes:   judgeKeys().Shape(), compile: compileJudge,
	}
}

// Judgements are the replies of judges at hand while an answer is scored. What is to be asked and not there is wanted:
// whoever scores gets it and scores again.
type Judgements struct {
	Known  map[string]*eval.Judgement // by Question.Key
	Wanted []Question
	// Refused says by Question.Key why a reply cannot be had.
	Refused map[string]string
	// Useless are the keys of questions to which the replies, taken together, do not count.
	Useless []string
}

// of is the reply to a question, nil when it is not at hand.
func (j *Judgements) of(q Question) *eval.Judgement {
	known := j.Known[q.Key]
	if known == nil && j.Refused[q.Key] == "" {
		j.Wanted = append(j.Wanted, q)
	}
	return known
}

// passMark is the value from which an answer passes when nothing else is said.
const passMark = 0.5

// maxJudgeRepeats bounds how often one answer is judged.
const maxJudgeRepeats = 100

// judging is a compiled scorer: a form to be filled in, by whom, and how often.
type judging struct {
	form
	judge   *suite.Judge
	repeats int
	least   float64
}

func compileJudge(a args) Scorer {
	m := a.Args.Map(judgeKeys().Names()...)
	if !a.Args.IsMapping() {
		return nil
	}
	j := &judging{judge: a.judge(m.Get("judge")), repeats: cmp.Or(m.Get("repeats").Int(1, maxJudgeRepeats), 1), least: passMark}
	switch {
	case m.Has("min") && a.Threshold != nil:
		m.Key("min").Errorf("keep one of them", "`min` and `threshold` are two rules for one score")
	case m.Has("min"):
		j.least = m.Get("min").Float(0, 1)
	case a.Threshold != nil:
		j.least = *a.Threshold
	}
	form, ok := readForm(m)
	if !ok || j.judge == nil {
		return nil
	}
	j.form = form
	j.conversation = m.Get("sees").Word("answer", "conversation") == "conversation"
	use := suite.JudgeUse{
		Judge: j.judge,
		Bytes: len(j.text(append(slices.Clone(form.parts), part{"question", deref(form.question)}, part{"answer", ""}))),
		Turn:  form.question == nil, Conversation: j.conversation,
	}
	for range j.repeats {
		a.needs.Judges = append(a.needs.Judges, use)
	}
	return Func(j.score)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// readForm reads which question is asked.
func readForm(m yamlnode.Map) (f form, ok bool) {
	var given []string
	for _, name := range formNames() {
		if m.Has(name) {
			given = append(given, name)
		}
	}
	if len(given) != 1 {
		found := "nothing of that"
		if len(given) > 1 {
			found = strings.Join(given, " and ")
		}
		m.Errorf("one scorer for each; `all:` joins several", "`judge` takes one of %s; found %s", strings.Join(formNames(), ", "), found)
		return f, false
	}
	f = forms()[given[0]]
	f.choices = slices.Clone(f.choices)
	read := fillIn{form: &f, at: m.Get(given[0]), ok: true}
	read.arguments(given[0])
	read.scale(m)
	return f, read.ok
}

// fillIn reads the arguments of a form.
type fillIn struct {
	*form
	at yamlnode.Node
	ok bool
}

// arguments reads what stands under the name of the form.
func (r *fillIn) arguments(name string) {
	if name == "rubric" {
		r.part(name, r.at)
		return
	}
	m := r.at.Map(r.keys().Names()...)
	if r.ok = r.at.IsMapping(); !r.ok {
		return
	}
	if q := m.Get("question"); !q.IsZero() {
		r.question = new(r.text(q))
	}
	found := false
	for _, key := range r.needs {
		if v := m.Get(key); !v.IsZero() {
			r.part(key, v)
			found = true
		}
	}
	if len(r.needs) > 0 && !found {
		r.at.Errorf("", "`%s` needs `%s`", name, strings.Join(r.needs, "` or `"))
		r.ok = false
	}
	r.values(m.Get("values"))
}

func (r *fillIn) part(name string, n yamlnode.Node) { r.parts = append(r.parts, part{name, r.text(n)}) }

// text reads a text that must not be empty.
func (r *fillIn) text(n yamlnode.Node) string {
	s := textOf(n)
	if n.IsScalar() && !n.IsNull() && strings.TrimSpace(s) == "" {
		n.Errorf("", "the text is empty")
	}
	r.ok = r.ok && s != ""
	return s
}

// values replaces what choices are worth.
func (r *fillIn) values(n yamlnode.Node) {
	words := r.worth()
	for e := range n.Map(words.Names()...).Entries() {
		if i := slices.Index(words.Names(), e.Name()); i >= 0 {
			r.choices[i].value = e.Value.Float(0, 1)
		}
	}
}

// scale reads the range of the numbers.
func (r *fillIn) scale(m yamlnode.Map) {
	r.low, r.high = 0, 1
	n := m.Get("scale")
	if n.IsZero() {
		return
	}
	ends := n.Seq()
	switch {
	case len(r.choices) > 0:
		m.Key("scale").Errorf("", "a scale is for numbers, and this is judged by a choice")
	case len(ends) != 2:
		n.Errorf("such as [1, 5]", "`scale` takes the least and the largest number")
	default:
		r.low, r.high = ends[0].Float(-maxScale, maxScale), ends[1].Float(-maxScale, maxScale)
		if r.low < r.high {
			return
		}
		n.Errorf("such as [1, 5]", "the least number of a scale stands first, and the two differ")
	}
	r.ok = false
}

const maxScale = 1e6

// score asks the judge, or has it asked, and makes one finding of its rulings.
func (j *judging) score(a *Answer) Finding {
	if f, none := noText(a); none && (!j.conversation || !onlyCalls(a.Candidate)) {
		return f
	}
	if a.Context == nil {
		return unscored("no judge is at hand")
	}
	contents, ok := j.contents(a)
	if !ok {
		return unscored("the answer is too long for a judge: with all that goes with it more than %d bytes", service.MaxPromptBytes)
	}
	out := &eval.Judged{Judge: j.judge.Name}
	pending, problems := false, ""
	replies := &a.Context.Judgements
	wanted := len(replies.Wanted)
	for repeat := range j.repeats {
		ruling, problem := j.ruling(replies, contents, repeat+1)
		switch {
		case problem != "":
			problems = cmp.Or(problems, problem)
		case ruling == nil:
			pending = true
		default:
			out.Rulings = append(out.Rulings, *ruling)
		}
	}
	if problems != "" { // nothing more can change that
		replies.Wanted = replies.Wanted[:wanted]
		return unscored("%s", problems)
	}
	if pending {
		return unscored("the judge %s has not replied", j.judge.Name)
	}
	return j.finding(out)
}

// ruling is what the judge says once: nil when it is yet to be asked, with a problem when it says nothing that counts.
func (j *judging) ruling(replies *Judgements, contents []eval.Content, repeat int) (ruling *eval.Ruling, problem string) {
	var asked []string
	defer func() {
		if problem != "" {
			replies.Useless = append(replies.Useless, asked...)
		}
	}()
	for again := range 2 {
		q := newQuestion(j.judge, contents, repeat)
		reply := replies.of(q)
		if reply == nil {
			asked = nil // it is not for what was replied before
			return nil, replies.Refused[q.Key]
		}
		asked = append(asked, q.Key)
		if why := reply.Blocked(); why != "" {
			return nil, fmt.Sprintf("the reply of the judge %s was blocked (%s)", j.judge.Name, why)
		}
		ruling, err := j.parse(reply)
		if err == nil {
			if len(j.choices) == 0 { // for repeats to agree on
				ruling.Choice = j.passOrFail(ruling.Value)
			}
			return ruling, ""
		}
		if !err.malformed {
			return nil, fmt.Sprintf("the reply of the judge %s does not count: %s", j.judge.Name, err.why)
		}
		if again == 1 {
			return nil, fmt.Sprintf("the judge %s replied twice with no JSON object: %s: %s", j.judge.Name, err.why, quote(reply.Reply))
		}
		contents = j.askAgain(contents, reply.Reply)
	}
	return nil, ""
}

// passes has a tolerance for means that come out a little below.
func (j *judging) passes(value float64) bool { return value >= j.least-1e-9 }

func (j *judging) passOrFail(value float64) string {
	if j.passes(value) {
		return "pass"
	}
	return "fail"
}

// finding makes one of the rulings of all repeats.
func (j *judging) finding(out *eval.Judged) Finding {
	rulings := out.Rulings
	value, most := j.overall(rulings)
	if out.Choice = most; len(j.choices) == 0 {
		out.Choice = j.passOrFail(value)
	}
	shown := rulings[slices.IndexFunc(rulings, func(r eval.Ruling) bool { return r.Choice == most })]
	said := j.said(rulings, value, most, shown)
	if out.Agreement = agreement(rulings); out.Agreement != nil {
		said += fmt.Sprintf(", agreement %.0f %%", 100**out.Agreement)
	}
	f := graded(
		value, j.passes(value), "the judge %s says %s, at least %g is expected: %s", j.judge.Name, said, j.least,
		quoteLong(shown.Reason),
	)
	f.Judged = out
	return f
}

// overall is the value of the choice that was made most often or, of numbers, their mean.
func (j *judging) overall(rulings []eval.Ruling) (value float64, most string) {
	if len(j.choices) > 0 {
		most = majority(rulings)
		return j.valueOf(most), most
	}
	for _, r := range rulings {
		value += r.Value / float64(len(rulings))
	}
	return min(1, value), rulings[0].Choice
}

// said shows what the judge says, in the words of its form.
func (j *judging) said(rulings []eval.Ruling, value float64, most string, shown eval.Ruling) string {
	switch {
	case len(j.choices) > 0:
		return fmt.Sprintf("%s (%.4g)", most, value)
	case len(rulings) > 1:
		least, largest := math.Inf(1), 0.0
		for _, r := range rulings {
			least, largest = min(least, r.Value), max(largest, r.Value)
		}
		return fmt.Sprintf("%.4g on average of %d (%.4g to %.4g)", value, len(rulings), least, largest)
	case shown.Score != nil && (j.low != 0 || j.high != 1):
		return fmt.Sprintf("%.4g (%g of %g to %g)", value, *shown.Score, j.low, j.high)
	}
	return fmt.Sprintf("%.4g", value)
}

// valueOf is what a choice is worth.
func (f *form) valueOf(word string) float64 {
	return f.choices[slices.IndexFunc(f.choices, func(c choice) bool { return c.word == word })].value
}

// majority is the choice that was made most often; of several the one that is worth least.
func majority(rulings []eval.Ruling) string {
	counts := map[string]int{}
	for _, r := range rulings {
		counts[r.Choice]++
	}
	return slices.MaxFunc(rulings, func(a, b eval.Ruling) int {
		return cmp.Or(counts[a.Choice]-counts[b.Choice], cmp.Compare(b.Value, a.Value), cmp.Compare(b.Choice, a.Choice))
	}).Choice
}

// agreement is the share of pairs of rulings with the same choice, nil when there are none.
func agreement(rulings []eval.Ruling) *float64 {
	n := len(rulings)
	if n < 2 {
		return nil
	}
	counts := map[string]int{}
	for _, r := range rulings {
		counts[r.Choice]++
	}
	same := 0
	for _, c := range counts {
		same += c * (c - 1)
	}
	return new(float64(same) / float64(n*(n-1)))
}

// judge is the judge that a scorer names.
func (a args) judge(n yamlnode.Node) *suite.Judge {
	j, problem, hint := a.Suite.FindJudge(n.Str())
	if problem == "" {
		return j
	}
	if n.IsZero() || a.Suite == nil || len(a.Suite.Judges) == 0 {
		n = a.Args
	}
	n.Errorf(hint, "%s", problem)
	return nil
}
