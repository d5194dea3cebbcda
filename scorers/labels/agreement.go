package labels

import (
	"github.com/evalrun/evalrun/internal/stats"
)

// PeopleAgreement is the agreement of two people on the answers that both labelled. Intervals are at 90 % and count cases,
// since several answers to one case are not independent.
type PeopleAgreement struct {
	One     string `json:"one"`
	Other   string `json:"other"`
	Answers int    `json:"answers"` // answers that both labelled
	Cases   int    `json:"cases"`
	Agree   int    `json:"agree"` // answers with the same label from both
	// Interval is Wilson's interval of the share of answers on which they agree.
	Interval [2]float64 `json:"interval"`
	// Kappa is Cohen's kappa: agreement beyond chance, at most 1. Its interval treats the agreement by chance as known.
	// It is nil when both gave every answer the same label.
	Kappa         *float64    `json:"kappa"`
	KappaInterval *[2]float64 `json:"kappaInterval"`
}

// Agreements compares all pairs of people who labelled an answer in common, by name.
func (f *File) Agreements() []PeopleAgreement {
	var out []PeopleAgreement
	for i, one := range f.people {
		for _, other := range f.people[i+1:] {
			if a := f.agreement(one, other); a.Answers > 0 {
				out = append(out, a)
			}
		}
	}
	return out
}

func (f *File) agreement(one, other string) PeopleAgreement {
	a := PeopleAgreement{One: one, Other: other}
	cases := map[string]bool{}
	var first, second []int
	for k, all := range f.said {
		x, y := of(all, one), of(all, other)
		if x == None || y == None {
			continue
		}
		first, second = append(first, number(x)), append(second, number(y))
		cases[k.CaseID] = true
		a.Answers++
		if x == y {
			a.Agree++
		}
	}
	if a.Cases = len(cases); a.Answers == 0 {
		return a
	}
	a.Interval[0], a.Interval[1] = stats.Wilson(float64(a.Agree)/float64(a.Answers), float64(a.Cases), stats.Z95)
	if kappa, ok := stats.CohenKappa(first, second); ok {
		a.Kappa = &kappa.Value
		a.KappaInterval = &[2]float64{kappa.Of(a.Interval[0]), kappa.Of(a.Interval[1])}
	}
	return a
}

func of(all []Label, who string) string {
	for _, l := range all {
		if l.Who == who {
			return l.Label
		}
	}
	return None
}

func number(word string) int {
	if word == Pass {
		return 1
	}
	return 0
}
