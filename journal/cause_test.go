package journal

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func causesOf(t *testing.T, e *eval.Error, grade eval.Grade) (ofError, ofScore eval.Cause) {
	t.Helper()
	r := answered("a", "t/p", eval.Err, 1)
	r.Ending, r.Scores = eval.Errored{Error: e}, []eval.Score{{Scorer: "judge", Grade: grade}}
	d := document(t, nil, r)
	for row := range d.Rows() {
		for a, err := range d.Accounts(row) {
			expect.OK(t, err)
			unscored, _ := a.Scores[0].Grade.(eval.Unscored)
			return a.Error.Cause, unscored.Cause
		}
	}
	t.Fatal("got no account, want one")
	return "", ""
}

func TestCausesComeBackFromTheFile(t *testing.T) {
	t.Parallel()
	e := &eval.Error{Kind: eval.KindMalformed, Message: "any text", Cause: eval.UnreadByJQ}
	ofError, ofScore := causesOf(t, e, eval.Unscored{Why: "another", Cause: eval.NeverCalled})
	expect.Same(t, "cause of the error", ofError, eval.UnreadByJQ)
	expect.Same(t, "cause of the score", ofScore, eval.NeverCalled)
}

// Files of evalrun 0.1 have the texts alone.
func TestTextsWithoutACauseHaveTheCauseTheyMean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]eval.Cause{
		"the jq of `answer`, .x, finds nothing in the response: {}":                                          eval.UnreadByJQ,
		"an answer with the jq of `answer`":                                                                  "",
		"there is no expected answer yet: `evalrun accept RUN` writes it":                                    eval.NothingAccepted,
		"there is no expected answer yet, and this one cannot be: it is empty or was blocked":                "",
		"the judge `j` was never asked this question, and rescore calls no judge: `evalrun rescore RUN ...`": eval.NeverCalled,
		"the answer has no safety ratings":                                                                   "",
	} {
		ofError, ofScore := causesOf(t, eval.Errorf(eval.KindUnscored, "%s", text), eval.Unscored{Why: text})
		expect.Same(t, "cause of the error: "+text, ofError, want)
		expect.Same(t, "cause of the score: "+text, ofScore, want)
	}
	other, _ := causesOf(t, eval.Errorf(eval.KindStatus, "there is no expected answer yet: says the service"), nil)
	expect.Same(t, "cause of a text of the service", other, "")
}
