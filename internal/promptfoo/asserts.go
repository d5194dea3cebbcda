package promptfoo

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/diag"
)

// change is a transform of an answer. Code goes to a file; a transform that only picks a part becomes a
// `select`.
type change struct {
	file   string
	choice yamlValue
	left   yamlValue // a `select`, where the code only removes parts, for checks that are in no shim
	lost   string    // why it has no counterpart, "" if it has one
}

// scope has what assertions inherit from the test and from sets around them.
type scope struct {
	changes []change
	judge   *string  // nil for promptfoo's default judge, "" for one without a counterpart
	names   *names   // of the scorers in this list
	nested  bool     // in an assert-set
	weighed bool     // a threshold weighs the scores: those that are 0 or 1 in promptfoo must be so here
	mixed   bool     // it does in some cases alone
	share   *float64 // what a weight of 1 in a set is to the case, nil outside of sets
	prompt  src      // of judges, instead of their own
	typed   []string // variables of the test that are numbers or booleans
	about   src      // the `metadata` of the test
}

type assertion struct {
	src
	base string // its type without `not-`
	not  bool
	in   *scope
}

type scorer struct {
	kind    string
	value   yamlValue
	options []keyValue
	not     bool
	plain   bool // it does not look at the text
	note    string
}

// assertKeys are keys of assertions that promptfoo knows and no reader here handles.
var assertKeys = []string{
	"config",
	"rubricPrompt",
	"provider",
	"contextTransform",
	"transform",
	"weight",
	"metric",
	"threshold",
	"value",
}

var setKeys = []string{"assert", "config", "metric", "threshold", "type", "weight"}

func (c *converter) assertions(to *sequence, s src, sc *scope) {
	for _, item := range s.items() {
		if item.IsNull() && item.path == s.path { // a key without a value
			break
		}
		if !c.fates.spend(1) {
			return
		}
		switch {
		case item.IsScalar() && strings.HasPrefix(item.text(), "file://"):
			inner := c.opened(item)
			for _, a := range inner {
				c.assertion(to, a, sc)
			}
			if len(inner) == 0 {
				c.lost(to, item, item.text(), cmp.Or(item.note(), "the file has no assertion"))
			}
		case item.IsMapping():
			c.assertion(to, c.resolved(item), sc)
		default:
			c.lost(to, item, item.text(), "expected an assertion")
		}
	}
	s.ok("as `scorers`")
}

// resolved follows a {$ref: "#/..."}. The result has the path of the reference, so that the report names
// it.
func (c *converter) resolved(s src) src {
	ref := s.get("$ref")
	rest, is := strings.CutPrefix(ref.text(), "#/")
	if !is {
		ref.todo("references within the configuration alone are filled in, such as #/NAME; write out what this one names")
		return s
	}
	at := c.top
	for step := range strings.SplitSeq(rest, "/") {
		at = at.get(pointerStep.Replace(step))
	}
	switch {
	case !at.IsMapping():
		ref.todo("there is no %s", ref.text())
		return s
	case !at.get("$ref").IsZero():
		ref.todo("%s is a reference itself; write out what it names", ref.text())
		return s
	}
	ref.ok("filled in")
	at.ok("filled in where it is referred to")
	c.top.get(strings.SplitN(rest, "/", 2)[0]).ok("filled in where it is referred to")
	return src{at.Node, s.path, s.file, s.fates}
}

// pointerStep decodes a step of a JSON Pointer (RFC 6901).
var pointerStep = strings.NewReplacer("~1", "/", "~0", "~")

