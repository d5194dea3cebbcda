package compare

// PairwiseJudging is what a judge chose between the answers of both sides of a comparison.
type PairwiseJudging struct {
	Judge    string `json:"judge"`
	Model    string `json:"model"`
	Criteria string `json:"criteria,omitempty"`
	Emulator bool   `json:"emulator"` // the judge is evalrun's emulator
	// Counts are those of all arms together.
	PairCounts
	Calls  int `json:"calls"`  // to the judge, retries included, without choices that were known before
	Tokens int `json:"tokens"` // of those
	// Incomplete says why pairs were not put to the judge, "" when all were.
	Incomplete string `json:"incomplete,omitempty"`
}

// PairCounts count pairs of answers: repeats of cases.
type PairCounts struct {
	Pairs    int `json:"pairs"`
	Wins     int `json:"wins"`
	Losses   int `json:"losses"`
	Ties     int `json:"ties"` // those of the same answers included
	Unjudged int `json:"unjudged"`
	// Same are pairs of one and the same answer, for which no call is made.
	Same int `json:"same"`
	// Contradicted are ties of different answers where the judge chose another answer in each order.
	Contradicted int `json:"contradicted"`
	// FirstPlace is how often the answer that stood first was chosen, among all rulings for one of them.
	FirstPlace FirstPlace `json:"firstPlace"`
	// Why says of unjudged pairs why, and of how many.
	Why []PairProblem `json:"why,omitempty"`
}

// FirstPlace measures whether a judge prefers what it reads first: half of the rulings are for that when it does not.
type FirstPlace struct {
	Chosen int `json:"chosen"`
	Of     int `json:"of"`
	// Interval is that of the share, of cases, their repeats averaged, and clusters as one; nil over all arms.
	Interval *[2]float64 `json:"interval,omitempty"`
}

// PairProblem is a reason for which pairs were not judged.
type PairProblem struct {
	Problem string `json:"problem"`
	Pairs   int    `json:"pairs"`
}

// maxProblems bounds the reasons that are kept apart.
const maxProblems = 20

// AddJudged takes up a pair by what it counts for head: 1 when head was preferred, 0 when base was, and half of a tie.
func (c *PairCounts) AddJudged(worth float64) {
	c.Pairs++
	switch worth {
	case 1:
		c.Wins++
	case 0:
		c.Losses++
	default:
		c.Ties++
	}
}

// AddPlaces takes up how often the judge chose the first and the second of the answers to a case.
func (c *PairCounts) AddPlaces(to *Case, firsts, seconds int) {
	c.FirstPlace.Chosen += firsts
	c.FirstPlace.Of += firsts + seconds
	to.First.Total += float64(firsts)
	to.First.N += firsts + seconds
}

// AddTurned takes up a pair of different answers to a case, with whether the judge contradicted itself when their order was turned.
func (c *PairCounts) AddTurned(to *Case, contradicted bool) {
	if contradicted {
		c.Contradicted++
		to.Contradicted.Add(1)
	} else {
		to.Contradicted.Add(0)
	}
}

// AddUnjudged takes up a pair that was not judged, with the problem.
func (c *PairCounts) AddUnjudged(problem string) {
	c.Pairs++
	c.Unjudged++
	c.problem(problem, 1)
}

func (c *PairCounts) problem(problem string, pairs int) {
	for i := range c.Why {
		if c.Why[i].Problem == problem {
			c.Why[i].Pairs += pairs
			return
		}
	}
	if len(c.Why) < maxProblems {
		c.Why = append(c.Why, PairProblem{problem, pairs})
	}
}

// Join adds the counts of other pairs.
func (c *PairCounts) Join(o *PairCounts) {
	c.Pairs += o.Pairs
	c.Wins += o.Wins
	c.Losses += o.Losses
	c.Ties += o.Ties
	c.Unjudged += o.Unjudged
	c.Same += o.Same
	c.Contradicted += o.Contradicted
	c.FirstPlace.Chosen += o.FirstPlace.Chosen
	c.FirstPlace.Of += o.FirstPlace.Of
	for _, p := range o.Why {
		c.problem(p.Problem, p.Pairs)
	}
}

// ArmPreference is the choice between an arm and that of the baseline.
type ArmPreference struct {
	PairCounts
	// Preference is the share for head, ties counting half: of cases, their repeats averaged, and clusters as one. nil: nothing was judged.
	Preference *float64    `json:"preference"`
	Interval   *[2]float64 `json:"interval"`
	Level      float64     `json:"level"` // of the intervals
	// Unreliable says why the choices say nothing about the answers, "" when they do.
	Unreliable string `json:"unreliable,omitempty"`
}
