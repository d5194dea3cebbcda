package reports

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// Limits for failures; the rest is counted.
const (
	maxGroups   = 8    // for failures, and for errors
	maxExamples = 4    // per group: the shortest, one fewer if others are counted
	maxKnown    = 1000 // groups kept in memory: reasons that are all different never merge
	maxSingles  = 3    // groups of one case with the same scorers that are not yet merged into one
	maxDiff     = 6    // lines
)

// reasonGroup collects trials that failed, or could not be scored, for the same reason.
type reasonGroup struct {
	trouble
	reason        string // of its first trial
	varies        []bool // which particular parts differ between its trials
	many          bool   // all reasons differ
	trials, cases int
	place         int // of its first trial
	lastCase      string
	examples      []example // the shortest, in plan order
}

// example is a case that failed for the same reason in the same words, on one or several arms.
type example struct {
	group  *reasonGroup
	label  string // label of the case
	name   string // name of the case
	arms   []string
	times  int // number of trials
	repeat int // of the first trial
	place  int // of the first trial
	reason string
}

// reasons shows why trials failed, group by group, and then why others could not be scored.
func (t *table) reasons() error {
	t.help = newRemedies(&t.d.Run)
	g := grouping{t: t, byReason: map[string]*reasonGroup{}, left: map[eval.Outcome]int{}}
	for row := range t.d.Rows() {
		if err := g.row(row); err != nil {
			return err
		}
	}
	for _, outcome := range []eval.Outcome{eval.Fail, eval.Err} {
		if err := t.groups(g.of(outcome), outcome, g.left[outcome]); err != nil {
			return err
		}
	}
	return nil
}

// groups shows the first groups of an outcome, and counts the trials of the rest and of no group.
func (t *table) groups(all []*reasonGroup, outcome eval.Outcome, left int) error {
	shown, before := min(len(all), maxGroups), t.out.Len()
	for _, one := range all[:shown] {
		if err := t.group(one); err != nil {
			return err
		}
	}
	for _, one := range all[shown:] {
		left += one.trials
	}
	if left > 0 {
		noun := map[eval.Outcome]string{eval.Fail: "failure", eval.Err: "error"}[outcome]
		t.line("... and %s for other reasons", diag.Count(left, noun))
	}
	if t.out.Len() > before {
		t.out.WriteString("\n")
	}
	return nil
}

type grouping struct {
	t        *table
	byReason map[string]*reasonGroup
	all      []*reasonGroup
	left     map[eval.Outcome]int // trials in no group
}

// row adds the trials of a case. Trials with the same words are one example.
func (g *grouping) row(row journal.Row) error {
	if row.Counts.Fail+row.Counts.Error == 0 {
		return nil
	}
	quarantined := row.Quarantined()
	var found []*example
	for a, err := range g.t.d.Accounts(row) {
		if err != nil {
			return err
		}
		g.t.help.note(a)
		who, reason := said(a)
		several := a.Outcome == eval.Fail && len(a.Scores) > 1
		one := g.group(a, trouble{a.Outcome, quarantined, g.t.standing(row, a), who, several}, reason)
		if one == nil {
			g.left[a.Outcome]++
			continue
		}
		at := slices.IndexFunc(found, func(e *example) bool { return e.group == one && e.reason == reason })
		if at < 0 {
			at = len(found)
			found = append(found, &example{
				group: one, label: g.t.label(row), name: row.Case, repeat: a.Repeat, place: a.Place, reason: reason,
			})
		}
		found[at].count(a.Arm)
	}
	for _, e := range found {
		e.group.add(e)
	}
	return nil
}

func (e *example) count(arm string) {
	e.times++
	if !slices.Contains(e.arms, arm) {
		e.arms = append(e.arms, arm)
	}
}

// standing is how the case of a failed trial did in the baseline.
func (t *table) standing(row journal.Row, a *journal.Failing) overview.Standing {
	if a.Outcome != eval.Fail {
		return ""
	}
	return t.failures.Of(row.Suite, a.Arm, row.Case)
}

// trouble is what the trials of a group share, apart from the reason.
type trouble struct {
	outcome     eval.Outcome
	quarantined bool
	standing    overview.Standing
	who         string // failed scorers, or the kind of error
	several     bool   // whether who names several scorers
}

// group is the group of a trial, nil when there are too many.
func (g *grouping) group(a *journal.Failing, k trouble, reason string) *reasonGroup {
	key := fmt.Sprintf("%v\x00%s", k, general(reason))
	one := g.byReason[key]
	if one == nil && len(g.all) < maxKnown {
		parts := particular.FindAllStringIndex(reason, -1)
		one = &reasonGroup{trouble: k, reason: reason, varies: make([]bool, len(parts)), place: a.Place}
		g.byReason[key] = one
		g.all = append(g.all, one)
	}
	return one
}

