package runner

import "github.com/evalrun/evalrun/eval"

// derive computes the derived metrics. One that is no share makes the trial an error: nobody could say what its mean is.
func (a *asked) derive() {
	a.result.Metrics = nil
	for _, m := range a.trial.derived {
		value, ok, err := m.Of(a.result.Scores)
		switch {
		case err != nil && a.result.Error == nil:
			a.failed(eval.Errorf(eval.KindUnscored, "%s", err))
		case ok:
			if a.result.Metrics == nil {
				a.result.Metrics = map[string]float64{}
			}
			a.result.Metrics[m.Name] = value
		}
	}
}
