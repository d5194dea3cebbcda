package overview

import "github.com/evalrun/evalrun/eval"

// colors of outcomes can be read on light and dark ground.
var colors = map[eval.Outcome]string{eval.Pass: "32", eval.Fail: "31", eval.Err: "35", eval.Skip: "36"}

// Paint puts a text into the colour of an outcome, where colours are wanted.
func Paint(color bool, outcome eval.Outcome, s string) string {
	if !color || s == "" {
		return s
	}
	return "\x1b[" + colors[outcome] + "m" + s + "\x1b[0m"
}
