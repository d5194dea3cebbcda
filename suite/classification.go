package suite

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

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
		case eval.Is(class):
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
