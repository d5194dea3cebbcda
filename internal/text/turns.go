package text

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// HasSteps reports whether the suite answered function calls of the model in a trial, so that its turns are
// steps.
func HasSteps(r *eval.Result) bool {
	return slices.ContainsFunc(r.Calls, func(t eval.AnsweredCall) bool { return t.Results != nil })
}

// SuiteContents returns the contents of a request that come from the suite. It omits replies of the model
// and results of its calls, which are in the turns of the trial.
func SuiteContents(r *eval.Result) []eval.Content {
	switch {
	case r.Request == nil:
		return nil
	case len(r.Calls) == 0:
		return r.Request.Contents
	case r.Request.Live || !HasSteps(r):
		return userContents(r.Request.Contents, r.Calls)
	}
	contents := r.Request.Contents
	for steps := len(r.Calls); steps > 0; steps-- { // the results of the last step may not have been sent
		from := len(contents) - 2*steps
		if from > 0 && areSteps(contents[from:], r.Calls[:steps]) {
			return contents[:from]
		}
	}
	return contents
}

// userContents omits the model's turns and the results of its calls: in a live chat, none of them come from
// the suite.
func userContents(contents []eval.Content, turns []eval.AnsweredCall) []eval.Content {
	var out []eval.Content
	replies, results := 0, false // the next contents are results
	for _, c := range contents {
		switch {
		case c.Role == eval.RoleModel:
			results = replies < len(turns) && turns[replies].Results != nil
			replies++
		case results:
			results = false
		default:
			out = append(out, c)
		}
	}
	return out
}

// areSteps reports whether contents are turns of the model, each followed by the results of its calls.
func areSteps(contents []eval.Content, turns []eval.AnsweredCall) bool {
	for i := range turns {
		own, back := &contents[2*i], &contents[2*i+1]
		if own.Role != eval.RoleModel || !holdResults(back, turns[i].Results) {
			return false
		}
	}
	return true
}

// holdResults reports whether a content has the results, which may be withheld.
func holdResults(c *eval.Content, results []eval.CallResult) bool {
	return len(c.Parts) == len(results) && len(results) > 0 &&
		!slices.ContainsFunc(c.Parts, func(p eval.Part) bool { return !mayBeResult(p) })
}

func mayBeResult(p eval.Part) bool {
	switch p := p.(type) {
	case eval.ResultPart:
		return true
	case eval.TextPart:
		return p.Withheld != nil
	case eval.ImagePart, eval.DataPart, eval.RawPart:
	}
	return false
}
