package journal

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Failing says why a trial did not pass. It is read without the request and the answer, which make up most of a line.
type Failing struct {
	Place      int // place of the trial in the order of the plan, for Document.Trial
	Arm        string
	Outcome    eval.Outcome
	Repeat     int
	Scores     []eval.Score // the scores that did not pass
	Error      *eval.Error
	HasReplies bool // whether there are replies of judges
}

// Accounts yields why trials of a row failed or could not be scored.
func (d *Document) Accounts(row Row) iter.Seq2[*Failing, error] {
	return func(yield func(*Failing, error) bool) {
		for place := range row.trials {
			e := &d.index.entries[place]
			outcome := d.index.outcomeOf(e)
			if outcome != eval.Fail && outcome != eval.Err {
				continue
			}
			a := &Failing{Place: place, Arm: d.index.shapes[e.shape].arm, Outcome: outcome}
			data, err := d.file.lineAt(e.place())
			if err == nil {
				err = a.scan(data)
			}
			if !yield(a, err) {
				return
			}
		}
	}
}

func (a *Failing) scan(data []byte) error {
	var s struct {
		Repeat     int               `json:"repeat"`
		Error      *eval.Error       `json:"error"`
		Scores     []eval.Score      `json:"scores"`
		Judgements []json.RawMessage `json:"judgements"`
	}
	err := wirejson.Decode(data, &s)
	a.Repeat, a.Error, a.HasReplies = s.Repeat, s.Error, len(s.Judgements) > 0
	a.Scores = slices.DeleteFunc(s.Scores, eval.Score.Passed)
	a.fillCauses()
	return err
}

// Measure is the time and the tokens of a trial.
type Measure struct {
	Place     int // in the order of the plan
	Outcome   eval.Outcome
	LatencyMs float64
	Tokens    int
}

// Measures yields the time and the cost of the trials, in the order of the plan, from the index.
func (d *Document) Measures(yield func(Measure) bool) {
	for i := range d.index.entries {
		e := &d.index.entries[i]
		if !yield(Measure{i, d.index.outcomeOf(e), float64(e.latencyMs), int(e.total)}) {
			return
		}
	}
}

// fillCauses derives missing causes of the error and the scores of a line from their texts: run files of evalrun 0.1 have no
// key for them. Nothing else reads a state out of the texts of a run file, and these texts are fixed, because the
// files are. A later error without a cause may quote one of them. Then a report suggests a command that does not help;
// nothing else depends on a cause.
func (a *Failing) fillCauses() {
	if e := a.Error; e != nil && e.Cause == "" && (e.Kind == eval.KindMalformed || e.Kind.IsUnscored()) {
		e.Cause = causeOf(e.Message)
	}
	for i := range a.Scores {
		if u, ok := a.Scores[i].Grade.(eval.Unscored); ok && u.Cause == "" {
			u.Cause = causeOf(u.Why)
			a.Scores[i].Grade = u
		}
	}
}

// causeOf is the cause that a text of evalrun 0.1 means.
func causeOf(text string) eval.Cause {
	switch {
	case strings.HasPrefix(text, "the jq of `"):
		return eval.UnreadByJQ
	case strings.Contains(text, "there is no expected answer yet:"): // with a comma the answer cannot become it
		return eval.NothingAccepted
	case strings.Contains(text, "the judge `") && strings.Contains(text, "never asked"):
		return eval.NeverCalled
	}
	return ""
}
