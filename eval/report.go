package eval

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

// class computes the metrics of one class.
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