func (c *converter) assertion(to *sequence, a src, sc *scope) {
	kind := a.get("type").text()
	base, not := strings.CutPrefix(kind, "not-")
	made, todo := (*scorer)(nil), ""
	switch {
	case a.get("$ref").why() != nil:
		todo = a.get("$ref").note()
	case base == "assert-set":
		c.assertionSet(to, a, sc)
		return
	case kind == "":
		todo = "an assertion without a type"
	case wrongWeight(a) != "":
		todo = wrongWeight(a)
	case sc.nested && weightless(a) && c.allKnown(a):
		a.get("weight").differs("left out: with a weight of 0 it cannot fail the set")
		a.rest(assertKeys...)
		return
	default:
		made, todo = c.converted(assertion{a, base, not, sc})
	}
	if made == nil {
		c.lostAssertion(to, a, sc, todo)
		return
	}
	m := made.block()
	var comments []string
	if made.note != "" {
		comments = []string{made.note}
		a.get("type").differs("%s", made.note)
	}
	a.get("type").ok("as `" + made.kind + "`")
	a.get("value").ok("as `" + made.kind + "`")
	a.get("threshold").ok("as `" + made.kind + "`")
	if !sc.nested {
		c.nameAndWeight(m, a, sc)
	}
	a.rest(assertKeys...)
	a.ok("as `" + made.kind + "`")
	to.add(m, comments...)
}

// weightOf returns the weight of an assertion, 1 where it gives none. ok is false for what is no finite number of 0 or more.
func weightOf(a src) (w float64, ok bool) {
	s := a.get("weight")
	if s.IsZero() || s.IsNull() {
		return 1, true
	}
	w, err := strconv.ParseFloat(s.text(), 64) // the text of a YAML number is decimal: 0x2 is 2
	return w, err == nil && w >= 0 && !math.IsInf(w, 1)
}

func weightless(a src) bool {
	w, ok := weightOf(a)
	return ok && w == 0
}

// wrongWeight says what is wrong with the weight of an assertion, "" for a good one.
func wrongWeight(a src) string {
	if _, ok := weightOf(a); ok {
		return ""
	}
	s := a.get("weight")
	written := s.Written()
	if !s.IsScalar() {
		written = compactJSON(s)
	}
	return "a weight is a number of 0 or more, such as 1, and not " + strconv.Quote(written)
}

// lostAssertion makes the trial an error, unless the assertion only shows a score: without a counterpart nothing may pass.
// A type that promptfoo does not know is an error there at any weight.
func (c *converter) lostAssertion(to *sequence, a src, sc *scope, why string) {
	kind := a.get("type")
	a.strangers(map[bool][]string{true: setKeys, false: append(assertKeys, "type")}[kind.text() == "assert-set"]...)
	kind.todo("%s", why)
	if weightless(a) && c.allKnown(a) && !sc.nested {
		a.todo("%s", why)
		to.note(fmt.Sprintf("TODO: `%s`: %s (of weight 0: its score was only shown)", diag.CleanLine(kind.text()), why))
		return
	}
	m := c.lost(to, a, cmp.Or(kind.text(), "assert"), why)
	if !sc.nested {
		c.nameAndWeight(m, a, sc)
	}
}

// lost adds a scorer that never has a score.
func (c *converter) lost(to *sequence, a src, kind, why string) *mapping {
	a.todo("%s", why)
	m := c.unscored(fmt.Sprintf("`%s`: %s", diag.CleanLine(kind), why))
	to.add(m, "TODO: replace this by a check")
	return m
}

func (c *converter) unscored(why string) *mapping { return one("unscored", textValue(escapeText(why))) }

func (s *scorer) block() *mapping {
	m := one(s.kind, s.value)
	m.entries = append(m.entries, s.options...)
	if s.not {
		return one("not", m)
	}
	return m
}

