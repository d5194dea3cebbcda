package classification

// Report is a matrix with all that follows from it, as programs read it.
type Report struct {
	// Cases are how many cases are in the matrix, each once however often it was repeated.
	Cases float64 `json:"cases"`
	// Other are the answers outside of the classes.
	Other    float64 `json:"other"`
	Accuracy float64 `json:"accuracy"`
	// Kappa is nil where it is undefined: all labels and answers are of one class.
	Kappa    *float64 `json:"kappa"`
	Macro    Average  `json:"macro"`
	Weighted Average  `json:"weighted"`
	Classes  []Class  `json:"classes"`
	// Matrix has a row for each label and a column for each answer, in the order of Classes; its last column are the
	// answers outside of the classes.
	Matrix [][]float64 `json:"matrix"`
	// Errors are the trials that could not be judged, which are not in the matrix, as the caller counts them.
	Errors int `json:"errors"`
}

// Average is a mean over the classes that some case has as its label.
type Average struct {
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
}

// Class is one class in numbers.
type Class struct {
	Class     string  `json:"class"`
	Support   float64 `json:"support"`  // cases with this label
	Answered  float64 `json:"answered"` // answers of this class
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	// Undefined are the metrics that are 0 because they would divide by 0.
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
	if out.Other < none {
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

// class is one class in numbers.
func (g *Margins) class(i int, name string) Class {
	out := Class{
		Class: name, Support: g.Support[i], Answered: g.Answered[i],
		Precision: g.of(Precision, i), Recall: g.of(Recall, i), F1: g.of(F1, i),
	}
	if out.Answered < none {
		out.Undefined = append(out.Undefined, Precision)
	}
	if out.Support < none {
		out.Undefined = append(out.Undefined, Recall)
	}
	if len(out.Undefined) == 2 {
		out.Undefined = append(out.Undefined, F1)
	}
	return out
}
