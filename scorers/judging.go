package scorers

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

// Judgements are the replies of judges that are available while an answer is scored. Missing replies are recorded
// as wanted: the caller fetches them and scores again.
type Judgements struct {
	Known  map[string]*eval.Judgement // by Question.Key
	Wanted []Question
	// Unavailable says, by Question.Key, why there is no reply.
	Unavailable map[string]eval.Unscored
	// Useless are the keys of questions whose replies, even after the correction, do not count.
	Useless []string
}

// of is the reply to a question, nil when unavailable.
func (j *Judgements) of(q Question) *eval.Judgement {
	known := j.Known[q.Key]
	if known == nil && j.Unavailable[q.Key].Why == "" {
		j.Wanted = append(j.Wanted, q)
	}
	return known
}

// passMark is the default value from which on an answer passes.
const passMark = 0.5

// maxJudgeRepeats bounds how often a judge judges one answer.
const maxJudgeRepeats = 100

type judgeScorer struct {
	questionForm
	judges  []*suite.Judge // several for a panel
	combine panelRule
	repeats int
	least   float64
}

// Score makes a finding of the judges' rulings, or records which replies it still needs.
func (j *judgeScorer) Score(a *Answer) Finding {
	if f, none := noText(a); none && (!j.conversation || !onlyCalls(a)) {
		return f
	}
	if why := noTrajectory(a); why != "" && j.trajectory {
		return Unscored("%s", why)
	}
	if a.Context == nil {
		return Unscored("no judge is at hand")
	}
	if j.retrieves() && len(retrieved(a.Candidate.Text)) == 0 {
		return Graded(0, j.least <= 0, "there is no context: the list is empty")
	}
	vectors := len(a.Context.Vectors.Wanted)
	cosine, lost := j.cosineOf(a)
	if lost != nil && len(a.Context.Vectors.Wanted) == vectors { // the vector will never come
		return *lost
	}
	replies := &a.Context.Judgements
	wanted := len(replies.Wanted)
	answers := j.ask(a, cosine)
	switch {
	case answers.problem.Why != "": // further replies cannot change that
		replies.Wanted = replies.Wanted[:wanted]
		return unscoredFor(answers.problem)
	case answers.pending != "":
		return Unscored("the judge %s has not replied", answers.pending)
	case lost != nil:
		return *lost
	}
	return j.finding(answers.rulings)
}

// asking is the progress of a scorer's judges.
type asking struct {
	rulings [][]eval.Ruling // by judge
	pending string          // a judge without a reply yet, "" for none
	problem eval.Unscored   // why there can be no finding; zero: there can be one
}

func (j *judgeScorer) ask(a *Answer, cosine *float64) (out asking) {
	for _, judge := range j.judges {
		p, why := j.pose(a, judge)
		problem := eval.Unscored{Why: why}
		var some []eval.Ruling
		if why == "" {
			p.cosine = cosine
			some, problem = j.rulings(&a.Context.Judgements, &p)
		}
		if out.problem = cmp.Or(out.problem, problem); len(some) < j.repeats {
			out.pending = cmp.Or(out.pending, judge.Name)
		}
		out.rulings = append(out.rulings, some)
	}
	return out
}

// rulings are the available rulings of all repeats, with a problem when one does not count.
func (j *judgeScorer) rulings(replies *Judgements, p *posed) (out []eval.Ruling, problem eval.Unscored) {
	for repeat := range j.repeats {
		ruling, why := j.ruling(replies, p, repeat+1)
		problem = cmp.Or(problem, why)
		if ruling != nil {
			out = append(out, *ruling)
		}
	}
	return out, problem
}

// ruling is one ruling of the judge: nil when there is no reply yet, with a problem when the reply does not count.
func (j *judgeScorer) ruling(replies *Judgements, p *posed, repeat int) (ruling *eval.Ruling, problem eval.Unscored) {
	var unusable []string
	defer func() {
		if problem.Why != "" {
			replies.Useless = append(replies.Useless, unusable...)
		}
	}()
	asking := *p
	var first *badReply
	for attempt := range 2 {
		q := newQuestion(p.judge, asking.contents, repeat)
		reply := replies.of(q)
		if reply == nil {
			unusable = nil // the replies before are not to blame
			return nil, replies.Unavailable[q.Key]
		}
		unusable = append(unusable, q.Key)
		if why := reply.Blocked(); why != "" {
			return nil, eval.Unscored{Why: fmt.Sprintf("the reply of the judge %s was blocked (%s)", p.judge.Name, why)}
		}
		ruling, bad := p.parse(reply)
		if bad == nil {
			if !j.byChoice() { // for repeats to agree on
				ruling.Choice = j.passOrFail(ruling.Value)
			}
			return ruling, eval.Unscored{}
		}
		if bad.reply = reply.Reply; attempt == 1 {
			return nil, eval.Unscored{Why: bad.twice(p.judge.Name, first)}
		}
		first, asking = bad, p.corrected(reply.Reply, bad)
	}
	return nil, eval.Unscored{}
}

