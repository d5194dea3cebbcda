package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Limits for a classification in a table; JSON and HTML have all of it.
const (
	fewMatrices    = 2  // arms whose matrix a short table shows; with more, it has one line each
	matrixClasses  = 12 // most classes of a matrix that is drawn
	maxClassRows   = 40 // most classes that are listed
	maxConfusions  = 10
	maxClassColumn = 24 // columns for a class name
)

type classified struct {
	suite, arm string
	*eval.Report
	confusions []eval.Confusion
}

func classifiedArms(d *journal.Document) (out []classified) {
	for s, a := range d.Summary.Arms {
		if a.Classification != nil {
			out = append(out, classified{s.Name, a.Name, a.Classified(), a.Classification.Confusions(maxConfusions)})
		}
	}
	return out
}

// figures are the metrics over all classes, on one line.
func (c *classified) figures() string {
	kappa := "kappa undefined: one class alone"
	if c.Kappa != nil {
		kappa = fmt.Sprintf("kappa %.3f", *c.Kappa)
	}
	if c.Cases == 0 {
		return "no answer could be judged" + c.unscored()
	}
	text := fmt.Sprintf(
		"accuracy %.3f, macro F1 %.3f, weighted F1 %.3f, %s, n=%s", c.Accuracy, c.Macro.F1, c.Weighted.F1, kappa, caseCount(c.Cases),
	)
	if c.Other > 0 {
		text += fmt.Sprintf("; %s outside of the classes", caseCount(c.Other))
	}
	return text + c.unscored()
}

// unscored says how many trials are not in the matrix.
func (c *classified) unscored() string {
	if c.Errors == 0 {
		return ""
	}
	return fmt.Sprintf("; without %s that could not be judged", diag.Count(c.Errors, "trial"))
}

// matrixRows is the confusion matrix: rows are labels, columns answers under the headings. figures appends the
// metrics of each row's class.
func (c *classified) matrixRows(headings, names []string, figures bool) (header []string, rows [][]string) {
	header = append([]string{"label"}, headings...)
	if c.Other > 0 {
		header = append(header, eval.OtherAnswers)
	}
	columns := len(header) - 1
	if figures {
		header = append(header, "precision", "recall", "F1")
	}
	for i := range c.Classes {
		row := []string{names[i]}
		for _, n := range c.Matrix[i][:columns] {
			row = append(row, caseCount(n))
		}
		if figures {
			row = append(row, classFigures(&c.Classes[i])...)
		}
		rows = append(rows, row)
	}
	return header, rows
}

// classFigures are precision, recall and F1 of a class.
func classFigures(c *eval.Class) []string {
	return []string{
		share(c.Precision, c, eval.Precision), share(c.Recall, c, eval.Recall), share(c.F1, c, eval.F1),
	}
}

// classRows has a row per class: all, or those with the lowest F1.
func (c *classified) classRows(name func(string) string) (rows [][]string, left int) {
	classes := slices.Clone(c.Classes)
	if left = max(0, len(classes)-maxClassRows); left > 0 {
		slices.SortStableFunc(classes, func(a, b eval.Class) int { return cmp.Compare(a.F1, b.F1) })
		classes = classes[:maxClassRows]
	}
	for i := range classes {
		one := &classes[i]
		rows = append(rows, append([]string{name(one.Class), caseCount(one.Support), caseCount(one.Answered)}, classFigures(one)...))
	}
	return rows, left
}

func classHeader() []string {
	return []string{"class", "cases", "answered", "precision", "recall", "F1"}
}

// caseCount formats a number of cases, which repeats can make fractional.
func caseCount(n float64) string {
	if whole := math.Round(n); math.Abs(n-whole) < 1e-6 {
		return fmt.Sprintf("%.0f", whole)
	}
	return fmt.Sprintf("%.1f", n)
}

// share formats a metric of a class, with a mark when it is 0 because of a division by 0.
func share(v float64, of *eval.Class, metric string) string {
	if slices.Contains(of.Undefined, metric) {
		return "0*"
	}
	return fmt.Sprintf("%.3f", v)
}

// marked explains the mark of share, "" when there is none.
func (c *classified) marked() string {
	if slices.ContainsFunc(c.Classes, func(one eval.Class) bool { return len(one.Undefined) > 0 }) {
		return "* undefined: the class has no cases, or was never answered"
	}
	return ""
}

// confusionWords describes a wrong answer.
func confusionWords(c eval.Confusion, name func(string) string) string {
	answer := eval.OtherAnswers
	if c.Answer != "" {
		answer = name(c.Answer)
	}
	return fmt.Sprintf("%s x %s answered as %s", caseCount(c.Count), name(c.Expected), answer)
}

// classifications writes a line for each arm with a classification, and its matrix if there are at most most arms.
func (t *screen) classifications(most int) {
	all := classifiedArms(t.d)
	for i := range all {
		c := &all[i]
		if i == 0 || len(all) <= most {
			t.out.WriteString("\n")
		}
		t.wrapped("", fmt.Sprintf("%s on %s: %s", c.suite, c.arm, c.figures()))
		if len(all) <= most && c.Cases > 0 {
			t.classification(c)
		}
	}
	if len(all) > most {
		t.line("confusion matrices: `-v`, or JSON and HTML")
	}
}

// classification draws the matrix of an arm. If the metrics do not fit next to it, the classes and largest
// confusions follow; if it does not fit at all, they replace it.
func (t *screen) classification(c *classified) {
	header, rows, whole := t.fitting(c)
	if rows != nil {
		t.grid(plain(header...), rows)
	}
	if !whole {
		t.classList(c)
	}
	if marked := c.marked(); marked != "" {
		t.line(" %s", marked)
	}
	if !whole {
		for _, one := range c.confusions {
			t.line(" %s", confusionWords(one, diag.CleanLine))
		}
	}
}

// classList draws one line per class.
func (t *screen) classList(c *classified) {
	rows, left := c.classRows(func(class string) string {
		return displaywidth.TruncateString(diag.CleanLine(class), 2*maxClassColumn, "...")
	})
	t.grid(plain(classHeader()...), rows)
	if left > 0 {
		t.line(" %s with a higher F1 not listed", diag.Count(left, "more class"))
	}
}

// fitting is a matrix that fits, nil when none does: headed by class names or, failing that, by letters. whole
// says that it includes the metrics of each class.
func (t *screen) fitting(c *classified) (header []string, rows [][]string, whole bool) {
	if len(c.Classes) > matrixClasses {
		return nil, nil, false
	}
	var names, letters, lettered []string
	for i := range c.Classes {
		name := displaywidth.TruncateString(diag.CleanLine(c.Classes[i].Class), maxClassColumn, "...")
		letter := string(rune('a' + i))
		names, letters, lettered = append(names, name), append(letters, letter), append(lettered, letter+" = "+name)
	}
	for _, way := range []struct {
		headings, names []string
		whole           bool
	}{{names, names, true}, {letters, lettered, true}, {letters, lettered, false}} {
		if header, rows = c.matrixRows(way.headings, way.names, way.whole); total(gridWidths(plain(header...), rows)) <= t.o.Width {
			return header, rows, way.whole
		}
	}
	return nil, nil, false
}
