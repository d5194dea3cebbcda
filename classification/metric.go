package classification

import (
	"slices"
	"strings"
)

// The metrics over all classes. Macro averages count each class that is the label of some case once; weighted averages
// count it as often as it is a label. The weighted recall is the accuracy.
const (
	Accuracy          = "accuracy"
	Kappa             = "kappa" // Cohen's
	MacroPrecision    = "macroPrecision"
	MacroRecall       = "macroRecall"
	MacroF1           = "macroF1"
	WeightedPrecision = "weightedPrecision"
	WeightedRecall    = "weightedRecall"
	WeightedF1        = "weightedF1"
)

// The metrics of one class: their names go before it, as in recall.refund.
const (
	Precision = "precision"
	Recall    = "recall"
	F1        = "f1"
)

// Overall are the names of the metrics over all classes.
func Overall() []string {
	return []string{Accuracy, MacroF1, WeightedF1, Kappa, MacroPrecision, MacroRecall, WeightedPrecision, WeightedRecall}
}

// Names are those of all metrics of some classes.
func Names(classes []string) []string {
	out := Overall()
	for _, of := range []string{Precision, Recall, F1} {
		for _, class := range classes {
			out = append(out, of+"."+class)
		}
	}
	return out
}

// OtherAnswers is what reports call answers outside of the classes.
const OtherAnswers = "(other)"

// Metric is a metric of a matrix.
type Metric struct {
	Name  string // of Overall, or Precision, Recall or F1
	Class int    // the place of the class that it is of, -1 for all
}

// Parse reads the name of a metric. ok is false when there is no such metric, or no such class.
func Parse(name string, classes []string) (m Metric, ok bool) {
	of, class, single := strings.Cut(name, ".")
	if !single {
		return Metric{name, -1}, slices.Contains(Overall(), name)
	}
	m = Metric{of, slices.Index(classes, class)}
	return m, m.Class >= 0 && (of == Precision || of == Recall || of == F1)
}

// Margins are sums of a matrix: enough for every metric, and quick to change.
type Margins struct {
	Right    []float64 // by class: answers that are the label
	Support  []float64 // by class: cases with this label
	Answered []float64 // by class: answers of this class
	Total    float64
}

// NewMargins are the margins of an empty matrix of n classes.
func NewMargins(n int) Margins {
	all := make([]float64, 3*n)
	return Margins{Right: all[:n:n], Support: all[n : 2*n : 2*n], Answered: all[2*n:]}
}

// Add counts an answer, by the places of its label and its class. Any other place is outside of the classes. A negative
// weight takes answers out.
func (g *Margins) Add(label, answer int, weight float64) {
	g.Total += weight
	g.Support[label] += weight
	if answer < 0 || answer >= len(g.Answered) {
		return
	}
	g.Answered[answer] += weight
	if label == answer {
		g.Right[label] += weight
	}
}

// none is below what a count can be: sums of fractions are not exact.
const none = 1e-9

// Value is a metric. ok is false where it is undefined: without cases; of a class without cases and without answers;
// the recall of a class without cases; kappa when labels and answers are all of one class. The precision of a class with
// cases that is never answered is 0.
func (g *Margins) Value(m Metric) (value float64, ok bool) {
	if m.Class >= 0 {
		return g.ofClass(m)
	}
	if g.Total < none {
		return 0, false
	}
	switch m.Name {
	case Accuracy, WeightedRecall:
		return sum(g.Right) / g.Total, true
	case Kappa:
		return g.kappa()
	case MacroPrecision:
		return g.average(Precision, false), true
	case MacroRecall:
		return g.average(Recall, false), true
	case MacroF1:
		return g.average(F1, false), true
	case WeightedPrecision:
		return g.average(Precision, true), true
	case WeightedF1:
		return g.average(F1, true), true
	}
	return 0, false
}

// ofClass is a metric of one class.
func (g *Margins) ofClass(m Metric) (value float64, ok bool) {
	if g.Support[m.Class] < none && (m.Name == Recall || g.Answered[m.Class] < none) {
		return 0, false
	}
	return g.of(m.Name, m.Class), true
}

// of is a metric of one class, 0 where it would divide by 0.
func (g *Margins) of(name string, class int) float64 {
	right, support, answered := g.Right[class], g.Support[class], g.Answered[class]
	switch name {
	case Precision:
		return ratio(right, answered)
	case Recall:
		return ratio(right, support)
	}
	return ratio(2*right, support+answered)
}

// average is that of a metric over the classes that some case has as its label, each once or by its cases.
func (g *Margins) average(name string, weighted bool) float64 {
	var total, weights float64
	for class, support := range g.Support {
		if support < none {
			continue
		}
		weight := 1.0
		if weighted {
			weight = support
		}
		total += weight * g.of(name, class)
		weights += weight
	}
	return ratio(total, weights)
}

// kappa is how far labels and answers agree beyond chance. Answers outside of the classes agree with nothing.
func (g *Margins) kappa() (value float64, ok bool) {
	chance := 0.0
	for class := range g.Support {
		chance += g.Support[class] / g.Total * g.Answered[class] / g.Total
	}
	if 1-chance < none {
		return 0, false
	}
	return (sum(g.Right)/g.Total - chance) / (1 - chance), true
}

func ratio(part, whole float64) float64 {
	if whole < none {
		return 0
	}
	return part / whole
}

func sum(x []float64) (out float64) {
	for _, v := range x {
		out += v
	}
	return out
}
