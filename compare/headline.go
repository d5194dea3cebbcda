package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// Finding says what happened, on an arm or on the worst arm of a comparison. Describe writes it. Programs read State, Metric and
// Headline; the rest is for people.
type Finding struct {
	// Headline is Words, the verdict in capitals, and Sentence on one line.
	Headline string `json:"headline,omitempty"`
	State    State  `json:"state,omitempty"`
	// Words are the state with its margin, such as "Not worse by more than 5 points, but worse".
	Words string `json:"words,omitempty"`
	// Sentence says what changed and by how much, or why there is no verdict.
	Sentence string `json:"sentence,omitempty"`
	// Next says what a reader does next, such as "add about 263 cases and run again"; "" when nothing is left to do.
	Next string `json:"next,omitempty"`
	// Metric names the metric that the sentence is about; "" when nothing could be compared.
	Metric string `json:"metric,omitempty"`
}

// State is a verdict, or one of the states below: what a comparison came to, for a reader.
type State string

// States that are no verdict of their own.
const (
	NotWorseButWorse State = "not_worse_but_worse" // a loss that the margin allows
	NoMargin         State = "no_margin"
	NotCompared      State = "not_compared"
)

// Describe writes what was found on each arm and in the whole comparison. Call it after the last change of a verdict.
func (c *Comparison) Describe() {
	for i := range c.Arms {
		a := &c.Arms[i]
		a.Finding = c.sides(a).finding(a)
	}
	c.Finding, c.Worst, c.Coverage = Finding{}, 0, c.leastCoverage()
	worst := c.worst()
	switch {
	case c.Why != "":
		c.Finding = found(State(eval.Invalid), "", "", c.Why)
	case worst >= 0:
		c.Worst, c.Finding = worst, c.Arms[worst].Finding
		others := c.others(worst)
		c.Headline, c.Sentence = c.Headline+others, c.Sentence+others
	}
}

// found is the finding of a state; more follows its word, and where is " on ARM" or "".
func found(state State, more, where, sentence string) Finding {
	word, colon := said[state], ": "
	if state == State(eval.Regressed) || state == State(eval.Improved) { // whose sentences say of which arm
		colon = "  "
	}
	return Finding{
		Headline: strings.ToUpper(word) + more + where + colon + sentence, State: state,
		Words: strings.ToUpper(word[:1]) + word[1:] + more, Sentence: sentence,
	}
}

// Coverage says how many cases of the suite are compared, and what selected them; "" when all are.
func (p *Pairing) Coverage() string {
	text := ""
	if of := p.Of + p.Unselected; p.Compared < of || p.Selection != "" {
		text = fmt.Sprintf("compared %d of %s", p.Compared, diag.Count(of, "case"))
	}
	if p.Selection != "" {
		text += ", selected by " + p.Selection
	}
	if p.UnknownCoverage {
		text = cmp.Or(text, "compared "+diag.Count(p.Compared, "case")) + ", coverage unknown: an earlier version wrote the baseline"
	}
	return text
}

// leastCoverage is that of the arm that compares the least share of its cases; "" when all arms compare all.
func (c *Comparison) leastCoverage() string {
	text, least := "", math.Inf(1)
	for i := range c.Arms {
		p := &c.Arms[i].Cases
		words, share := p.Coverage(), float64(p.Compared)/float64(max(1, p.Of+p.Unselected))
		if words != "" && share < least {
			text, least = words, share
		}
	}
	return text
}

// AllNotes lists the notes of the comparison and of its arms, each once. A note that not all of several arms have names its arm.
func (c *Comparison) AllNotes() []string {
	out := slices.Clone(c.Notes)
	for i := range c.Arms {
		a := &c.Arms[i]
		for _, note := range a.Notes {
			lacks := func(o ArmComparison) bool { return !slices.Contains(o.Notes, note) }
			if slices.ContainsFunc(c.Arms, lacks) {
				note = c.sides(a).head + ": " + note
			}
			if !slices.Contains(out, note) {
				out = append(out, note)
			}
		}
	}
	return out
}