func (o *reasonGroup) add(e *example) {
	if e.reason != o.reason {
		mine := particular.FindAllString(o.reason, -1)
		for i, part := range particular.FindAllString(e.reason, -1) { // as many, since the text between them is equal
			o.varies[i] = o.varies[i] || part != mine[i]
		}
	}
	o.trials += e.times
	if o.lastCase != e.label || o.cases == 0 {
		o.cases++
		o.lastCase = e.label
	}
	o.keep(*e)
}

// keep keeps the shortest examples; of equal lengths, the earlier ones.
func (o *reasonGroup) keep(e example) {
	o.examples = append(o.examples, e)
	if len(o.examples) > maxExamples {
		o.dropLongest()
	}
}

func (o *reasonGroup) dropLongest() {
	longest := 0
	for i := range o.examples {
		if len(o.examples[i].reason) >= len(o.examples[longest].reason) {
			longest = i
		}
	}
	o.examples = slices.Delete(o.examples, longest, longest+1)
}

// of lists the groups of an outcome: new failures first, then by number of trials, with quarantined ones last.
func (g *grouping) of(outcome eval.Outcome) []*reasonGroup {
	singles := map[trouble]int{}
	for _, one := range g.all {
		if one.outcome == outcome && one.cases == 1 {
			singles[one.trouble]++
		}
	}
	merged := map[trouble]*reasonGroup{}
	var out []*reasonGroup
	for _, one := range g.all {
		k := one.trouble
		switch {
		case one.outcome != outcome:
		case one.cases > 1 || singles[k] <= maxSingles:
			out = append(out, one)
		case merged[k] == nil:
			one.many = true
			merged[k] = one
			out = append(out, one)
		default:
			merged[k].merge(one)
		}
	}
	slices.SortStableFunc(out, inOrder)
	return out
}

func (o *reasonGroup) merge(one *reasonGroup) {
	o.trials += one.trials
	if o.lastCase != one.lastCase {
		o.cases, o.lastCase = o.cases+1, one.lastCase
	}
	for _, e := range one.examples {
		o.keep(e)
	}
}

func inOrder(a, b *reasonGroup) int {
	if a.quarantined != b.quarantined {
		return map[bool]int{true: 1, false: -1}[a.quarantined]
	}
	return cmp.Or(cmp.Compare(a.standing.Rank(), b.standing.Rank()), cmp.Compare(b.trials, a.trials), cmp.Compare(a.place, b.place))
}

func said(a *journal.Failing) (who, reason string) {
	if a.Outcome == eval.Err {
		r := eval.Result{Ending: eval.Errored{Error: a.Error}}
		if a.Error != nil {
			who = string(a.Error.Kind)
		}
		return who, text.CutText(text.Why(&r), maxSaid)
	}
	var names []string
	for _, s := range a.Scores {
		names = append(names, text.ScoreName(s))
	}
	return strings.Join(names, ", "), text.CutText(text.Why(&eval.Result{Ending: eval.Failed{}, Scores: a.Scores}), maxSaid)
}

// maxSaid bounds the part of a reason that is compared, in bytes.
const maxSaid = 2000

// particular matches the parts of a reason that vary between cases: quoted texts, cut or not, and numbers. A reason may come
// from a custom scorer or a service, so that its text is all there is.
var particular = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?:\.\.\.)?|[0-9]+(?:\.[0-9]+)?`)

// general is a reason without its particular parts.
func general(reason string) string {
	return particular.ReplaceAllStringFunc(reason, func(part string) string {
		if strings.HasPrefix(part, `"`) {
			return `"..."`
		}
		return "N"
	})
}

// label names a case, with its suite if there are several.
func (t *table) label(row journal.Row) string {
	if len(t.d.Summary.Suites) > 1 {
		return diag.CleanLine(row.Suite + ": " + row.Case)
	}
	return diag.CleanLine(row.Case)
}

// on names the arms of an example, and counts its repeats.
func (e *example) on() string {
	arms := diag.CleanLine(text.SomeNames(e.arms, maxNames))
	switch {
	case e.times > len(e.arms):
		arms += fmt.Sprintf(" (%d trials)", e.times)
	case e.repeat > 1:
		arms += fmt.Sprintf(" (repeat %d)", e.repeat)
	}
	return arms
}

