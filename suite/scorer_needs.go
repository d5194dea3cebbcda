package suite

import "github.com/evalrun/evalrun/diag"

// scorerNeeds are the needs of all scorers together, as far as a run must know them before its first call. Load notes them;
// after Load nothing new is found, so that concurrent walks over the cases only read.
type scorerNeeds struct {
	embeddings   bool
	peopleLabels bool
	prices       map[string]diag.Pos // the first scorer that needs prices, by the name of the arm that it scores
}

func (n *scorerNeeds) note(of *Needs) {
	if len(of.References) > 0 && !n.embeddings {
		n.embeddings = true
	}
	if of.PeopleLabels && !n.peopleLabels {
		n.peopleLabels = true
	}
	for _, j := range of.Judges {
		if !j.used {
			j.used = true
		}
	}
}

func (n *scorerNeeds) notePrices(c *Case, arm Arm) {
	for _, sc := range c.ScorersFor(arm) {
		if !sc.Needs.Price {
			continue
		}
		if _, noted := n.prices[arm.Name()]; !noted {
			n.prices[arm.Name()] = sc.At()
		}
	}
}

// Embeds reports whether a scorer of the suite compares embeddings.
func (s *Suite) Embeds() bool { return s.needs.embeddings }

// TakesPeopleLabels reports whether a scorer compares with people's labels.
func (s *Suite) TakesPeopleLabels() bool { return s.needs.peopleLabels }

// NeedsPrice reports whether a scorer of the arm needs prices, and the position of that scorer. The caller checks whether
// there is a price, since flags can name the price list.
func (s *Suite) NeedsPrice(arm Arm) (at diag.Pos, needed bool) {
	for _, version := range s.Versions() {
		if at, needed = version.needs.prices[arm.Name()]; needed {
			break
		}
	}
	return at, needed
}
