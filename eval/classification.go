package eval

import (
	"cmp"
	"slices"
	"strings"
)

// Pair is an answered class with the expected one, which suites call the label.
type Pair struct {
	Expected string `json:"label"`
	// Answer is a class, or "" for an answer outside of the classes.
	Answer string `json:"answer,omitempty"`
}

// Matrix is a confusion matrix: how often each class was answered for each expected one. The zero Matrix has no classes.
// An answer outside of the classes is wrong: it counts against the recall of the expected class, and against no precision.
//
// Definitions are those of scikit-learn (precision_recall_fscore_support with zero_division=0, accuracy_score) and of Cohen,
// A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20, 1960.
type Matrix struct {
	// Classes are in the order of the suite.
	Classes []string `json:"classes"`
	// Counts has a row for each expected class. Its columns are the answers; the last column is for answers outside
	// the classes. Repeats of a case count as fractions.
	Counts [][]float64 `json:"counts"`
}

// NewMatrix returns an empty matrix.
func NewMatrix(classes []string) *Matrix {
	m := &Matrix{Classes: slices.Clone(classes), Counts: make([][]float64, len(classes))}
	for i := range m.Counts {
		m.Counts[i] = make([]float64, len(classes)+1)
	}
	return m
}

// Add counts an answer with a weight, such as one divided by the repeats of its case. A new class becomes
// the last one.
func (m *Matrix) Add(p Pair, weight float64) {
	expected, answer := m.place(p.Expected), -1
	if p.Answer != "" {
		answer = m.place(p.Answer)
	}
	row := m.Counts[expected]
	if answer < 0 {
		answer = len(row) - 1
	}
	row[answer] += weight
}

// place returns the index of a class. It adds a missing class.
func (m *Matrix) place(class string) int {
	if i := slices.Index(m.Classes, class); i >= 0 {
		return i
	}
	m.Classes = append(m.Classes, class)
	for i, row := range m.Counts {
		m.Counts[i] = slices.Insert(row, len(row)-1, 0)
	}
	m.Counts = append(m.Counts, make([]float64, len(m.Classes)+1))
	return len(m.Classes) - 1
}

// Margins returns the sums from which all metrics are computed.
func (m *Matrix) Margins() Margins {
	out := NewMargins(len(m.Classes))
	for expected, row := range m.Counts {
		for answer, n := range row {
			out.Add(expected, answer, n)
		}
	}
	return out
}

// Value returns a metric by name, such as macroF1 or recall.refund. ok is false if the metric does not
// exist or is undefined.
func (m *Matrix) Value(name string) (value float64, ok bool) {
	metric, known := ParseMetric(name, m.Classes)
	if !known {
		return 0, false
	}
	g := m.Margins()
	return g.Value(metric)
}

// Confusion is an expected class with a wrong answer and its count.
type Confusion struct {
	Pair
	Count float64 `json:"count"`
}

// Confusions returns at most n wrong answers, the most frequent first, then by the order of classes.
func (m *Matrix) Confusions(n int) (out []Confusion) {
	for expected, row := range m.Counts {
		for answer, count := range row {
			if count == 0 || answer == expected {
				continue
			}
			c := Confusion{Pair{Expected: m.Classes[expected]}, count}
			if answer < len(m.Classes) {
				c.Answer = m.Classes[answer]
			}
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b Confusion) int { return cmp.Compare(b.Count, a.Count) })
	return out[:min(n, len(out))]
}

// The metrics over all classes. Macro averages count each class that is the expected class of some case once; weighted averages
// count it as often as it is expected. The weighted recall is the accuracy.
const (
	Accuracy          = "accuracy"
	Kappa             = "kappa" // Cohen's
	macroPrecision    = "macroPrecision"
	macroRecall       = "macroRecall"
	MacroF1           = "macroF1"
	weightedPrecision = "weightedPrecision"
	WeightedRecall    = "weightedRecall"
	WeightedF1        = "weightedF1"
)