func (t *table) group(o *reasonGroup) error {
	word := t.strong(text.ToneOf(o.outcome), map[eval.Outcome]string{eval.Fail: "FAIL", eval.Err: "ERROR"}[o.outcome])
	if o.standing != "" {
		word += " (" + string(o.standing) + ")"
	}
	note := ""
	if o.quarantined {
		note = ", in quarantine"
	}
	if t.show == "" && (o.outcome == eval.Fail || !o.quarantined) {
		t.show = o.examples[0].name
	}
	listed := t.o.Listed && o.outcome == eval.Fail
	if o.trials == o.examples[0].times { // it is the only one
		if listed && o.standing == "" {
			return nil
		}
		t.line("%s %s on %s%s", word, o.examples[0].label, o.examples[0].on(), note)
		if listed {
			return nil
		}
		err := t.inFull(&o.examples[0])
		t.sinceBaseline(&o.examples[0])
		return err
	}
	t.line("%s %s of %s%s", word, diag.Count(o.trials, "trial"), diag.Count(o.cases, "case"), note)
	t.wrapped("     ", o.words())
	if !listed {
		t.examples(o)
	}
	return nil
}

// examples lists the examples of a group, and counts its other cases.
func (t *table) examples(o *reasonGroup) {
	shown := o.labels()
	if len(shown) < o.cases && len(o.examples) == maxExamples { // the line that counts the others takes the place of one
		o.dropLongest()
		shown = o.labels()
	}
	for i := range o.examples {
		e := &o.examples[i]
		text := e.label + " on " + e.on()
		if own := o.own(e); own != "" {
			text += ": " + own
		}
		t.wrapped("       ", text)
	}
	if more := o.cases - len(shown); more > 0 {
		t.line("       ... and %s", diag.Count(more, "more case"))
	}
	t.sinceBaseline(&o.examples[0])
}

func (o *reasonGroup) labels() map[string]bool {
	labels := map[string]bool{}
	for i := range o.examples {
		labels[o.examples[i].label] = true
	}
	return labels
}

// words is the reason of a group without the parts that vary.
func (o *reasonGroup) words() string {
	if o.many {
		return o.who + ": a different reason for each"
	}
	at := -1
	return particular.ReplaceAllStringFunc(o.reason, func(part string) string {
		if at++; o.varies[at] {
			return general(part)
		}
		return part
	})
}

// own is what an example adds to the words of its group: the parts that vary or, if several parts of one scorer
// vary, its whole reason.
func (o *reasonGroup) own(e *example) string {
	if o.many {
		return e.reason
	}
	var parts []string
	for i, part := range particular.FindAllString(e.reason, -1) {
		if o.varies[i] {
			parts = append(parts, part)
		}
	}
	if len(parts) > 1 && !o.several {
		return strings.TrimPrefix(e.reason, o.who+": ")
	}
	return strings.Join(parts, ", ")
}

// inFull shows what was wrong with one answer: each score with its reason, the diff, and the answer unless a
// reason quotes it.
func (t *table) inFull(e *example) error {
	r, err := t.d.Trial(e.place)
	if err != nil {
		return err
	}
	if r.Outcome() == eval.Err {
		t.wrapped("     ", text.Why(r))
		return nil
	}
	quoted := false
	for _, s := range r.Scores {
		if !s.Passed() {
			quoted = t.failure(&s) || quoted
		}
	}
	if r.Response == nil || quoted {
		return nil
	}
	if answer := text.Answer(r.Response); answer != "" {
		t.line("     the answer: %s", diag.CleanLine(text.CutText(answer, 4*t.o.Width)))
	}
	return nil
}

// failure shows a failed score, and reports whether it quotes the answer: so it seems where its reason, which any scorer may
// have written, has a quotation mark.
func (t *table) failure(s *eval.Score) (quotes bool) {
	t.wrapped("     ", text.ScoreName(*s)+": "+s.Reason)
	if s.Diff != "" && !strings.Contains(s.Reason, s.Diff) {
		t.differences(s.Diff)
	}
	return s.Diff != "" || strings.Contains(s.Reason, `"`)
}

// differences shows the beginning of a diff; for texts of several lines, only lines that differ.
func (t *table) differences(diff string) {
	lines := strings.Split(text.CutText(diff, 1<<16), "\n")
	if want, got, ok := eval.CutTextDiff(diff); ok {
		lines = answerDiff(want, got)
	}
	for i, line := range lines {
		if i == maxDiff {
			t.line("       ... and %s", diag.Count(len(lines)-i, "more line"))
			return
		}
		t.line(
			"       %s",
			displaywidth.TruncateString(diag.CleanLine(text.CutText(line, 4*t.o.Width)), max(20, t.o.Width-7), "..."),
		)
	}
}
