package scorers

import (
	"fmt"
	"strings"
)

// What a judge is shown of a trajectory, in bytes: of each text, of all of them, and of one that is folded for the sake of later ones.
const (
	maxStep       = 4 << 10
	maxTrajectory = 64 << 10
	foldedStep    = 200
	fenceBytes    = 64 // around each text
)

// trajectoryParts are what the models that a program called said, the tools that they called, what came back, and how it ended.
func trajectoryParts(a *Answer) (out []fencedText) {
	for _, call := range a.modelCalls() {
		if call.Error != nil {
			out = append(out, fencedText{"status", "the call of the model " + call.Model + " failed: " + call.Error.Error()})
		}
		if call.Response != nil && len(call.Response.Candidates) > 0 {
			out = append(out, pieceParts(&call.Response.Candidates[0])...)
		}
		for i := range call.Results {
			out = append(out, resultPart(&call.Results[i]))
		}
	}
	if a.Timing.Limit != "" {
		out = append(out, fencedText{"status", "it was ended at its limit: " + a.Timing.Limit})
	}
	return out
}

// noTrajectory says why there is none to judge, "" if there is one.
func noTrajectory(a *Answer) string {
	switch {
	case a.Request.ShowsModels() && len(a.modelCalls()) == 0:
		return "there is no trajectory to judge: the program made no call of a model through evalrun's proxy"
	case a.Request != nil && a.Request.App != nil && !a.Request.ShowsModels():
		return "there is no trajectory to judge: the calls of the application are not seen"
	}
	return ""
}

// folded cuts texts in the middle: long ones, and if all are too long together, the oldest ones further, until these are left out. What
// the user and the suite said stays.
func folded(parts []fencedText) (out []fencedText) {
	size, left := 0, 0
	short := make([]string, len(parts))
	for i, p := range parts {
		if short[i] = p.text; !isTask(p) {
			short[i] = inShort(p.text, maxStep)
		}
		size += len(short[i]) + fenceBytes
	}
	for _, most := range []int{foldedStep, 0} {
		for i := 0; i < len(parts) && size > maxTrajectory; i++ {
			if isTask(parts[i]) {
				continue
			}
			before := len(short[i])
			if short[i] = inShort(parts[i].text, most); most == 0 {
				short[i], before = "", before+fenceBytes
				left++
			}
			size += len(short[i]) - before
		}
	}
	for i, p := range parts {
		if short[i] != "" || p.text == "" {
			out = append(out, fencedText{p.name, short[i]})
		} else if left > 0 {
			out = append(out, fencedText{"status", fmt.Sprintf("%d earlier texts are left out here", left)})
			left = 0
		}
	}
	return out
}

func isTask(p fencedText) bool { return p.name == "system" || p.name == "user" }

// inShort is a text without its middle if it is longer than a number of bytes.
func inShort(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := text[:most/2], text[len(text)-most/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[%d bytes left out]\n", len(text)-most) + strings.ToValidUTF8(tail, "")
}