// nameAndWeight adds name and weight. Weight 0 means that the score is only shown.
func (c *converter) nameAndWeight(m *mapping, a src, sc *scope) {
	if s := a.get("metric"); !s.IsZero() {
		name := metricName(s.text(), sc)
		m.set("name", textValue(name))
		if name == s.text() {
			s.ok("as `name`")
		} else {
			s.differs("as `name: %s`", name)
		}
	}
	s := a.get("weight")
	w, ok := weightOf(a)
	if sc.share != nil {
		w *= *sc.share
	}
	switch {
	case !ok:
		s.todo("%s", wrongWeight(a))
	case s.IsZero() && sc.share == nil:
	case s.IsNull() && sc.share == nil:
		s.ok("as the weight of 1 that a scorer has")
	case w == 0:
		if value, is := m.entries[0].value.(*mapping); is { // a scorer takes one rule
			value.entries = slices.DeleteFunc(value.entries, func(e keyValue) bool {
				return e.key == "min" || e.key == "max" && m.entries[0].key == "levenshtein"
			})
		}
		m.set("weight", integer(0)).set("threshold", integer(0), "a weight of 0: the score is shown and never fails")
		s.ok("as `weight: 0` with `threshold: 0`")
	default:
		m.set("weight", literal(strconv.FormatFloat(w, 'f', -1, 64)))
		s.ok("as `weight`")
	}
}

// metricName returns a name that no other scorer of the list or of the defaults has, because scorers of the
// same name replace each other.
func metricName(text string, sc *scope) string {
	return sc.names.plain(escapeText(text), "metric")
}

func (c *converter) assertionSet(to *sequence, a src, sc *scope) {
	if sc.weighed && !sc.nested {
		c.spread(to, a, sc)
		return
	}
	inner := &sequence{}
	in := *sc
	in.nested = true
	c.assertions(inner, a.get("assert"), &in)
	for _, item := range a.get("assert").items() {
		item.get("metric").differs("scorers in a set have no names of their own")
	}
	var scorers []yamlValue
	var comments []string
	for _, item := range inner.items {
		comments = append(comments, item.comments...)
		if item.value != nil {
			scorers = append(scorers, item.value)
		}
	}
	m, note := c.setOf(a, scorers)
	if m == nil {
		c.lostAssertion(to, a, sc, note)
		return
	}
	if note != "" {
		comments = append(comments, note)
		a.differs("%s", note)
	}
	c.nameAndWeight(m, a, sc)
	if i := slices.IndexFunc(m.entries, func(e keyValue) bool { return e.key == "threshold" }); i >= 0 {
		m.entries = slices.Delete(m.entries, i, i+1) // promptfoo forgives a single check of weight 0, and no set
		a.get("weight").ok("as `weight`")
	}
	a.get("type").ok("as `all` or `any`")
	a.get("threshold").ok("as `all` or `any`")
	a.rest(setKeys...)
	a.ok("as `all` or `any`")
	to.add(m, comments...)
}

// spread makes the checks of a set scorers of the case. A threshold of the case counts the share of the set that passes, and not
// whether the set does.
func (c *converter) spread(to *sequence, a src, sc *scope) {
	total, why := 0.0, wrongWeight(a)
	for _, item := range a.get("assert").items() {
		w, _ := weightOf(c.resolved(item)) // a wrong one makes the check unscored
		total += w
		if item.IsScalar() {
			why = "promptfoo reads no file here"
		}
	}
	switch {
	case sc.share != nil:
		why = "promptfoo has no set in a set"
	case total == 0:
		why = "its checks have no weight, so that its score is 0"
	case sc.mixed:
		why = "it counts as a share where a test has a threshold; write it into the tests"
	case !c.top.get("derivedMetrics").IsZero() && !a.get("metric").IsZero():
		why = "derived metrics may name it, and its checks are scorers of the case"
	}
	if why != "" {
		c.lostAssertion(to, a, sc, why)
		return
	}
	w, _ := weightOf(a)
	in := *sc
	in.share = new(w / total)
	a.get("metric").differs("not kept: its checks are scorers of the case")
	a.get("threshold").differs("not kept: the threshold of the case counts the checks of the set")
	c.assertions(to, a.get("assert"), &in)
	a.rest(setKeys...)
	a.ok("as scorers of the case, with their share of its weight")
}