func (b *badReply) words() string {
	if b.malformed {
		return "no JSON object: " + b.why + ": " + quote(b.reply)
	}
	return b.why
}

// twice says that the second reply does not count either.
func (b *badReply) twice(judge string, before *badReply) string {
	first, second := before.words(), b.words()
	words := fmt.Sprintf("the reply of the judge %s does not count, nor did the one before: %s", judge, second)
	if b.malformed && before.malformed {
		words = fmt.Sprintf("the judge %s replied twice with %s", judge, second)
	}
	if first != second {
		words += "; the one before: " + first
	}
	return words
}

// passes tolerates rounding errors of means.
func (j *judgeScorer) passes(value float64) bool { return value >= j.least-1e-9 }

func (j *judgeScorer) passOrFail(value float64) string {
	if j.passes(value) {
		return "pass"
	}
	return "fail"
}

func (j *judgeScorer) finding(rulings [][]eval.Ruling) Finding {
	out := &eval.Judged{Judge: j.judges[0].Name, Rulings: rulings[0]}
	if j.own && j.byChoice() {
		out.Choices = j.choices().words()
	}
	if len(j.judges) > 1 {
		return j.ofPanel(out, rulings)
	}
	value, most := j.overall(out.Rulings)
	if out.Choice = most; !j.byChoice() {
		out.Choice = j.passOrFail(value)
	}
	shown := out.Rulings[slices.IndexFunc(out.Rulings, func(r eval.Ruling) bool { return r.Choice == most })]
	said := j.said(out.Rulings, value, most, shown)
	if out.Agreement = agreement(out.Rulings); out.Agreement != nil {
		said += fmt.Sprintf(", agreement %.0f %%", 100**out.Agreement)
	}
	f := Graded(
		value, j.passes(value), "the judge %s says %s, at least %g is expected: %s", out.Judge, said, j.least,
		quoteLong(shown.Reason),
	)
	f.Judged = out
	return f
}

// overall is the value of the most frequent choice or, for scores, the mean.
func (j *judgeScorer) overall(rulings []eval.Ruling) (value float64, most string) {
	if j.byChoice() {
		most = majority(rulings)
		return j.choices().valueOf(most), most
	}
	return meanOf(rulings), rulings[0].Choice
}

func meanOf(rulings []eval.Ruling) (mean float64) {
	for _, r := range rulings {
		mean += r.Value / float64(len(rulings))
	}
	return min(1, mean)
}

// said shows the judge's result in the form's terms.
func (j *judgeScorer) said(rulings []eval.Ruling, value float64, most string, shown eval.Ruling) string {
	scale, isScore := j.reply.(scoreReply)
	switch {
	case j.byChoice():
		return fmt.Sprintf("%s (%.4g)", most, value)
	case len(rulings) > 1:
		least, largest := math.Inf(1), 0.0
		for _, r := range rulings {
			least, largest = min(least, r.Value), max(largest, r.Value)
		}
		return fmt.Sprintf("%.4g on average of %d (%.4g to %.4g)", value, len(rulings), least, largest)
	case isScore && !scale.isShare():
		return fmt.Sprintf("%.4g (%g of %g to %g)", value, *shown.Score, scale.low, scale.high)
	}
	return fmt.Sprintf("%.4g", value)
}

// majority is the most frequent choice; of several, the one with the least value.
func majority(rulings []eval.Ruling) string {
	counts := map[string]int{}
	for _, r := range rulings {
		counts[r.Choice]++
	}
	return slices.MaxFunc(rulings, func(a, b eval.Ruling) int {
		return cmp.Or(counts[a.Choice]-counts[b.Choice], cmp.Compare(b.Value, a.Value), cmp.Compare(b.Choice, a.Choice))
	}).Choice
}

// agreement is the share of pairs of rulings with the same choice, nil when there are no pairs.
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
