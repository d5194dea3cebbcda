// Measures answers that choose one of several classes: it counts how often each
// class was answered for each expected one, and computes metrics from these counts. It reads no files and knows
// nothing of runs.
//
// The usual order: New, Find for the class that an answer names, Add for each answer, then Report, or Value
// for a single metric.
//
// Definitions are those of scikit-learn (precision_recall_fscore_support with zero_division=0,
// accuracy_score) and of Cohen, A coefficient of agreement for nominal scales, Educational and
// Psychological Measurement 20, 1960. An answer outside of the classes is wrong: it counts against the
// recall of the expected class, and against no precision.

package eval

import (
	"cmp"
	"slices"
)

// Pair is an answered class with the expected one, which suites call the label.
type Pair struct {
	Expected string `json:"label"`
	// Answer is a class, or "" for an answer outside of the classes.
	Answer string `json:"answer,omitempty"`
}

// Matrix is a confusion matrix: how often each class was answered for each expected one. The zero Matrix has no classes.
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

// Total returns the sum of all weights.
func (m *Matrix) Total() (sum float64) {
	for _, row := range m.Counts {
		for _, n := range row {
			sum += n
		}
	}
	return sum
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

// Confusions returns at most n wrong answers, the most frequent first. Equally frequent ones are in the
// order of the classes.
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
