package suite

import (
	"cmp"
	"math"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// product multiplies numbers that are not negative. It is math.MaxInt where the result would be larger.
func product(factors ...int) int {
	out := 1
	for _, f := range factors {
		if f != 0 && out > math.MaxInt/f {
			return math.MaxInt
		}
		out *= f
	}
	return out
}

// sum adds two numbers that are not negative, up to math.MaxInt.
func sum(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// planned adds trials to those of the suite, and reports whether they are too many.
func (l *loader) planned(at diag.Pos, trials int) (over bool) {
	l.table.planned = sum(l.table.planned, trials)
	if problem, hint := eval.TooManyTrials(l.table.planned, l.opts.MaxTrials); problem != "" && !l.table.over {
		l.table.over = true
		l.diags.Errorf(at, hint, "the suite has %s", problem)
	}
	return l.table.over
}

// Planned returns the number of trials, up to math.MaxInt, those of the earlier version included.
func (s *Suite) Planned() (trials int) {
	for _, version := range s.Versions() {
		trials = sum(trials, version.table.planned)
	}
	return trials
}

// tooMany counts the trials of the cases that are parsed already, before it makes arms and cases of them. It counts what is certain: one
// row of a dataset, one arm where `arms` selects some.
func (l *loader) tooMany() bool {
	var ignored diag.List // everything is read again
	arms, repeats := l.countArms(), l.opts.DefaultRepeats
	for _, root := range l.roots {
		if defaults := root.Get("defaults").WithDiags(&ignored); defaults.IsMapping() {
			m := defaults.Map()
			repeats = cmp.Or(constant(m.Get("repeats")), repeats)
			if m.Has("arms") {
				arms = min(arms, 1)
			}
		}
	}
	for _, root := range l.roots {
		cases := root.Get("cases").WithDiags(&ignored)
		if !cases.IsSequence() {
			continue
		}
		for _, item := range cases.Seq() {
			if !item.IsMapping() {
				continue
			}
			m, of := item.Map(), arms
			if m.Has("arms") {
				of = min(arms, 1)
			}
			n := product(combinations(m), of, cmp.Or(l.opts.Repeats, constant(m.Get("repeats")), repeats, 1))
			if l.planned(item.Pos(), n) {
				return true
			}
		}
	}
	l.table.planned = 0 // definitions are counted exactly
	return false
}

func (l *loader) countArms() (n int) {
	for _, t := range l.Targets {
		for _, p := range l.Prompts {
			if p.Targets.Match(t.Name) {
				n++
			}
		}
	}
	return n
}

// constant returns a number that is no template, 0 for anything else.
func constant(n yaml.Node) int {
	if !n.IsNumber() {
		return 0
	}
	return n.Int(1, MaxRepeats)
}

func combinations(m yaml.Map) int {
	n := 1
	if each := m.Get("each"); each.IsSequence() {
		n = max(1, len(each.Seq()))
	}
	if matrix := m.Get("matrix"); matrix.IsMapping() {
		for e := range matrix.Map().Entries() {
			if e.Value.IsSequence() {
				n = product(n, max(1, len(e.Value.Seq())))
			}
		}
	}
	return n
}

// ahead counts the trials of a definition before its cases are made. It returns how many it counts for each case: none where every row
// of a dataset is one trial.
func (l *checker) ahead(x *expansion) (each int) {
	repeats := cmp.Or(l.opts.Repeats, x.set.repeats, l.opts.DefaultRepeats, 1)
	if slices.ContainsFunc(x.open, func(o templatedSetting) bool { return o.key == "repeats" }) {
		repeats = max(1, l.opts.Repeats)
	}
	each = product(len(x.arms), repeats)
	grid := max(1, len(x.def.grid))
	switch {
	case x.def.rows == nil:
		l.planned(x.def.at, product(each, grid))
	case product(each, grid) <= 1:
		return 0
	default:
		var ignored diag.List // rows are read again
		for range l.selected(x.def.rows, &ignored) {
			if l.planned(x.def.at, product(each, grid)) {
				break
			}
		}
	}
	return each
}
