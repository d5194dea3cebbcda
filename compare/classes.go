package compare

import (
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// ClassCount is how often scored repeats of a case had one classification.
type ClassCount struct {
	Pair int // index in Side.ClassPairs
	N    int
}

func isClassMetric(metric string, base, head *Side) bool {
	if base == nil || head == nil || len(base.ClassPairs) == 0 || len(head.ClassPairs) == 0 || metric == eval.Accuracy {
		return false
	}
	_, ok := eval.ParseMetric(metric, classesOf(base, head))
	return ok
}

// classesOf is the union of the classes of two sides, which are usually equal.
func classesOf(base, head *Side) []string {
	out := slices.Clone(head.Classes)
	for _, class := range base.Classes {
		if !slices.Contains(out, class) {
			out = append(out, class)
		}
	}
	return out
}

func (m *measure) classified(c *MetricComparison, base, head *Side, margin float64) {
	k := newClassing(base, head)
	metric, _ := eval.ParseMetric(c.Name, k.classes)
	switch {
	case m.EarlyVerdict != nil: // its interval would have to hold at any time
	case metric.Name == eval.WeightedRecall:
		m.differences(c, m.units(eval.Accuracy, base, head), margin, moreIsBetter)
	case metric.Name == eval.Recall:
		part := m.expecting(k, metric.Class)
		part.differences(c, part.units(eval.Accuracy, base, head), margin, moreIsBetter)
	default:
		m.pseudo(c, k, metric, margin)
	}
}

// expecting is the measure restricted to cases with one expected class. Their accuracy is its recall.
func (m *measure) expecting(k *classing, class int) *measure {
	var expecting []pair
	for _, p := range m.pairs {
		if expected, ok := k.expected(p); ok && expected == class {
			expecting = append(expecting, p)
		}
	}
	part := newMeasure(m.Options, expecting)
	part.worst, part.testsOnly = m.worst, m.testsOnly
	return part
}

type matrixCell struct {
	expected, answer int // answers outside of the classes have the index after the last class
	mass             float64
}

type classing struct {
	classes    []string
	base, head []matrixCell // by index in Side.ClassPairs, without a mass
}

func newClassing(base, head *Side) *classing {
	k := &classing{classes: classesOf(base, head)}
	k.base, k.head = k.places(base), k.places(head)
	return k
}

func (k *classing) places(s *Side) (out []matrixCell) {
	for _, p := range s.ClassPairs {
		one := matrixCell{expected: slices.Index(k.classes, p.Expected), answer: slices.Index(k.classes, p.Answer)}
		if one.answer < 0 {
			one.answer = len(k.classes)
		}
		out = append(out, one)
	}
	return out
}

// expected is the expected class of a pair, false without one.
func (k *classing) expected(p pair) (int, bool) {
	switch {
	case len(p.head.Classes) > 0:
		return k.head[p.head.Classes[0].Pair].expected, true
	case len(p.base.Classes) > 0:
		return k.base[p.base.Classes[0].Pair].expected, true
	}
	return 0, false
}

// cells are the shares of a case in the matrix; they add up to mass.
func cells(c *CaseTotals, places []matrixCell, mass float64) (out []matrixCell) {
	n := 0
	for _, one := range c.Classes {
		n += one.N
	}
	for _, one := range c.Classes {
		at := places[one.Pair]
		at.mass = mass * float64(one.N) / float64(n)
		out = append(out, at)
	}
	return out
}

type classUnit struct {
	base, head []matrixCell
	mass       float64 // number of requests
}

// classUnits are the units of a measure with a classification on both sides. A request counts once, however many
// cases send it. turned is the worst answer to an expected class in head. Errors count as that answer when the worst
// case is measured.
func (m *measure) classUnits(k *classing, turned func(expected int) int) []classUnit {
	cases := m.classifiedCases()
	units := make([]classUnit, len(m.groups.unit))
	for i, p := range m.pairs {
		if !m.isClassified(p) {
			continue
		}
		request := m.groups.request[i]
		u, mass := &units[m.groups.unit[request]], 1/float64(cases[request])
		u.mass += mass
		u.base = append(u.base, cells(p.base, k.base, mass)...)
		answered := mass
		if m.worst && p.head.Errors > 0 {
			answered *= float64(p.head.Ran-p.head.Errors) / float64(p.head.Ran)
			expected, _ := k.expected(p)
			u.head = append(u.head, matrixCell{expected, turned(expected), mass - answered})
		}
		if answered > 0 {
			u.head = append(u.head, cells(p.head, k.head, answered)...)
		}
	}
	return slices.DeleteFunc(units, func(u classUnit) bool { return u.mass == 0 })
}

// classifiedCases counts the cases of each request that have a classification.
func (m *measure) classifiedCases() []int {
	cases := make([]int, len(m.groups.unit))
	for i, p := range m.pairs {
		if m.isClassified(p) {
			cases[m.groups.request[i]]++
		}
	}
	return cases
}

// isClassified reports whether a pair has a classification on both sides, or an error that counts as one.
func (m *measure) isClassified(p pair) bool {
	if len(p.base.Classes) == 0 {
		return false
	}
	return len(p.head.Classes) > 0 || m.worst && p.head.Errors > 0 && p.head.Errors == p.head.Ran
}

// matrices are the confusion margins of both sides.
type matrices struct{ base, head eval.Margins }

func newMatrices(k *classing, units []classUnit) matrices {
	out := matrices{eval.NewMargins(len(k.classes)), eval.NewMargins(len(k.classes))}
	for i := range units {
		shift(&out.base, units[i].base, 1)
		shift(&out.head, units[i].head, 1)
	}
	return out
}

// shift adds cells to a matrix with sign 1, and removes them with sign -1.
func shift(g *eval.Margins, all []matrixCell, sign float64) {
	for _, one := range all {
		g.Add(one.expected, one.answer, sign*one.mass)
	}
}

// undefinedMetric is the advice when a metric is undefined on one side.
const undefinedMetric = "undefined on one side: a class is never answered, has no case, or is the only one"

// pseudo compares a metric that is not a mean, by the pseudo-values of its units. A pseudo-value is, to first order,
// the metric if all units were like this one. Their mean is the metric, and they are nearly independent, so the tests
// of means apply, in the range over which one unit can change the metric.
//
// Source: Miller, The jackknife: a review, Biometrika 61, 1974; units of unequal size as in Busing, Meijer and van der
// Leeden, Delete-m jackknife for unequal m, Statistics and Computing 9, 1999.
func (m *measure) pseudo(c *MetricComparison, k *classing, metric eval.Metric, margin float64) {
	units := m.classUnits(k, m.worstAnswers(k, metric))
	both := newMatrices(k, units)
	before, okBase := defined(&both.base, metric)
	after, okHead := defined(&both.head, metric)
	if c.N = len(units); c.N == 0 || !okBase || !okHead {
		c.N, c.Advice = 0, undefinedMetric
		return
	}
	c.Base, c.Head, c.Estimate = before, after, after-before
	u, ok := pseudoUnits(units, both, metric)
	if !ok {
		c.N, c.Advice = 0, undefinedMetric
		return
	}
	for i := range units {
		u.count(right(units[i].base), right(units[i].head))
	}
	c.Gained, c.Regressed = u.gained, u.regressed
	scale := spread(both, metric)
	for _, x := range u.d {
		scale = max(scale, math.Abs(x))
	}
	c.perMargin = 1 / scale
	u.d = scaledBy(1/scale, u.d)
	m.smoothed(c, u, margin/scale)
	if c.Interval != nil {
		c.Interval = &[2]float64{scale * c.Interval[0], scale * c.Interval[1]}
	}
}

// defined is a metric of a matrix, false where it is undefined. A metric of one class needs answers of the class:
// precision without answers is 0 only by convention, and says nothing of future answers.
func defined(g *eval.Margins, metric eval.Metric) (float64, bool) {
	v, ok := g.Value(metric)
	if metric.Name == eval.Precision && g.Answered[metric.Class] < 1e-9 {
		return v, false
	}
	return v, ok
}

// right is the share of a unit's answers that are correct.
func right(all []matrixCell) (share float64) {
	for _, one := range all {
		if one.expected == one.answer {
			share += one.mass
		}
	}
	return share
}

// curvature widens the deviations of n pseudo-values by curvature/n: few units underestimate how much a metric
// curves. Without it, kappa of 40 cases in 10 classes is falsely "not worse" in 7.4 % (TestClassRatesHoldTheirLevel).
const curvature = 6

// pseudoUnits are the differences of the pseudo-values of both sides, shifted so that their mean is the difference
// of the metrics. The result is false when leaving out a unit makes the metric undefined.
func pseudoUnits(all []classUnit, both matrices, metric eval.Metric) (u units, ok bool) {
	u.reserve(len(all))
	size := both.head.Total / float64(len(all))
	for i := range all {
		one := &all[i]
		b, okBase := pseudoValue(&both.base, one.base, metric)
		h, okHead := pseudoValue(&both.head, one.head, metric)
		if !okBase || !okHead {
			return u, false
		}
		u.clustered = u.clustered || one.mass > 1
		u.add(b, h, one.mass/size)
	}
	before, _ := both.base.Value(metric)
	after, _ := both.head.Value(metric)
	mean, wider := u.mean(u.d), 1+curvature/float64(len(u.d))
	for i, x := range u.d {
		u.d[i] = after - before + wider*(x-mean)
	}
	return u, true
}

// pseudoValue is h times the metric minus h-1 times the metric without the unit, where h is the number of units of
// this size in the total.
func pseudoValue(g *eval.Margins, unit []matrixCell, metric eval.Metric) (float64, bool) {
	size := 0.0
	for _, one := range unit {
		size += one.mass
	}
	whole, _ := g.Value(metric)
	h := g.Total / size
	shift(g, unit, -1)
	without, ok := defined(g, metric)
	shift(g, unit, 1)
	return h*whole - (h-1)*without, ok
}

// small is the share of a matrix that is moved to differentiate a metric numerically.
const small = 1e-6

// slope is the derivative of a metric by the share of cases with this expected class and answer.
func slope(g *eval.Margins, metric eval.Metric, expected, answer int) float64 {
	before, _ := g.Value(metric)
	step := small * g.Total
	g.Add(expected, answer, step)
	after, _ := g.Value(metric)
	g.Add(expected, answer, -step)
	return (after - before) / small
}

// spread bounds how far one unit can change the difference of a metric: the best answer on one side and the worst
// on the other.
func spread(both matrices, metric eval.Metric) (most float64) {
	for expected, support := range both.head.Support {
		if support == 0 && both.base.Support[expected] == 0 {
			continue
		}
		base, head := slopes(&both.base, metric, expected), slopes(&both.head, metric, expected)
		most = max(most, slices.Max(head)-slices.Min(base), slices.Max(base)-slices.Min(head))
	}
	return most
}

func slopes(g *eval.Margins, metric eval.Metric, expected int) (out []float64) {
	for answer := range len(g.Support) + 1 {
		out = append(out, slope(g, metric, expected, answer))
	}
	return out
}

// worstAnswers finds, for each expected class, the answer that lowers a metric of head most.
func (m *measure) worstAnswers(k *classing, metric eval.Metric) func(expected int) int {
	if !m.worst {
		return nil
	}
	scored := *m
	scored.worst = false
	both := newMatrices(k, scored.classUnits(k, nil))
	known := map[int]int{}
	return func(expected int) int {
		answer, ok := known[expected]
		if !ok {
			all := slopes(&both.head, metric, expected)
			answer = slices.Index(all, slices.Min(all))
			known[expected] = answer
		}
		return answer
	}
}
