package main

import (
	"cmp"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/suite"
)

type rankings struct {
	run string
	all []compare.Ranking
}

// Exit returns 0 if every suite has a ranking, and some arms are shown to be as close to the best as was asked.
func (r *rankings) Exit() int {
	codes := []int{eval.CodeOK}
	for i := range r.all {
		switch one := &r.all[i]; {
		case one.Why != "":
			codes = append(codes, eval.CodeIncomplete)
		case one.Within != nil && one.Within.Why != "":
			codes = append(codes, eval.CodeInconclusive)
		}
	}
	return eval.WorstCode(codes...)
}

// Write writes the rankings for people.
func (r *rankings) Write(screen term.Screen) error {
	return reports.Rankings(screen, r.all, layout(screen))
}

// WriteJSON writes the rankings for programs.
func (r *rankings) WriteJSON(screen term.Screen) error {
	return screen.JSON(map[string]any{"run": r.run, "ranking": r.all})
}

// rank ranks the arms of a run by the first metric of the options, or else by the pass rate.
func (f folder) rank(name string, o compareRequest) (*rankings, error) {
	doc, err := f.OpenBaseline(name)
	if err != nil {
		return nil, err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	by := gate.RankBy{Metric: eval.MetricPass, Alpha: cmp.Or(o.Rule.Alpha, eval.DefaultAlpha), Arms: o.Arms, Within: o.Within}
	if len(o.Rule.Metrics) > 0 {
		by.Metric = o.Rule.Metrics[0]
	}
	if by.Prices, err = session.PricesOf(doc, o.ByJudge.Options); err != nil {
		return nil, err
	}
	if by.Alpha > suite.MaxAlpha {
		return nil, eval.BadInput("--alpha %g: a ranking with this error rate is not informative; use %g or less", by.Alpha, suite.MaxAlpha)
	}
	gate.MeasureJudges(f.Dir, doc)
	all, err := gate.Rank(doc, by)
	return &rankings{doc.Run.ID, all}, err
}