// worst is the index of the arm with the worst verdict and, among these, with the largest loss; -1 without arms.
func (c *Comparison) worst() int {
	worst := -1
	for i := range c.Arms {
		a := &c.Arms[i]
		if worst < 0 || cmp.Or(cmp.Compare(slices.Index(order, a.Verdict), slices.Index(order, c.Arms[worst].Verdict)),
			cmp.Compare(a.severity(), c.Arms[worst].severity())) > 0 {
			worst = i
		}
	}
	return worst
}

// others counts the verdicts on the other arms, worst first; "" when there are none.
func (c *Comparison) others(worst int) string {
	var parts []string
	for _, v := range slices.Backward(order) {
		n := 0
		for i := range c.Arms {
			if i != worst && c.Arms[i].Verdict == v {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, inSentence(v)))
		}
		if n > 0 && n == len(c.Arms)-1 {
			parts = []string{inSentence(v)}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s: %s", diag.Count(len(c.Arms)-1, "more arm"), strings.Join(parts, ", "))
}

// said are states in words.
var said = map[State]string{
	State(eval.Improved): "improved", State(eval.NotWorse): "not worse", NotWorseButWorse: "not worse",
	State(eval.Inconclusive): "cannot tell", State(eval.Regressed): "regressed", State(eval.Invalid): "invalid",
	NoMargin: "no verdict", NotCompared: "not compared",
}

func inSentence(v eval.Verdict) string { return cmp.Or(said[State(v)], "without a verdict") }

// sides are the names of both sides of an arm's comparison in a sentence.
type sides struct {
	head, base string
	where      string // " on ARM" where a sentence without names needs one, else ""
}

func (c *Comparison) sides(a *ArmComparison) sides {
	s := sides{head: a.HeadArm, base: "in " + c.Base.called()}
	if len(c.Arms) > 1 {
		s.where = " on " + a.HeadArm
	}
	if slices.ContainsFunc(c.Arms, func(o ArmComparison) bool { return o.Suite != a.Suite }) {
		s.head = a.Suite + " on " + a.HeadArm
		s.where += " of " + a.Suite
	}
	switch {
	case a.BaseArm == a.HeadArm || a.BaseArm == "":
	case c.Base.Run == c.Head.Run && c.Base.Run != "":
		s.base = a.BaseArm
	default:
		s.base = a.BaseArm + " " + s.base
	}
	return s
}

// called names a side in a sentence.
func (c *Compared) called() string {
	if name := cmp.Or(c.Name, c.Run); name != "" && !strings.Contains(name, ", ") { // several baselines
		return name
	}
	return "the baseline"
}

func (s sides) finding(a *ArmComparison) Finding {
	m := a.decisive()
	switch {
	case a.NotCompared != "" && a.Why == "":
		return found(NotCompared, "", s.where, a.NotCompared)
	case a.Why != "":
		return found(State(eval.Invalid), "", s.where, a.Why)
	case m == nil:
		return found(State(eval.Invalid), "", s.where, "nothing could be compared")
	case m.N == 0:
		return found(State(eval.Invalid), "", s.where, cmp.Or(m.Advice, "no case has "+m.Name+" on both sides"))
	}
	w := wording{sides: s, MetricComparison: m, arm: a}
	f := w.found(w.others())
	f.Metric, f.Next = m.Name, w.next(f.State)
	return f
}

// decisive is the metric that the verdict of an arm comes from: among several, the one with the largest loss. It is nil when
// there is none.
func (a *ArmComparison) decisive() (worst *MetricComparison) {
	for i := range a.Metrics {
		m := &a.Metrics[i]
		switch {
		case m.Verdict != a.Verdict:
		case a.Verdict == "" && worst != nil: // the first is the pass rate
			if m.Name == eval.MetricPreference { // which was asked for
				worst = m
			}
		case worst == nil || worst.Advisory && !m.Advisory || worst.Advisory == m.Advisory && m.severity() > worst.severity():
			worst = m
		}
	}
	return worst
}

func (a *ArmComparison) severity() float64 {
	if m := a.decisive(); m != nil {
		return m.severity()
	}
	return 0
}

// loss is how much worse the metric is; negative when it is better. For ratios it is the rise.
func (m *MetricComparison) loss() float64 {
	switch {
	case eval.IsRatio(m.Name):
		return m.Estimate - 1
	case m.Name == eval.MetricBlocked:
		return m.Estimate
	}
	return -m.Estimate
}

// severity is the loss in margins.
func (m *MetricComparison) severity() float64 { return m.loss() / cmp.Or(m.allowed(), 1) }

// allowed is the margin, 0 without one. For ratios it is the rise that is allowed.
func (m *MetricComparison) allowed() float64 {
	switch {
	case m.Margin == nil:
		return 0
	case eval.IsRatio(m.Name):
		return *m.Margin - 1
	}
	return *m.Margin
}

// wording says what happened to a metric of an arm.
type wording struct {
	sides
	*MetricComparison
	arm *ArmComparison
}

// found is what happened, and others the other metrics.
func (w *wording) found(others string) Finding {
	switch w.Verdict {
	case eval.Regressed, eval.Improved:
		return found(State(w.Verdict), "", "", w.compared(w.Verdict == eval.Regressed)+": "+w.changed("")+others)
	case eval.NotWorse:
		by := " by more than " + w.size(w.allowed())
		if slices.Contains(w.Cautions, worseWithinMargin) {
			return found(NotWorseButWorse, by+", but worse", "", w.changed(w.where)+others)
		}
		return found(State(eval.NotWorse), by, "", w.changed(w.where)+others)
	case eval.Inconclusive:
		return found(State(eval.Inconclusive), "", "", w.unknown()+others)
	}
	return found(NoMargin, " without a margin", "", w.changed(w.where)+others)
}

// next says what a reader does next; "" when nothing is left to do.
func (w *wording) next(state State) string {
	worse := 0
	for i := range w.arm.Flips {
		if w.arm.Flips[i].Worse() {
			worse++
		}
	}
	switch {
	case state == NoMargin:
		return "state a margin for a verdict: --margin 0.05 lets the pass rate be 5 points lower"
	case state == State(eval.Inconclusive) && w.MoreCases > 0:
		return fmt.Sprintf("add about %s and run again", diag.Count(w.MoreCases, "case"))
	case state == State(eval.Inconclusive) && w.Repeats > 0:
		return fmt.Sprintf("run each case %d times", w.Repeats)
	case worse > 0 && state != State(eval.Improved):
		return fmt.Sprintf("read the %s that got worse", diag.Count(worse, "case"))
	}
	return ""
}

func (w *wording) compared(worse bool) string {
	if w.Name == eval.MetricPreference {
		if worse {
			return fmt.Sprintf("the judge prefers %s to %s", w.answers(), w.head)
		}
		return fmt.Sprintf("the judge prefers %s to %s", w.head, w.answers())
	}
	words := map[string][2]string{
		eval.MetricPass:    {"is better than", "is worse than"},
		eval.MetricBlocked: {"is blocked less often than", "is blocked more often than"},
		eval.MetricLatency: {"is faster than", "is slower than"}, eval.MetricTokens: {"takes fewer tokens than", "takes more tokens than"},
	}[w.Name]
	if words[0] == "" {
		words = [2]string{"has a better " + w.Name + " than", "has a worse " + w.Name + " than"}
	}
	verb := words[0]
	if worse {
		verb = words[1]
	}
	return w.head + " " + verb + " " + w.base
}

// answers names base as one of two sides.
func (w *wording) answers() string {
	if strings.HasPrefix(w.base, "in ") {
		return "the answers " + w.base
	}
	return w.base
}

// others names the metrics with the same verdict, and those that improved where others did not.
func (w *wording) others() string {
	out := ""
	if names := w.withVerdict(w.Verdict); names != "" {
		out = fmt.Sprintf("; also %s: %s", inSentence(w.Verdict), names)
	}
	if names := w.withVerdict(eval.Improved); w.Verdict == eval.NotWorse && names != "" {
		out += "; improved: " + names
	}
	return out
}

// withVerdict lists the other metrics with a verdict, "" without any.
func (w *wording) withVerdict(v eval.Verdict) string {
	var names []string
	for i := range w.arm.Metrics {
		if m := &w.arm.Metrics[i]; m != w.MetricComparison && m.Gated && m.Verdict == v {
			names = append(names, m.Name)
		}
	}
	if more := len(names) - maxOthers; more > 0 {
		names = append(names[:maxOthers], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// maxOthers is the most metrics that a headline names besides the decisive one.
const maxOthers = 3

// isRate reports whether the metric is a share, which people read in percent.
func (w *wording) isRate() bool {
	return w.Name == eval.MetricPass || w.Name == eval.MetricBlocked || w.Name == eval.MetricPreference
}

// size is a difference of the metric without its sign.
func (w *wording) size(x float64) string {
	switch {
	case eval.IsRatio(w.Name):
		return short(100*x) + " % in " + w.Name
	case w.isRate():
		return short(100*x) + " points" + w.in()
	}
	return short(x) + w.in()
}

// in names the metric, unless it is the pass rate.
func (w *wording) in() string {
	switch w.Name {
	case eval.MetricPass:
		return ""
	case eval.MetricPreference:
		return " in preferences"
	}
	return " in " + w.Name
}

// changed says how many cases got worse and better, and by how much the metric changed.
func (w *wording) changed(where string) string {
	if eval.IsRatio(w.Name) {
		return fmt.Sprintf("%s %s%s over %s (%s)", w.Name, w.step(w.Estimate), where, w.cases(), w.reach())
	}
	if w.Estimate == 0 && w.Regressed+w.Gained == 0 {
		return w.counts(where)
	}
	return fmt.Sprintf("%s (%s)", w.counts(where), w.reach())
}

// counts says how many cases got worse and better.
func (w *wording) counts(where string) string {
	worse, better := w.Regressed, w.Gained
	gotWorse, gotBetter := [2]string{"got worse", "worse"}, [2]string{"got better", "better"}
	if w.Name == eval.MetricBlocked {
		gotWorse, gotBetter = [2]string{"are blocked more often", "more often"}, [2]string{"are blocked less often", "less often"}
	}
	switch {
	case w.Name == eval.MetricPreference:
		return fmt.Sprintf("%s in %d of %s, %s in %d", w.answers(), worse, w.cases(), w.head, better)
	case worse+better == 0 && w.counted() > 0:
		return fmt.Sprintf("none of %s changed%s", w.cases(), where)
	case worse == 0:
		return fmt.Sprintf("%d of %s %s%s, none %s", better, w.cases(), gotBetter[0], where, gotWorse[1])
	}
	return fmt.Sprintf("%d of %s %s%s, %s %s", worse, w.cases(), gotWorse[0], where, orNone(better), gotBetter[1])
}

// counted is the number of compared cases; 0 where the metric belongs to no single case.
func (w *wording) counted() int {
	if scored := w.arm.Cases.Paired - len(w.arm.Cases.Unscored); w.grouped() {
		return scored
	}
	return w.N
}

// grouped reports whether some cases are not independent of each other.
func (w *wording) grouped() bool {
	p := &w.arm.Cases
	return p.Units > 0 && p.Units < p.Paired-len(p.Unscored)
}

func (w *wording) cases() string {
	out := diag.Count(w.counted(), "case")
	if w.grouped() {
		out += fmt.Sprintf(" (%s)", diag.Count(w.N, "independent group"))
	}
	return out
}

// reach is the change of the metric, with its interval where it has one verdict.
func (w *wording) reach() string {
	var i [2]float64
	if w.Interval != nil {
		i = *w.Interval
	}
	one := func(x float64) string { return short(100 * math.Abs(x)) }
	unit := " points"
	if !w.isRate() {
		one, unit = func(x float64) string { return short(math.Abs(x)) }, ""
	}
	switch decided := w.Verdict == eval.Regressed || w.Verdict == eval.Improved; {
	case w.Name == eval.MetricPreference:
		return fmt.Sprintf("%s of the preferences are for %s, interval %s to %s",
			percent(w.Head, 1), w.head, percent(w.Base+i[0], 1), percent(w.Base+i[1], 1))
	case eval.IsRatio(w.Name) && w.Interval == nil:
		return "interval unknown"
	case eval.IsRatio(w.Name):
		return fmt.Sprintf("%s to %s", w.step(i[0]), w.step(i[1]))
	case decided && i[0]*i[1] >= 0 && i[0] != i[1]:
		lo, hi := i[0], i[1]
		if hi <= 0 {
			lo, hi = hi, lo
		}
		return fmt.Sprintf("%s, by %s to %s%s", w.levels(), one(lo), one(hi), unit)
	case decided, w.Verdict == "":
		return w.levels()
	}
	return signed(w.Estimate, one) + unit
}

// levels are the metric on both sides, with as many digits as it takes to see that they differ.
func (w *wording) levels() string {
	base, head := fmt.Sprintf("%.3g", w.Base), fmt.Sprintf("%.3g", w.Head)
	for step := 1.0; w.isRate() && step >= 0.1; step /= 10 {
		if base, head = percent(w.Base, step), percent(w.Head, step); base != head {
			break
		}
	}
	return base + " to " + head
}

// step is a ratio as a rise or a fall.
func (*wording) step(ratio float64) string {
	return signed(ratio-1, func(x float64) string { return short(100 * math.Abs(x)) }) + " %"
}

func (w *wording) unknown() string {
	cases := diag.Count(w.counted(), "case")
	if w.grouped() {
		cases = diag.Count(w.N, "independent group") + " of cases"
	}
	switch {
	case w.unseen != "" && w.Advice == w.unseen:
		return w.Advice
	case w.arm.EarlyVerdict != nil && w.arm.EarlyVerdict.Verdict == eval.Inconclusive:
		return "the run stopped when its pass rate could not reach the gate's any more" + w.where
	case eval.IsRatio(w.Name):
		out := fmt.Sprintf("%s cannot show that the rise is at most %s%s (%s)", cases, w.size(w.allowed()), w.where, w.reach())
		if w.N < w.Needs {
			out += fmt.Sprintf("; it takes %d even if none differs", w.Needs)
		}
		return out
	case w.Pairs > 0 && w.loss() < w.allowed():
		could := "more could"
		if w.Repeats > 0 {
			could = fmt.Sprintf("about %d could", w.Repeats)
		}
		return fmt.Sprintf("%s of each case cannot show a loss of %s%s; %s",
			diag.Count(w.Pairs/w.N, "repeat"), w.size(w.allowed()), w.where, could)
	case w.MoreCases > 0:
		out := fmt.Sprintf("%s cannot show a loss of %s%s; about %d could", cases, w.size(w.allowed()), w.where, w.N+w.MoreCases)
		if w.Name == eval.MetricPreference {
			out += "; so far " + w.counts("")
		} else if w.Regressed+w.Gained > 0 {
			out += fmt.Sprintf("; so far %s got worse, %s better", orNone(w.Regressed), orNone(w.Gained))
		}
		return out
	case w.loss() >= w.allowed():
		return fmt.Sprintf("%s, which can be chance, or a loss of %s or more", w.changed(w.where), w.size(w.allowed()))
	}
	return w.changed(w.where) + ": " + cmp.Or(w.Advice, "too few cases to decide")
}

// short is a number as people write it: two digits, or all that are left of the point.
func short(x float64) string {
	switch {
	case math.Abs(x) >= 10:
		return strconv.FormatFloat(math.Round(x), 'f', -1, 64)
	case math.Abs(x) >= 1:
		return strconv.FormatFloat(math.Round(10*x)/10, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// percent is a share in percent, as a whole number unless that would be 0 or 100 for what is not.
func percent(share, step float64) string {
	x := math.Round(100*share/step) * step
	if whole := x <= 0 || x >= 100; whole && share > 0 && share < 1 {
		x = min(max(math.Round(1000*share)/10, 0.1), 99.9)
	}
	return strconv.FormatFloat(x, 'f', -1, 64) + " %"
}

func signed(x float64, size func(float64) string) string {
	text := size(x)
	switch {
	case text == "0":
		return text
	case x < 0:
		return "-" + text
	}
	return "+" + text
}

func orNone(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}
