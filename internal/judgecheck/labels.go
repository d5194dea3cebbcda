package judgecheck

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/scorers"
)

// label is what people say of an answer. All but Case and Label are optional.
type label struct {
	Suite  string `json:"suite"`
	Case   string `json:"case"`
	Arm    string `json:"arm"`
	Repeat int    `json:"repeat"`
	Scorer string `json:"scorer"` // the name of the scorer whose judge is measured
	Label  string `json:"label"`  // pass, fail, or a choice

	line int
	met  int // how many answers it fits
}

// Labels that are no choices.
const passWord, failWord = "pass", "fail"

// labels are a file of them.
type labels struct {
	file string
	all  []*label
	by   map[string][]*label // by case
}

// maxLabels bounds a file of labels, in bytes.
const maxLabels = 64 << 20

// readLabels reads a file of CSV or of JSON lines. All mistakes are told at once.
func readLabels(file string) (*labels, error) {
	data, err := regular.ReadInput(file, maxLabels)
	if err != nil {
		return nil, exit.BadInput("the labels cannot be read: %w", err)
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	l := &labels{file: file, by: map[string][]*label{}}
	var mistakes []error
	switch cmp.Or(strings.ToLower(filepath.Ext(file)), file) {
	case ".csv":
		mistakes = l.readCSV(data)
	case ".jsonl", regular.Standard:
		mistakes = l.readLines(data)
	default:
		return nil, exit.BadInput("the labels in %s are neither .csv nor .jsonl", file)
	}
	if len(mistakes) > 0 {
		return nil, exit.With(exit.CodeBadInput, errors.Join(mistakes...))
	}
	for _, one := range l.all {
		l.by[one.Case] = append(l.by[one.Case], one)
	}
	return l, nil
}

func (l *labels) mistakef(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", l.file, line, fmt.Sprintf(format, args...))
}

var labelColumns = []string{"suite", "case", "arm", "repeat", "scorer", "label"}

// readCSV reads rows below a header that names the columns; further columns are left to people.
func (l *labels) readCSV(data []byte) (mistakes []error) {
	in := csv.NewReader(bytes.NewReader(data))
	in.FieldsPerRecord = -1
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return []error{l.mistakef(1, "%s", err)}
	}
	for i := range header {
		header[i] = strings.ToLower(strings.TrimSpace(header[i]))
	}
	for _, need := range []string{"case", "label"} {
		if !slices.Contains(header, need) {
			mistakes = append(mistakes, l.mistakef(1, "the header has no column `%s`; the columns are %s", need, strings.Join(labelColumns, ", ")))
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return mistakes
		}
		if err != nil { // what follows cannot be trusted
			return append(mistakes, fmt.Errorf("%s: %w", l.file, err))
		}
		line, _ := in.FieldPos(0)
		cell := func(name string) string {
			if i := slices.Index(header, name); i >= 0 && i < len(row) {
				return strings.TrimSpace(row[i])
			}
			return ""
		}
		one := &label{Suite: cell("suite"), Case: cell("case"), Arm: cell("arm"), Scorer: cell("scorer"), Label: cell("label"), line: line}
		repeat := cell("repeat")
		if one.Repeat, err = strconv.Atoi(cmp.Or(repeat, "0")); err != nil || one.Repeat < 1 && repeat != "" {
			mistakes = append(mistakes, l.mistakef(line, "`%s` is no repeat: they count from 1", repeat))
		}
		mistakes = append(mistakes, l.add(one)...)
	}
}

// readLines reads an object a line.
func (l *labels) readLines(data []byte) (mistakes []error) {
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, maxLabels)
	for number := 1; in.Scan(); number++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		one := &label{line: number}
		dec := json.NewDecoder(bytes.NewReader(in.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(one); err != nil {
			mistakes = append(mistakes, l.mistakef(number, "not a label: %s", err))
			continue
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			mistakes = append(mistakes, l.mistakef(number, "more than one JSON value in a line"))
			continue
		}
		if one.Repeat < 0 {
			mistakes = append(mistakes, l.mistakef(number, "`repeat` counts from 1"))
		}
		mistakes = append(mistakes, l.add(one)...)
	}
	return mistakes
}

// add takes up a label. One without a word is an answer that nobody has labelled yet.
func (l *labels) add(one *label) (mistakes []error) {
	if one.Case == "" {
		mistakes = append(mistakes, l.mistakef(one.line, "`case` is missing"))
	}
	known := append([]string{passWord, failWord}, scorers.JudgeChoices()...)
	if one.Label != "" && !slices.Contains(known, one.Label) {
		mistakes = append(mistakes, l.mistakef(one.line, "`%s` is no label: %s", one.Label, strings.Join(known, ", ")))
	}
	if len(mistakes) == 0 && one.Label != "" {
		l.all = append(l.all, one)
	}
	return mistakes
}

// fits reports whether the label is about an answer to its case.
func (l *label) fits(r *eval.Result) bool {
	return (l.Suite == "" || l.Suite == r.Suite) && (l.Arm == "" || l.Arm == r.Arm) && (l.Repeat == 0 || l.Repeat == r.Repeat)
}

// choose is the score of a judge that the label is about, nil when there is none since the answer could not be judged.
func (l *label) choose(r *eval.Result) (score *eval.Score, problem string) {
	var names []string
	for i := range r.Scores {
		s := &r.Scores[i]
		name := cmp.Or(s.Name, s.Scorer)
		if s.Judged != nil && (l.Scorer == "" || l.Scorer == name) {
			score, names = s, append(names, name)
		}
	}
	switch {
	case len(names) > 1:
		return nil, fmt.Sprintf(
			"several judges' scores stand with the answer to case `%s`: say which by `scorer`: %s", l.Case,
			strings.Join(names, ", "),
		)
	case score != nil || r.Outcome == eval.Err || r.Outcome == eval.Skip:
		return score, ""
	case l.Scorer != "":
		return nil, fmt.Sprintf("case `%s` has no judge's score named `%s`", l.Case, l.Scorer)
	}
	return nil, fmt.Sprintf("no judge was asked about case `%s`", l.Case)
}
