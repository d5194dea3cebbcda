package judging

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
	"github.com/evalrun/evalrun/internal/files"
)

// label is a person's label of an answer. Only Case and Label are required.
type label struct {
	Suite  string `json:"suite"`
	Case   string `json:"case"`
	Arm    string `json:"arm"`
	Repeat int    `json:"repeat"`
	Scorer string `json:"scorer"` // name of the scorer whose judge is measured
	Label  string `json:"label"`  // pass, fail, or a choice
	Who    string `json:"by"`     // who gave it; labels without a name are of different people

	line int
	met  int // number of matching answers
}

// Labels other than choices.
const passWord, failWord = "pass", "fail"

type labelFile struct {
	file string
	all  []*label
	by   map[string][]*label // by case

	problems []labelProblem
}

type labelProblem struct {
	line int
	why  string
}

func (l *labelFile) problem(line int, format string, args ...any) {
	l.problems = append(l.problems, labelProblem{line, fmt.Sprintf(format, args...)})
}

// err returns all problems of the file, sorted by line; nil if there are none.
func (l *labelFile) err() error {
	if len(l.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(l.problems, func(a, b labelProblem) int { return a.line - b.line })
	all := make([]error, len(l.problems))
	for i, m := range l.problems {
		all[i] = fmt.Errorf("%s:%d: %s", l.file, m.line, m.why)
	}
	return eval.WithCode(eval.CodeBadInput, errors.Join(all...))
}

// maxLabels bounds a file of labels, in bytes.
const maxLabels = 64 << 20

// readLabels reads CSV or JSON lines. Problems of lines stay in the labelFile.
func readLabels(file string) (*labelFile, error) {
	data, err := files.ReadInput(file, maxLabels)
	if err != nil {
		return nil, eval.BadInput("the labels cannot be read: %w", err)
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	l := &labelFile{file: file, by: map[string][]*label{}}
	switch cmp.Or(strings.ToLower(filepath.Ext(file)), file) {
	case ".csv":
		l.readCSV(data)
	case ".jsonl", files.Standard:
		l.readLines(data)
	default:
		return nil, eval.BadInput("the labels in %s are neither .csv nor .jsonl: `evalrun help judge-check` shows both", file)
	}
	for _, one := range l.all {
		l.by[one.Case] = append(l.by[one.Case], one)
	}
	return l, nil
}

// readCSV requires a header and ignores columns that it does not know.
func (l *labelFile) readCSV(data []byte) {
	in := csv.NewReader(bytes.NewReader(data))
	in.FieldsPerRecord = -1
	header, err := in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return
	case err != nil:
		l.problem(1, "%s", err)
		return
	case !l.header(header):
		return
	}
	for {
		row, err := in.Read()
		var broken *csv.ParseError
		switch {
		case errors.As(err, &broken): // the csv reader has lost its position
			l.problem(broken.StartLine, "%s", err)
			return
		case err != nil:
			return
		}
		line, _ := in.FieldPos(0)
		l.row(line, func(name string) string {
			if i := slices.Index(header, name); i >= 0 && i < len(row) {
				return strings.TrimSpace(row[i])
			}
			return ""
		})
	}
}

// header reports missing columns. It folds the case of the names.
func (l *labelFile) header(columns []string) bool {
	labelColumns := []string{"suite", "case", "arm", "repeat", "scorer", "label", "by"}

	for i := range columns {
		columns[i] = strings.ToLower(strings.TrimSpace(columns[i]))
	}
	fine := true
	for _, need := range []string{"case", "label"} {
		if !slices.Contains(columns, need) {
			l.problem(1, "the header has no column `%s`; the columns are %s", need, strings.Join(labelColumns, ", "))
			fine = false
		}
	}
	return fine
}

func (l *labelFile) row(line int, cell func(string) string) {
	one := &label{
		Suite: cell("suite"), Case: cell("case"), Arm: cell("arm"), Scorer: cell("scorer"), Label: cell("label"), Who: cell("by"),
		line: line,
	}
	repeat := cell("repeat")
	var err error
	if one.Repeat, err = strconv.Atoi(cmp.Or(repeat, "0")); err != nil || one.Repeat < 1 && repeat != "" {
		l.problem(line, "`%s` is not a repeat: they count from 1", repeat)
		return
	}
	l.add(one)
}

func (l *labelFile) readLines(data []byte) {
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
			l.problem(number, "not a label: %s", err)
			continue
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			l.problem(number, "more than one JSON value in a line")
			continue
		}
		if one.Repeat < 0 {
			l.problem(number, "`repeat` counts from 1")
			continue
		}
		l.add(one)
	}
}

// add adds a label. An entry without a label is an answer that has no label yet.
func (l *labelFile) add(one *label) {
	if one.Case == "" {
		l.problem(one.line, "`case` is missing")
		return
	}
	if one.Label != "" {
		l.all = append(l.all, one)
	}
}

// fits reports whether the label is about an answer to its case.
func (l *label) fits(r *eval.Result) bool {
	return (l.Suite == "" || l.Suite == r.Suite) &&
		(l.Arm == "" || l.Arm == r.Arm) && (l.Repeat == 0 || l.Repeat == r.Repeat)
}

// choose returns the judge's score that the label is about, nil if the answer could not be judged.
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
			"the answer to case `%s` has scores of several judges: name one by `scorer`: %s", l.Case,
			strings.Join(names, ", "),
		)
	case score != nil || r.Outcome() == eval.Err || r.Outcome() == eval.Skip:
		return score, ""
	case l.Scorer != "":
		return nil, fmt.Sprintf("case `%s` has no judge's score named `%s`", l.Case, l.Scorer)
	}
	return nil, fmt.Sprintf("no judge scored case `%s`", l.Case)
}
