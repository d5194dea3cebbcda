package eval

import (
	"slices"
	"strings"
)

// The metrics over all classes. Macro averages count each class that is the expected class of some case once; weighted averages
// count it as often as it is expected. The weighted recall is the accuracy.
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

// Names are the names of all metrics for these classes.
func Names(classes []string) []string {
	out := Overall()
	for _, of := range []string{Precision, Recall, F1} {
		for _, class := range classes {
			out = append(out, of+"."+class)
		}
	}
	return out
}

// OtherAnswers is the name in reports of answers outside of the classes.
const OtherAnswers = "(other)"

// Metric names a metric of a confusion matrix.
type Metric struct {
	Name  string // of Overall, or Precision, Recall or F1
	Class int    // index of its class, -1 for a metric over all classes
}

// ParseMetric reads the name of a metric. ok is false when there is no such metric, or no such class.
func ParseMetric(name string, classes []string) (m Metric, ok bool) {
	of, class, single := strings.Cut(name, ".")
	if !single {
		return Metric{name, -1}, slices.Contains(Overall(), name)
	}
	m = Metric{of, slices.Index(classes, class)}
	return m, m.Class >= 0 && (of == Precision || of == Recall || of == F1)
}

// Margins are the sums of a matrix that all metrics need. They are cheap to update.
type Margins struct {
	Right    []float64 // by class: answers that are the expected class
	Support  []float64 // by class: cases that expect it
	Answered []float64 // by class: answers of this class
	Total    float64
}

// NewMargins are the margins of an empty matrix of n classes.
func NewMargins(n int) Margins {
	all := make([]float64, 3*n)
	return Margins{Right: all[:n:n], Support: all[n : 2*n : 2*n], Answered: all[2*n:]}
}

// Add counts an answer, by the indexes of the expected and the answered class. Any other index is outside of the classes. A
// negative weight removes answers.
func (g *Margins) Add(expected, answer int, weight float64) {
	g.Total += weight
	g.Support[expected] += weight
	if answer < 0 || answer >= len(g.Answered) {
		return
	}
	g.Answered[answer] += weight
	if expected == answer {
		g.Right[expected] += weight
	}
}

// noWeight is below the weight of any answer. Sums of fractions are not exact, so a sum below it counts as 0.
const noWeight = 1e-9

// Value computes a metric. It returns false when the metric is undefined. It is undefined without cases,
// and for a class with neither cases nor answers. So is the recall of a class without cases, and kappa when
// all expected and answered classes are one. The precision of a class that has cases but no answers is 0.
func (g *Margins) Value(m Metric) (value float64, ok bool) {
	if m.Class >= 0 {
		return g.ofClass(m)
	}
	if g.Total < noWeight {
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

// ofClass is a metric of one class, false when it is undefined.
func (g *Margins) ofClass(m Metric) (value float64, ok bool) {
	if g.Support[m.Class] < noWeight && (m.Name == Recall || g.Answered[m.Class] < noWeight) {
		return 0, false
	}
	return g.of(m.Name, m.Class), true
}

// of is a metric of one class, 0 for a division by 0.
func (g *Margins) of(name string, class int) float64 {
	right := g.Right[class]
	support := g.Support[class]
	answered := g.Answered[class]
	switch name {
	case Precision:
		return ratio(right, answered)
	case Recall:
		return ratio(right, support)
	}
	return ratio(2*right, support+answered)
}

// average is the mean of a metric over the classes that are the expected class of some case. weighted weighs them by cases.
func (g *Margins) average(name string, weighted bool) float64 {
	var total, weights float64
	for class, support := range g.Support {
		if support < noWeight {
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

// kappa is the agreement of expected and answered classes beyond chance. Answers outside of the classes agree with nothing.
func (g *Margins) kappa() (value float64, ok bool) {
	chance := 0.0
	for class := range g.Support {
		chance += g.Support[class] / g.Total * g.Answered[class] / g.Total
	}
	if 1-chance < noWeight {
		return 0, false
	}
	return (sum(g.Right)/g.Total - chance) / (1 - chance), true
}

func ratio(part, whole float64) float64 {
	if whole < noWeight {
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