// setOf joins the scorers of a set. For a threshold, it lists the smallest subsets whose weights reach it.
func (c *converter) setOf(a src, scorers []yamlValue) (*mapping, string) {
	threshold, ok := number(a.get("threshold"))
	if why := lostSet(a, scorers, threshold); why != "" {
		return nil, why
	}
	if !ok || threshold >= 1 {
		return one("all", listOf(scorers)), ""
	}
	if threshold <= 0 {
		m := one("any", listOf(append(scorers, one("expr", textValue("true")))))
		return m, "a threshold of 0: the set never fails"
	}
	weights := c.weights(a)
	subsets := minimal(weights, threshold)
	if len(weights) != len(scorers) || len(subsets) == 0 || len(subsets) > 35 {
		return nil, "a set of this size with this threshold has no counterpart; write the case with `threshold` and these scorers alone"
	}
	said := fmt.Sprintf("these are the ways to reach the threshold of %s with scores of 0 or 1", a.get("threshold").text())
	return one("any", waysOf(subsets, scorers)), said
}

func waysOf(subsets [][]int, scorers []yamlValue) *sequence {
	out := &sequence{}
	for _, s := range subsets {
		if len(s) == 1 {
			out.add(scorers[s[0]])
			continue
		}
		part := &sequence{}
		for _, i := range s {
			part.add(scorers[i])
		}
		out.add(one("all", part))
	}
	return out
}

// lostSet is why a set has no counterpart, "" if it may have one.
func lostSet(a src, scorers []yamlValue, threshold float64) string {
	for _, s := range scorers {
		if m, is := s.(*mapping); is && m.get("unscored") != nil {
			return "a part of the set has no counterpart: " + m.text("unscored")
		}
	}
	switch {
	case len(scorers) == 0:
		return "the set is empty"
	case threshold > 0 && (threshold > 1 || slices.ContainsFunc(scorers, graded)):
		return "scores between 0 and 1 count in a set with a threshold; write the case with `threshold` and these scorers alone"
	}
	return wrongWeight(a)
}

// graded reports whether a scorer may pass with a score between 0 and 1.
func graded(v yamlValue) bool {
	m := v.(*mapping)
	if inner, is := m.get("not").(*mapping); is {
		m = inner
	}
	if exec, is := m.get("exec").(*mapping); is {
		args := exec.get("args").(*mapping)
		return args.get("code") != nil || args.get("grader") != nil
	}
	return slices.ContainsFunc([]string{"judge", "similar", "rouge", "bleu", "gleu"}, func(kind string) bool {
		of, is := m.get(kind).(*mapping)
		return is && of.get("min") != literal("1")
	})
}

func listOf(in []yamlValue) *sequence {
	out := &sequence{}
	for _, v := range in {
		out.add(v)
	}
	return out
}

func (c *converter) weights(a src) (out []float64) {
	for _, item := range a.get("assert").items() {
		if w, _ := weightOf(item); w > 0 { // a wrong one loses the set, and one of 0 is left out
			item.get("weight").ok("in the set")
			out = append(out, w)
		}
	}
	return out
}

// minimal lists the subsets of indexes whose share of the weights reaches the threshold, without any that
// contain a smaller one.
func minimal(weights []float64, threshold float64) (out [][]int) {
	if len(weights) > 10 {
		return nil
	}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	reaches := func(set int) bool {
		sum := 0.0
		for i, w := range weights {
			if set&(1<<i) != 0 {
				sum += w
			}
		}
		return total > 0 && sum/total >= threshold-1e-9
	}
	for set := 1; set < 1<<len(weights); set++ {
		var members []int
		smaller := false
		for i := range weights {
			if set&(1<<i) != 0 {
				members = append(members, i)
				smaller = smaller || reaches(set&^(1<<i))
			}
		}
		if reaches(set) && !smaller {
			out = append(out, members)
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return cmp.Or(len(a)-len(b), slices.Compare(a, b)) })
	return out
}

func (c *converter) changesOf(a src, sc *scope) []change {
	out := slices.Clone(sc.changes)
	if t := a.get("transform"); !t.IsZero() {
		out = append(out, c.changeOf(t))
	}
	return out
}

