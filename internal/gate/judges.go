package gate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers/labels"
)

// ApplyIn is Apply, with the judges of the run measured by the labels in a folder, and its nights by the history there.
func ApplyIn(in rundir.Dir, d *journal.Document) {
	MeasureJudges(in, d)
	if readDrift(d); d.Drift == nil {
		JudgeDrift(in, d)
	}
	Apply(d)
}

// MeasureJudges compares the judges of a run with the labels that people gave in a folder, arm by arm, as far as there are
// any. Labels count for one's own suites only.
func MeasureJudges(in rundir.Dir, d *journal.Document) {
	if d.Summary.JudgeRequests.Replies == 0 || d.Running {
		return
	}
	d.Judges = nil
	files := map[string]*labels.File{}
	var answers [][]eval.LabelledAnswer // of each of d.Judges
	for r, err := range d.Trials() {
		if err != nil { // the gate reports what cannot be read
			continue
		}
		file := files[r.Suite]
		if file == nil {
			file = labelsIn(in, d, r.Suite)
			files[r.Suite] = file
		}
		people := peopleOn(file, r)
		for _, of := range judgesOf(r) {
			at := judgeAt(d, r, of, file)
			if at == len(answers) {
				answers = append(answers, nil)
			}
			if people != labels.None && of.measurable {
				answers[at] = append(answers[at], eval.LabelledAnswer{Case: r.CaseID, People: people == labels.Pass, Judge: of.passed})
			}
		}
	}
	for i := range d.Judges {
		if m := &d.Judges[i]; m.Problem == "" {
			m.JudgeFigures = Figures(answers[i])
		}
	}
}

// judgeAt is the place of a judge in d.Judges, which gets it when it is new.
func judgeAt(d *journal.Document, r *eval.Result, of judgedBy, file *labels.File) int {
	at := slices.IndexFunc(d.Judges, func(m eval.MeasuredJudge) bool {
		return m.Suite == r.Suite && m.Arm == r.Arm && m.Scorer == of.scorer && m.Judge == of.judge
	})
	if at >= 0 {
		return at
	}
	one := eval.MeasuredJudge{Suite: r.Suite, Arm: r.Arm, Scorer: of.scorer, Judge: of.judge, Labels: file.Path}
	if err := file.Err(); err != nil {
		one.Problem = err.Error()
	}
	d.Judges = append(d.Judges, one)
	return len(d.Judges) - 1
}

// labelsIn reads the labels of a suite; none for an untrusted suite, whose author may have written them.
func labelsIn(in rundir.Dir, d *journal.Document, suite string) *labels.File {
	if !d.Run.Options().Untrusted {
		if file, err := labels.Read(in.Join("."), suite); err == nil {
			return file
		}
	}
	return &labels.File{}
}

// peopleOn is what most people say of an answer, labels.None if they say nothing or are divided.
func peopleOn(file *labels.File, r *eval.Result) string {
	if key, ok := labels.KeyOf(r); ok {
		return labels.Decide(file.Of(key))
	}
	return labels.None
}

// judgedBy is what a judge made of an answer. One inside any, all or not has no result of its own that labels could measure.
type judgedBy struct {
	scorer, judge      string
	passed, measurable bool
}

func judgesOf(r *eval.Result) (out []judgedBy) {
	for i := range r.Scores {
		if s := &r.Scores[i]; s.Judged != nil {
			out = append(out, judgedBy{cmp.Or(s.Name, s.Scorer), s.Judged.Judge, s.Passed(), true})
		}
	}
	if len(out) > 0 {
		return out
	}
	for i := range r.Judgements {
		one := judgedBy{judge: r.Judgements[i].Judge}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// Figures measure a judge by answers that people labelled. Bounds are lower ones at 95 %, of Gaffke over the means of cases:
// with one answer for each case they are those of Clopper and Pearson.
func Figures(answers []eval.LabelledAnswer) eval.JudgeFigures {
	out := eval.JudgeFigures{Answers: len(answers)}
	agree := func(a eval.LabelledAnswer) bool { return a.People == a.Judge }
	share := func(of func(eval.LabelledAnswer) bool) *eval.BoundedShare {
		means := map[string]*eval.Sum{}
		var names []string
		s := &eval.BoundedShare{}
		for _, a := range answers {
			if !of(a) {
				continue
			}
			if means[a.Case] == nil {
				means[a.Case] = &eval.Sum{}
				names = append(names, a.Case)
			}
			value := 0.0
			if agree(a) {
				value = 1
				s.Part++
			}
			means[a.Case].Add(value)
			s.Of++
		}
		if s.Of == 0 {
			return nil
		}
		var units []float64
		for _, name := range names {
			mean, _ := means[name].Mean()
			units = append(units, mean)
		}
		s.Cases, s.AtLeast = len(units), stats.Gaffke(units, 0, eval.DefaultAlpha)
		return s
	}
	out.Sensitivity = share(func(a eval.LabelledAnswer) bool { return a.People })
	out.Specificity = share(func(a eval.LabelledAnswer) bool { return !a.People })
	all := share(func(eval.LabelledAnswer) bool { return true })
	var people, judge []int
	for _, a := range answers {
		people, judge = append(people, number(a.People)), append(judge, number(a.Judge))
	}
	if kappa, ok := stats.CohenKappa(people, judge); ok {
		out.Kappa = &eval.BoundedValue{Value: kappa.Value, AtLeast: kappa.Of(all.AtLeast)}
	}
	return out
}

// judgesOn are the judges of an arm that some metric depends on: whether a case passes depends on all.
func judgesOn(d *journal.Document, suite, arm string, metrics ...string) (out []eval.MeasuredJudge) {
	for _, m := range d.Judges {
		if m.Suite == suite && m.Arm == arm && len(metrics) > 0 &&
			(m.Scorer == "" || slices.Contains(metrics, eval.MetricPass) || slices.Contains(metrics, m.Scorer)) {
			out = append(out, m)
		}
	}
	return out
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// judges applies the rules about judges, to each judge on each arm. A judge that nobody has measured is like one that is not
// good enough: what it says is no verdict.
func (r *rulings) judges(g *eval.JudgesRule) {
	found := false
	for i := range r.doc.Judges {
		m := &r.doc.Judges[i]
		if m.Suite != r.suite.Name {
			continue
		}
		found = true
		for _, one := range g.Least() {
			rule := journal.GateRule{RuleName: journal.RuleJudges(one.Name), Arm: m.Arm, Limit: *one.Min, Why: m.Words()}
			if bound := m.Bound(one.Name); bound != nil && m.Problem == "" {
				rule.Found = journal.RuleValue(*bound)
				if *bound >= *one.Min-slack {
					rule.Standing = journal.RuleHolds
					r.add(rule, eval.CodeOK)
					continue
				}
			}
			r.add(rule, eval.CodeIncomplete)
		}
	}
	if !found {
		for _, one := range g.Least() {
			r.add(journal.GateRule{
				RuleName: journal.RuleJudges(one.Name), Limit: *one.Min,
				Why: fmt.Sprintf("no judge has judged an answer of %s", r.suite.Name),
			}, eval.CodeIncomplete)
		}
	}
}
