package suite

import (
	"errors"
	"fmt"
	"slices"

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
	if problem, bad := errors.AsType[*expr.SyntaxError](err); bad {
		e.Value.ErrorfAt(problem.Offset, problem.Hint, "in the metric `%s`: %s", e.Name(), problem.Message)
		return nil
	}
	if len(program.Reads()) == 0 {
		e.Value.Errorf("such as (precision + recall) / 2", "the metric `%s` names no scorer", e.Name())
		return nil
	}
	return &DerivedMetric{e.Name(), program}
}
