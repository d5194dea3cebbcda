package reports

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// maxCell is the longest text in a spreadsheet cell, in UTF-16 code units.
const maxCell = 32_767

// byteOrderMark makes spreadsheets read the file as UTF-8.
const byteOrderMark = "\ufeff"

// writeCSV writes one trial a line for spreadsheets (RFC 4180), in the order of the plan, with a column `metric NAME` for each named
// scorer and derived metric. A text that looks like a formula begins with an apostrophe; long ones are cut.
func writeCSV(w io.Writer, d *journal.Document, _ Options) error {
	if _, err := io.WriteString(w, byteOrderMark); err != nil {
		return err
	}
	metrics := metricNames(d)
	out := csv.NewWriter(w)
	out.UseCRLF = true
	header := slices.Clone(csvColumns)
	for _, m := range metrics {
		header = append(header, cell("metric "+m))
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for r, err := range d.Trials() {
		if err != nil {
			return err
		}
		if err := out.Write(csvRow(r, &d.Run, metrics)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// metricNames are the named scorers of a run, in alphabetical order.
func metricNames(d *journal.Document) []string {
	var out []string
	for _, a := range d.Summary.Arms {
		for _, m := range a.Metrics {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// csvColumns are the columns before the metrics, in the order of csvRow.
var csvColumns = []string{
	"suite", "case", "arm", "target", "prompt", "model", "repeat", "outcome", "reason", "answer", "finishReason", "blocked",
	"promptTokens", "outputTokens", "totalTokens", "tokensSource", "latencyMs", "firstTokenMs", "attempts", "errorKind", "errorStatus",
	"tags", "cluster", "quarantine", "emulator", "at", "n", "id", "caseId", "integrity", "limit",
}

func csvRow(r *eval.Result, run *eval.Run, metrics []string) []string {
	app := appOf(run, r.Suite, r.Target)
	row := []string{
		cell(r.Suite), cell(r.Case), cell(r.Arm), cell(r.Target), cell(r.Prompt), cell(cmp.Or(app, r.Model)), strconv.Itoa(r.Repeat),
		cell(string(r.Outcome())), cell(text.Why(r)),
	}
	row = append(row, csvAnswer(r.Response)...)
	row = append(row, csvCost(r)...)
	quarantine := ""
	if r.Quarantine != nil {
		quarantine = "until " + r.Quarantine.Until + ": " + r.Quarantine.Reason
	}
	row = append(
		row, cell(strings.Join(r.Tags, ", ")), cell(r.Cluster), cell(quarantine), strconv.FormatBool(run.Emulator && app == ""), cell(r.At),
		strconv.Itoa(r.N), cell(r.ID), cell(r.CaseID),
	)
	if t := r.Timing; t != nil {
		row = append(row, cell(string(t.Integrity)), cell(t.Limit))
	} else {
		row = append(row, "", "")
	}
	for _, name := range metrics {
		row = append(row, csvMetric(r, name))
	}
	return row
}

func csvMetric(r *eval.Result, name string) string {
	if derived, ok := r.Metrics[name]; ok {
		return decimal(derived)
	}
	value := ""
	for _, s := range r.Scores {
		if number, ok := s.Value(); ok && s.Name == name {
			value = decimal(number)
		}
	}
	return value
}

// csvAnswer is the text of the first candidate with its calls, its finish reason, and the block reason.
func csvAnswer(r *eval.Response) []string {
	switch {
	case r == nil:
		return []string{"", "", ""}
	case len(r.Candidates) == 0:
		return []string{"", "", cell(r.Blocked())}
	}
	first := &r.Candidates[0]
	body := text.Candidate(first)
	if first.Withheld != nil {
		body = strings.Join(append([]string{text.Kept("", first.Withheld)}, text.CallLines(first.FunctionCalls())...), "\n")
	}
	return []string{cell(body), cell(first.FinishReason), cell(r.Blocked())}
}

// csvCost has tokens, time and errors; unknown values are empty.
func csvCost(r *eval.Result) []string {
	row := make([]string, 9)
	if u := r.Usage; u != nil {
		copy(
			row,
			[]string{strconv.Itoa(u.PromptTokens), strconv.Itoa(u.OutputTokens), strconv.Itoa(u.TotalTokens), cell(string(u.Source))},
		)
	}
	if t := r.Timing; t != nil {
		row[4], row[6] = decimal(t.LatencyMs), strconv.Itoa(t.Attempts)
		if t.FirstTokenMs > 0 {
			row[5] = decimal(t.FirstTokenMs)
		}
	}
	if e := r.Err(); e != nil {
		row[7] = cell(string(e.Kind))
		if e.Status != 0 {
			row[8] = strconv.Itoa(e.Status)
		}
	}
	return row
}

// decimal formats a number so that every spreadsheet can read it.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// formulaStarts are characters that may begin a formula, including full-width forms that some spreadsheets accept.
const formulaStarts = "=+-@＝＋－＠"

// cell makes a text safe for a cell: no control characters, no formula, no more characters than a cell can hold.
func cell(s string) string {
	cut := 0
	if len(s) > 4*maxCell { // too long whatever the characters are
		s, cut = s[:4*maxCell], utf8.RuneCountInString(s[4*maxCell:])
	}
	s = diag.Clean(strings.ReplaceAll(s, "\r\n", "\n"))
	if isFormula(s) {
		s = "'" + s
	}
	const room = 40 // for the note on the cut
	units, end := 0, 0
	for i, r := range s {
		if units += utf16.RuneLen(r); units <= maxCell-room {
			end = i + utf8.RuneLen(r)
		}
	}
	if units <= maxCell {
		return s
	}
	return s[:end] + "... " + strconv.Itoa(utf8.RuneCountInString(s[end:])+cut) + " more characters"
}

// isFormula reports whether a spreadsheet may read a text as a formula.
func isFormula(s string) bool {
	first, size := utf8.DecodeRuneInString(strings.TrimLeft(s, " \t\n\u00a0\u3000"))
	return strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "\n") || size > 0 && strings.ContainsRune(formulaStarts, first)
}
