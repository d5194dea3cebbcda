package scorers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// panelRule says what the rulings of a panel come to.
type panelRule string

const (
	byMajority panelRule = "majority"
	byMean     panelRule = "mean"
)

func panelRules() []panelRule { return []panelRule{byMajority, byMean} }

func (j *judgeScorer) readCombine(m yaml.Map) {
	n := m.Get("combine")
	j.combine = yaml.WordOf(n, panelRules()...)
	if !n.IsZero() && !m.Has("panel") {
		m.Key("combine").Errorf("name several judges by `panel`, or leave it out", "`combine` is for a panel")
	}
	if j.combine != "" {
		return
	}
	if j.combine = byMean; j.byChoice() {
		j.combine = byMajority
	}
}

func (j *judgeScorer) ofPanel(out *eval.Judged, rulings [][]eval.Ruling) Finding {
	out.Judge, out.Rulings = j.names(), nil
	for i, some := range rulings {
		name := j.judges[i].Name
		for k := range some {
			some[k].Judge = name
		}
		value, word := j.overall(some)
		if !j.byChoice() {
			word = j.passOrFail(value)
		}
		out.Rulings = append(out.Rulings, some...)
		out.Panel = append(out.Panel, eval.Ruling{Judge: name, Choice: word, Value: value, Passed: j.passes(value)})
	}
	var value float64
	value, out.Choice = j.combined(out.Panel)
	out.Agreement = agreement(out.Panel)
	f := Graded(
		value, j.passes(value), "the panel %s says %s, agreement %.0f %%, at least %g is expected: %s", out.Judge,
		j.panelSaid(value, out), 100**out.Agreement, j.least, quoteLong(out.Rulings[j.spokesman(out)].Reason),
	)
	f.Judged = out
	return f
}

func (j *judgeScorer) names() string {
	names := make([]string, len(j.judges))
	for i, one := range j.judges {
		names[i] = one.Name
	}
	return strings.Join(names, ", ")
}

// combined is the panel's result, as a value and as a word.
func (j *judgeScorer) combined(votes []eval.Ruling) (value float64, word string) {
	if !j.byChoice() {
		if value = meanOf(votes); j.combine == byMajority {
			value = lowerMedian(votes)
		}
		return value, j.passOrFail(value)
	}
	if word = majority(votes); j.combine == byMajority {
		return j.choices().valueOf(word), word
	}
	return meanOf(votes), word
}

// lowerMedian is the largest value that more than half of the votes reach: it passes if and only if more than half
// of them do.
func lowerMedian(votes []eval.Ruling) float64 {
	values := make([]float64, len(votes))
	for i, v := range votes {
		values[i] = v.Value
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// panelSaid shows the panel's result with each judge's vote.
func (j *judgeScorer) panelSaid(value float64, out *eval.Judged) string {
	votes := make([]string, len(out.Panel))
	for i, v := range out.Panel {
		if votes[i] = fmt.Sprintf("%s: %.4g", v.Judge, v.Value); j.byChoice() {
			votes[i] = fmt.Sprintf("%s: %s", v.Judge, v.Choice)
		}
	}
	said := fmt.Sprintf("%.4g", value)
	if j.byChoice() && j.combine == byMajority {
		said = fmt.Sprintf("%s (%.4g)", out.Choice, value)
	}
	return fmt.Sprintf("%s by %s (%s)", said, j.combine, strings.Join(votes, ", "))
}

// spokesman is the index of a ruling that agrees with the panel, else of the first.
func (j *judgeScorer) spokesman(out *eval.Judged) int {
	return max(0, slices.IndexFunc(out.Rulings, func(r eval.Ruling) bool { return r.Choice == out.Choice }))
}