func (c *converter) changeOf(s src) change {
	if choice := selection(s.text()); choice != nil {
		s.ok("as `select` of the scorers")
		return change{file: c.inline(s.text(), "transform", ".js"), choice: choice}
	}
	file, ok := c.codeFile(s, "transform")
	if !ok {
		return change{lost: "its `transform`: " + cmp.Or(s.note(), "it cannot be read")}
	}
	return change{file: file, left: removals(s.text())}
}

// targetChanges reports whether some target transforms its answer before scorers see it.
func (c *converter) targetChanges() bool {
	return slices.ContainsFunc(c.targets, func(t *target) bool { return len(t.changes) > 0 })
}

func (c *converter) converted(a assertion) (*scorer, string) {
	changes := c.changesOf(a.src, a.in)
	kind, known := assertionKinds()[a.base]
	lost := lostIn(changes)
	switch ofTargets := c.targetChanges(); {
	case !known || a.not && special(a.base):
		return nil, unknownType(a.base)
	case kind.scorer == nil && cmp.Or(kind.lost, lost) != "":
		return nil, cmp.Or(kind.lost, lost)
	case kind.code:
		return c.codeScorer(a, changes)
	case len(changes) == 0 && !ofTargets:
		return kind.scorer(c, a)
	case lost == "" && len(changes) == 1 && changes[0].choice != nil && !ofTargets:
		return c.selected(a, changes[0])
	case lost == "" && kind.inShim:
		return c.shimmed(a, changes)
	}
	return c.unchanged(a, kind, lost, changes)
}

// unchanged makes a scorer that does not look at the answer, and may stand where code changes that.
// It may be one of the others where the code only removes parts.
func (c *converter) unchanged(a assertion, kind assertionKind, lost string, changes []change) (*scorer, string) {
	if len(changes) == 1 && changes[0].left != nil && !c.targetChanges() {
		return c.selected(a, change{choice: changes[0].left})
	}
	made, todo := kind.scorer(c, a)
	if made != nil && !made.plain {
		return nil, cmp.Or(lost, "code changes the answer before, which is only possible before checks that a shim has")
	}
	return made, todo
}

// special reports whether a type takes no not-, and no cell of a table.
func special(kind string) bool {
	return slices.Contains([]string{"select-best", "max-score", "human"}, kind)
}

func knows(kind string) bool {
	_, known := assertionKinds()[kind]
	return known || kind == "assert-set" || strings.HasPrefix(kind, "promptfoo:")
}

// allKnown reports whether promptfoo has the type of an assertion, and those of all in a set.
func (c *converter) allKnown(a src) bool {
	unknown := func(in src) bool { return !c.allKnown(c.resolved(in)) }
	return knows(strings.TrimPrefix(a.get("type").text(), "not-")) && !slices.ContainsFunc(a.get("assert").items(), unknown)
}

func unknownType(kind string) string {
	if strings.HasPrefix(kind, "promptfoo:") {
		return "promptfoo grades it with a model of its own; write a `judge`"
	}
	why := "promptfoo knows no such type"
	if near := diag.Nearest(kind, slices.Collect(maps.Keys(assertionKinds())), 1); len(near) > 0 {
		why += fmt.Sprintf("; did you mean `%s`?", near[0])
	}
	return why
}

// lostIn is why one of the changes has no counterpart, "" if all have one.
func lostIn(changes []change) (why string) {
	for _, ch := range changes {
		why = cmp.Or(why, ch.lost)
	}
	return why
}

func (c *converter) selected(a assertion, ch change) (*scorer, string) {
	made, todo := assertionKinds()[a.base].scorer(c, a)
	if made != nil && !made.plain && made.kind != "exec" {
		if slices.ContainsFunc(made.options, func(p keyValue) bool { return p.key == "select" }) {
			return c.shimmed(a, []change{ch})
		}
		made.options = append(made.options, keyValue{key: "select", value: ch.choice})
	}
	return made, todo
}
