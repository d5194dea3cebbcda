// Package text puts trials into words, and gives texts the form in which people read them.
package text

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// CutText is the beginning of a text that is longer than most bytes.
func CutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// Sentence begins a text with a capital letter.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// SomeNames lists the first of some names, and counts the others.
func SomeNames(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// maxSelectors bounds the values of a flag in the words of a selection.
const maxSelectors = 3

// Selection is the flags that selected the trials of a run; "" when none did.
func Selection(o *eval.Options) string {
	var words []string
	for _, one := range []struct {
		flag   string
		values []string
	}{
		{"--case", o.Cases},
		{"--tag", o.Tags},
		{"--arm", o.Arms},
		{"--sample", given(o.Sample)},
		{"--failed-in", given(o.FailedIn)},
		{"--changed-since", given(o.ChangedSince)},
		{"--shard", given(o.Shard)},
	} {
		if len(one.values) > 0 {
			shown := make([]string, len(one.values))
			for i, value := range one.values {
				shown[i] = ShellWord(value)
			}
			words = append(words, one.flag+" "+SomeNames(shown, maxSelectors))
		}
	}
	if o.Handpicked() {
		words = append(words, "single tests")
	}
	return strings.Join(words, " ")
}

// maxWeaker bounds the weaker rules that a line lists.
const maxWeaker = 20

// Weaker says what is weaker than in another version, in lines; none where nothing is.
func Weaker(than *eval.GateOrigin) (lines []string) {
	if len(than.Weaker) > 0 {
		counts := ""
		if than.Counts {
			counts = ", which counts instead"
		}
		lines = append(lines, "weaker than the gate of "+than.Name+counts+": "+SomeNames(than.Weaker, maxWeaker))
	}
	if len(than.Cases) > 0 {
		lines = append(lines, "changed in the cases since "+than.Name+": "+strings.Join(than.Cases, ", "))
	}
	return lines
}

// given is the value of an option, nothing where it has none.
func given[T comparable](value T) []string {
	var none T
	if value == none {
		return nil
	}
	return []string{fmt.Sprint(value)}
}

// Tone says by a colour how good something is. Its value is the number of the colour in a terminal; all can be
// read on light and dark ground.
type Tone string

// The tones.
const (
	Good    Tone = "32" // green
	Bad     Tone = "31" // red
	Alarm   Tone = "35" // magenta: an error, so that it is unknown how good
	Neutral Tone = "36" // cyan: undecided
)

// ToneOf returns the tone of an outcome.
func ToneOf(outcome eval.Outcome) Tone {
	switch outcome {
	case eval.Pass:
		return Good
	case eval.Fail:
		return Bad
	case eval.Err:
		return Alarm
	}
	return Neutral
}

// Paint puts a text into the colour of a tone, where colours are wanted.
func Paint(color bool, tone Tone, s string) string {
	if !color || s == "" {
		return s
	}
	return "\x1b[" + string(tone) + "m" + s + "\x1b[0m"
}

// Describe names a trial for people: suite, case, arm and, among several, the repeat.
func Describe(t *eval.Trial) string {
	s := DescribeCase(t)
	if t.Repeat > 1 {
		s += fmt.Sprintf(" (repeat %d)", t.Repeat)
	}
	return s
}

// DescribeCase names what all repeats of a trial have in common: suite, case and arm.
func DescribeCase(t *eval.Trial) string {
	return strings.TrimSpace(fmt.Sprintf("%s / %s on %s", t.Suite, t.Case, t.Arm))
}
