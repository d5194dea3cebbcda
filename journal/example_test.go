package journal_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// A report of one's own walks a document: its summary, its rows (a case each), and the trials of the rows that matter. Runs that
// evalrun has written are opened the same way, by the run directory.
func ExampleDocument() {
	dir, err := os.MkdirTemp("", "run-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := writeRun(filepath.Join(dir, "run")); err != nil {
		fmt.Println(err)
		return
	}

	d, err := journal.Open(filepath.Join(dir, "run"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	for _, s := range d.Summary.Suites {
		for _, arm := range s.Arms {
			rate, _ := arm.PassRate()
			fmt.Printf("%s on %s: %.0f %% of %d cases\n", s.Name, arm.Name, 100*rate, arm.Scored)
		}
	}
	for row := range d.Rows() {
		if row.Counts.Fail == 0 {
			continue
		}
		for r, err := range d.Read(row) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%s: %q (%s)\n", row.Case, r.Response.Text(), r.Scores[0].Reason)
		}
	}
	// Output:
	// capitals on pro/direct: 50 % of 2 cases
	// japan: "Osaka" (it is Tokyo)
}

func writeRun(dir string) error {
	w, err := journal.Create(dir, &eval.Run{ID: "example", Plan: eval.RunPlan{Trials: 2, Arms: []string{"pro/direct"}}}, nil)
	if err != nil {
		return err
	}
	end := eval.End{Reason: eval.EndCompleted}
	for n, one := range []struct {
		country, capital string
		ending           eval.Ending
		score            eval.Score
	}{
		{"france", "Paris", eval.Passed{}, eval.Score{Scorer: "equals", Grade: eval.Graded{Value: 1, Passed: true}, Reason: "it is Paris"}},
		{"japan", "Osaka", eval.Failed{}, eval.Score{Scorer: "equals", Grade: eval.Graded{}, Reason: "it is Tokyo"}},
	} {
		r := eval.Result{
			Trial:  eval.Trial{N: n, ID: fmt.Sprintf("%016x", n), Suite: "capitals", Case: one.country, Arm: "pro/direct", Repeat: 1},
			Ending: one.ending, Scores: []eval.Score{one.score},
			Response: &eval.Response{Candidates: []eval.Candidate{{Text: one.capital, FinishReason: "STOP"}}},
		}
		if err := w.Append(&r); err != nil {
			return err
		}
		end.Counts.Add(r.Outcome())
	}
	return w.Finish(&end)
}
