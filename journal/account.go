package journal

import (
	"encoding/json"
	"iter"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
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
			data, err := d.file.lineAt(e.position())
			if err == nil {
				err = a.scan(data)
			}
			if !yield(a, err) {
				return
			}
		}
	}
}

func (a *Failing) scan(data []byte) (err error) {
	gjson.ParseBytes(data).ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "repeat":
			a.Repeat = int(v.Int())
		case "error":
			err = json.Unmarshal([]byte(v.Raw), &a.Error)
		case "judgements":
			a.HasReplies = len(v.Array()) > 0
		case "scores":
			v.ForEach(func(_, score gjson.Result) bool {
				if score.Get("passed").Bool() {
					return true
				}
				var s eval.Score
				err = json.Unmarshal([]byte(score.Raw), &s)
				a.Scores = append(a.Scores, s)
				return err == nil
			})
		}
		return err == nil
	})
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
