package suite

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// DerivedMetric is a derived metric: a number from 0 to 1, computed for each trial from the values of its named scorers.
type DerivedMetric struct {
	Name    string
	program *expr.Expression
}

// Text returns the expression.
func (m *DerivedMetric) Text() string { return m.program.Text() }

// Of computes the metric of a trial. ok is false when a score in the expression is unscored or missing, and after a division
// by zero. A result outside of 0 to 1 is an error.
func (m *DerivedMetric) Of(scores []eval.Score) (value float64, ok bool, err error) {
	named := map[string]any{}
	for _, s := range scores {
		if number, scored := s.Value(); scored && s.Name != "" {
			named[s.Name] = number
		}
	}
	if m.lacks(named) {
		return 0, false, nil
	}
	out, err := m.program.Run(named)
	if errors.Is(err, expr.ErrNoNumber) {
		return 0, false, nil
	}
	if err == nil {
		value, err = expr.Graded(out)
	}
	if err != nil {
		return 0, false, fmt.Errorf("the metric %s: %w", m.Name, err)
	}
	return value, true, nil
}

func (m *DerivedMetric) lacks(scores map[string]any) bool {
	return slices.ContainsFunc(m.program.Reads(), func(r expr.Read) bool {
		_, there := scores[r.Path[0]]
		return !there && !r.Optional
	})
}

// metrics reads the derived metrics, once all scorers are known.
func (l *loader) metrics(n yaml.Node) {
	known, open := l.Metrics()
	samples := expr.Open{}
	for _, name := range l.metricNames.means() {
		samples[name] = 0.0
	}
	var env any = map[string]any(samples)
	if open { // some names are templates
		env = samples
	}
	if n.IsMapping() && n.Map().Len() == 0 {
		n.Errorf("such as `f1: 2*precision*recall/(precision+recall)`", "there are no metrics")
	}
	for e := range n.Map().Entries() {
		nameOf(e.Key)
		l.checkScoreName(e.Key, e.Name())
		switch i := slices.Index(known, e.Name()); {
		case i >= builtIn:
			e.Key.Errorf("choose another name for one of them", "a scorer is named `%s` too", e.Name())
		case i >= 0:
			e.Key.Errorf("choose another name", "every comparison has a metric `%s`", e.Name())
		}
		if m := metricOf(e, env); m != nil {
			l.metricNames.derived = append(l.metricNames.derived, m)
		}
	}
}

// metricOf compiles a metric; nil if it is invalid.
func metricOf(e yaml.Entry, env any) *DerivedMetric {
	text := e.Value.Str()
	if text == "" && (!e.Value.IsScalar() || e.Value.IsNull()) {
		return nil // which was reported
	}
	program, err := expr.Compile(text, env, expr.Number)
	if err != nil {
		problem := expr.AsSyntaxError(err)
		e.Value.ErrorfAt(problem.Offset, problem.Hint, "in the metric `%s`: %s", e.Name(), problem.Message)
		return nil
	}
	if len(program.Reads()) == 0 {
		e.Value.Errorf("such as (precision + recall) / 2", "the metric `%s` names no scorer", e.Name())
		return nil
	}
	return &DerivedMetric{e.Name(), program}
}

// metricNames are the metrics that a suite adds to those of every comparison.
type metricNames struct {
	scorers []string // names of scorers, in the order of the file
	open    bool     // some names of scorers are known only when a case is expanded
	derived []*DerivedMetric
	classes []string // classes of the `classification` block; nil without one
}

func (n *metricNames) take(scorer string) {
	n.open = n.open || expr.HasActions(scorer)
	if !slices.Contains(builtInMetrics(), scorer) && !slices.Contains(n.scorers, scorer) {
		n.scorers = append(n.scorers, scorer)
	}
}

// means returns the names of metrics that are means over cases.
func (n *metricNames) means() []string {
	out := slices.Clone(n.scorers)
	for _, m := range n.derived {
		out = append(out, m.Name)
	}
	return out
}

// ofClasses returns the names of the metrics that the classification computes over all cases; nil without one.
func (n *metricNames) ofClasses() []string {
	if n.classes == nil {
		return nil
	}
	return eval.ClassMetrics(n.classes)
}

// Metrics returns the names of metrics that a gate can compare: those of every comparison, named scorers, derived metrics,
// and those of the classification. When open is true, some names are templates, so that there may be more.
func (s *Suite) Metrics() (names []string, open bool) {
	return slices.Concat(builtInMetrics(), s.metricNames.means(), s.metricNames.ofClasses()), s.metricNames.open
}

// Classes returns the classes of the `classification` block in the order of the file; nil without the block.
func (s *Suite) Classes() []string { return s.metricNames.classes }

// OfAllCases reports whether a metric is computed from the confusion matrix of all cases. Single cases have no value of it.
func (s *Suite) OfAllCases(metric string) bool {
	return metric != eval.Accuracy && slices.Contains(s.metricNames.ofClasses(), metric)
}

// Derived returns the derived metrics in the order of the file.
func (s *Suite) Derived() []*DerivedMetric { return s.metricNames.derived }

// builtIn is the number of metrics that every comparison has; Metrics lists them first.
const builtIn = 4

func builtInMetrics() []string {
	return []string{eval.MetricPass, eval.MetricBlocked, eval.MetricLatency, eval.MetricTokens}
}

// Limits of the classes of a suite. A longer name is an answer rather than the name of a class.
const (
	fewestClasses = 2
	mostClasses   = 250
	longestClass  = 100 // bytes
)

