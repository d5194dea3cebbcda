package runner

import "github.com/evalrun/evalrun/eval"

// derive computes the derived metrics. A value outside 0 to 1 makes the trial an error, since its mean would have no
// meaning.
func (a *scoring) derive() {
	a.result.Metrics = nil
	for _, m := range a.trial.derived {
		value, ok, err := m.Of(a.result.Scores)
		switch {
		case err != nil && a.result.Err() == nil:
			a.failed(eval.Errorf(eval.KindUnscored, "%s", err))
		case ok:
			if a.result.Metrics == nil {
				a.result.Metrics = map[string]float64{}
			}
			a.result.Metrics[m.Name] = value
		}
	}
}
