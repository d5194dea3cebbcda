package labels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A label that cannot be kept says which of its fields is invalid, and what the field takes.
func TestInvalidLabelsSayWhatTheirFieldsTake(t *testing.T) {
	t.Parallel()
	tooLong := strings.Repeat("x", MaxComment+1)
	for want, change := range map[string]func(*Label){
		`"a/b" is not the name of a suite: letters, digits, dot, dash and underscore, 200 at most`: func(l *Label) { l.Suite = "a/b" },
		"the name of the person is empty":                                        func(l *Label) { l.Who = " " },
		"the name of the person has more than 100 bytes":                         func(l *Label) { l.Who = strings.Repeat("x", maxWho+1) },
		"the name of the person holds a line break or another control character": func(l *Label) { l.Who = "a\nb" },
		"`caseId` is missing":                                                    func(l *Label) { l.CaseID = "" },
		"`arm` is missing":                                                       func(l *Label) { l.Arm = "" },
		"`repeat` counts from 1":                                                 func(l *Label) { l.Repeat = 0 },
		"`answerHash` is not a SHA-256 hash of 64 hexadecimal digits":            func(l *Label) { l.AnswerHash = "abc" },
		`the label "maybe" is neither pass nor fail, nor empty`:                  func(l *Label) { l.Label = "maybe" },
		"the comment has more than":                                              func(l *Label) { l.Comment = tooLong },
		"`at` is not a time such as 2027-01-31T12:00:00Z":                        func(l *Label) { l.At = "today" },
	} {
		var l Label
		l.Suite, l.Who, l.At, l.CaseID, l.Arm, l.Repeat = "s", "ann", "2027-01-31T12:00:00Z", "x", "pro/p", 1
		l.AnswerHash, l.Label = strings.Repeat("0", 64), Pass
		expect.OK(t, l.Check())
		change(&l)
		expect.Contains(t, "error", fmt.Sprint(l.Check()), want)
	}
}