// classification reads the block. It adds a scorer to every case that inherits scorers.
func (l *loader) classification(n yaml.Node) {
	if n.IsZero() {
		return
	}
	before := l.diags.Len()
	m := n.Map(yaml.Classification.Names()...)
	if !n.IsMapping() {
		return
	}
	label := m.Need("label")
	l.readClasses(m.Need("classes"))
	d := &scorerDef{rendering: l.rendering(n.Under(yaml.ClassificationKind)), noted: true}
	for _, key := range []string{"answer", "classes"} {
		m.Get(key).EachText(func(at yaml.Node, text string) {
			if expr.HasActions(text) {
				at.Errorf("only `label` differs from case to case", "`%s` takes no template", key)
			}
		})
	}
	if d.broken = l.diags.Len() > before; !d.broken {
		l.tryClassification(d, label)
	}
	l.metricNames.scorers = append(l.metricNames.scorers, eval.Accuracy)
	l.classified = d
}

// tryClassification checks everything except the label once, so that problems are not repeated for every case.
func (l *loader) tryClassification(d *scorerDef, label yaml.Node) {
	before := l.diags.Len()
	if len(d.templates) == 0 {
		d.fixed = l.checked(d.node)
	} else {
		l.checked(d.node.Rewrite(func(at yaml.Node, text string) eval.Value {
			if at.Pos() == label.Pos() {
				return l.metricNames.classes[0]
			}
			return text
		}))
	}
	d.broken = l.diags.Len() > before
}

// readClasses reads the classes. Labels and answers are compared with them ignoring white space and case, so no two
// classes may be equal in that sense.
func (l *loader) readClasses(n yaml.Node) {
	folded := map[string]diag.Pos{}
	for _, item := range n.Seq() {
		if !item.IsScalar() || item.IsNull() {
			item.Errorf(
				"write one name an item, in quotes if need be",
				"expected the name of a class, found %s", item.Describe(),
			)
			continue
		}
		class := item.Written()
		key := eval.Fold(class)
		first, twice := folded[key]
		switch {
		case eval.IsBlank(class):
			item.Errorf("answers outside of the classes have their own column", "a class needs a name")
		case class == eval.OtherAnswers:
			item.Errorf("such as `other`", "`(other)` is the column of answers outside of the classes")
		case len(class) > longestClass:
			item.Errorf("shorten it", "a class has at most %d bytes", longestClass)
		case strings.ContainsFunc(class, isControl):
			item.Errorf("write it in one line", "the name of a class is a single line without control characters")
		case twice:
			item.Errorf(
				"white space and upper case make no difference",
				"duplicate class `%s`, first %s", class, first.SeenFrom(item.Pos()),
			)
		}
		if !twice {
			folded[key] = item.Pos()
		}
		l.metricNames.classes = append(l.metricNames.classes, class)
	}
	switch {
	case !n.IsSequence():
	case len(l.metricNames.classes) < fewestClasses:
		n.Errorf("such as [refund, order, other]", "a classification needs at least %d classes", fewestClasses)
	case len(l.metricNames.classes) > mostClasses:
		n.Errorf("join the rare ones as `other`", "%d classes are too many: %d at most", len(l.metricNames.classes), mostClasses)
	}
}

// withClassification puts the classification before the scorers of the defaults.
func (l *loader) withClassification() {
	if l.classified != nil {
		l.table.defaults.scorers = append([][]*scorerDef{{l.classified}}, l.table.defaults.scorers...)
	}
}

func noClassification(n yaml.Node) (found bool) {
	for e := range n.Map().Entries() {
		if e.Name() == yaml.ClassificationKind {
			e.Key.Errorf("write it at the top level of the suite, next to `cases`", "`classification` is not a scorer")
			found = true
		}
	}
	return found
}

func (l *loader) checkScoreName(n yaml.Node, name string) {
	if _, taken := eval.ParseMetric(name, l.metricNames.classes); taken && l.classified != nil {
		n.Errorf("choose another name", "the classification has a metric `%s`", name)
	}
}

func (l *loader) checkEarly(n yaml.Node, metric string) {
	if b := l.Gate.Baseline; b != nil && b.Estimand == eval.OfSuite && slices.Contains(l.metricNames.ofClasses(), metric) {
		n.Errorf(
			"leave it out, or estimand", "`%s` is computed from all cases, and has no verdict about these alone", diag.CleanLine(metric),
		)
		return
	}
	if b := l.Gate.Baseline; b != nil && b.StopEarly && l.OfAllCases(metric) {
		n.Errorf(
			"leave it out, or stopEarly; accuracy goes with it",
			"`%s` takes all cases, and cannot stop early", diag.CleanLine(metric),
		)
	}
}

func (l *loader) checkClassMetrics(rules yaml.Node) {
	if rules.IsZero() || !rules.IsMapping() || l.loading.misspelled.classification {
		return
	}
	known := l.metricNames.ofClasses()
	for e := range rules.Map().Entries() {
		_, class, single := strings.Cut(e.Name(), ".")
		switch _, ok := eval.ParseMetric(e.Name(), l.metricNames.classes); {
		case ok && l.classified != nil:
		case l.classified == nil:
			e.Key.Errorf(
				"add `classification: {label: ..., classes: [...]}`",
				"the suite has no classification with a metric `%s`", e.Name(),
			)
		case single && slices.Contains(known, strings.TrimSuffix(e.Name(), class)+l.metricNames.classes[0]):
			e.Key.Errorf(diag.DidYouMean(class, l.metricNames.classes), "the classification has no class `%s`", diag.CleanLine(class))
		default:
			if !single {
				known = slices.DeleteFunc(slices.Clone(known), func(name string) bool { return strings.Contains(name, ".") })
			}
			e.Key.Errorf(diag.DidYouMean(e.Name(), known), "the classification has no metric `%s`", diag.CleanLine(e.Name()))
		}
	}
}