// The metrics of one class: their names go before it, as in recall.refund.
const (
	Precision = "precision"
	Recall    = "recall"
	F1        = "f1"
)

// OverallClassMetrics are the names of the metrics over all classes.
func OverallClassMetrics() []string {
	return []string{Accuracy, MacroF1, WeightedF1, Kappa, macroPrecision, macroRecall, weightedPrecision, WeightedRecall}
}

// ClassMetrics are the names of all metrics for these classes.
func ClassMetrics(classes []string) []string {
	out := OverallClassMetrics()
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
	Name  string // of OverallClassMetrics, or Precision, Recall or F1
	Class int    // index of its class, -1 for a metric over all classes
}

// ParseMetric reads the name of a metric. ok is false when there is no such metric, or no such class.
func ParseMetric(name string, classes []string) (m Metric, ok bool) {
	of, class, single := strings.Cut(name, ".")
	if !single {
		return Metric{name, -1}, slices.Contains(OverallClassMetrics(), name)
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
	case macroPrecision:
		return g.average(Precision, false), true
	case macroRecall:
		return g.average(Recall, false), true
	case MacroF1:
		return g.average(F1, false), true
	case weightedPrecision:
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

// Report is a matrix with all its metrics, for programs.
type Report struct {
	// Cases counts the cases in the matrix; repeats of a case count once.
	Cases float64 `json:"cases"`
	// Other counts the answers outside of the classes.
	Other    float64 `json:"other"`
	Accuracy float64 `json:"accuracy"`
	// Kappa is nil when it is undefined: all expected and answered classes are one.
	Kappa    *float64 `json:"kappa"`
	Macro    Average  `json:"macro"`
	Weighted Average  `json:"weighted"`
	Classes  []Class  `json:"classes"`
	// Matrix has a row for each expected class and a column for each answer, in the order of Classes. Its last
	// column is for answers outside of the classes.
	Matrix [][]float64 `json:"matrix"`
	// Errors counts trials that could not be judged. The caller sets it, because they are not in the
	// matrix.
	Errors int `json:"errors"`
}

// Average has the means over the classes that are the expected class of some case.
type Average struct {
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
}

// Class has the metrics of one class.
type Class struct {
	Class     string  `json:"class"`
	Support   float64 `json:"support"`  // cases that expect it
	Answered  float64 `json:"answered"` // answers of this class
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	// Undefined names metrics that are 0 because of a division by 0.
	Undefined []string `json:"undefined,omitempty"`
}

// Report computes all metrics.
func (m *Matrix) Report() Report {
	g := m.Margins()
	out := Report{
		Cases: g.Total, Other: g.Total - sum(g.Answered), Matrix: m.Counts, Classes: []Class{},
		Macro:    Average{g.average(Precision, false), g.average(Recall, false), g.average(F1, false)},
		Weighted: Average{g.average(Precision, true), g.average(Recall, true), g.average(F1, true)},
	}
	if out.Other < noWeight {
		out.Other = 0
	}
	out.Accuracy, _ = g.Value(Metric{Accuracy, -1})
	if kappa, ok := g.Value(Metric{Kappa, -1}); ok {
		out.Kappa = &kappa
	}
	for i, class := range m.Classes {
		out.Classes = append(out.Classes, g.class(i, class))
	}
	return out
}

func (g *Margins) class(i int, name string) Class {
	out := Class{
		Class: name, Support: g.Support[i], Answered: g.Answered[i],
		Precision: g.of(Precision, i), Recall: g.of(Recall, i), F1: g.of(F1, i),
	}
	if out.Answered < noWeight {
		out.Undefined = append(out.Undefined, Precision)
	}
	if out.Support < noWeight {
		out.Undefined = append(out.Undefined, Recall)
	}
	if len(out.Undefined) == 2 {
		out.Undefined = append(out.Undefined, F1)
	}
	return out
}
