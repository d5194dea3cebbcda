package compare

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// value is what a case says of a metric, false when it says nothing.
type value func(*Case) (float64, bool)

// groups says which pairs belong together. Cases of one request are one question that was asked several times; questions of one cluster
// tell the same thing, so that a cluster is one independent unit, with the weight of its questions.
type groups struct {
	request []int // of each pair, the number of its request
	unit    []int // of each request, the number of its unit
}

// groupsOf numbers the requests and units of pairs in the order in which they come. Clusters are those of either side.
func groupsOf(pairs []pair) groups {
	g := groups{request: make([]int, len(pairs))}
	requests := map[string]int{}
	var clusters [][]string // of each request
	for i, p := range pairs {
		key := Question(p.base.Request, p.head.Request)
		at, known := requests[key]
		if !known || key == "" {
			at = len(clusters)
			requests[key] = at
			clusters = append(clusters, nil)
		}
		g.request[i] = at
		for _, name := range []string{cluster(p.base.Cluster), cluster(p.head.Cluster), request(p.head.Request)} {
			if name != "" && !slices.Contains(clusters[at], name) {
				clusters[at] = append(clusters[at], name)
			}
		}
	}
	g.unit = connected(clusters)
	return g
}

// Question names what a case asks on both sides, "" where one does not tell. Cases that ask the same on one side alone are different
// questions that depend on each other: a prompt that drops a variable must not make one case of a hundred.
func Question(base, head string) string {
	if base == "" || head == "" {
		return ""
	}
	return base + "\x00" + head
}

// cluster and request are names of units, which must not be taken for each other.
func cluster(name string) string { return named("cluster", name) }
func request(hash string) string { return named("request", hash) }

func named(what, name string) string {
	if name == "" {
		return ""
	}
	return what + "\x00" + name
}

// connected numbers the sets of items that share a name, directly or through others.
func connected(names [][]string) []int {
	parent := make([]int, len(names))
	var root func(int) int
	root = func(i int) int {
		if parent[i] != i {
			parent[i] = root(parent[i])
		}
		return parent[i]
	}
	first := map[string]int{}
	for i := range names {
		parent[i] = i
		for _, name := range names[i] {
			if at, known := first[name]; known {
				a, b := root(at), root(i)
				parent[max(a, b)] = min(a, b)
			} else {
				first[name] = i
			}
		}
	}
	out, number := make([]int, len(names)), map[int]int{}
	for i := range names {
		r := root(i)
		if _, known := number[r]; !known {
			number[r] = len(number)
		}
		out[i] = number[r]
	}
	return out
}

// duplicates lists the names of cases that ask the same, where there are several.
func (g groups) duplicates(pairs []pair) (out [][]string) {
	byRequest := map[int][]string{}
	var order []int
	for i, p := range pairs {
		if len(byRequest[g.request[i]]) == 1 {
			order = append(order, g.request[i])
		}
		byRequest[g.request[i]] = append(byRequest[g.request[i]], p.head.Name)
	}
	for _, r := range order {
		out = append(out, byRequest[r])
	}
	return out
}

// units are the independent units of a metric: a question, or a cluster of them.
type units struct {
	base, head, d      []float64 // means of the unit's questions; d is head minus base
	weights            []float64 // questions of the unit, over their mean number; the mean weight is 1
	clustered, repeats bool
	binary             bool // every unit is one question, and says 0 or 1
	gained, regressed  int  // questions
}

// unitsOf averages a metric inside questions, and questions inside units.
func (m *measure) unitsOf(ofBase, ofHead value) units {
	type sums struct{ base, head Sum }
	questions := map[int]*sums{}
	var order []int
	u := units{binary: true}
	for i, p := range m.pairs {
		b, okBase := ofBase(p.base)
		h, okHead := ofHead(p.head)
		if !okBase || !okHead {
			continue
		}
		u.repeats = u.repeats || max(p.base.Passed+p.base.Failed, p.head.Passed+p.head.Failed+p.head.Errors) > 1
		q, known := questions[m.groups.request[i]]
		if !known {
			q = &sums{}
			questions[m.groups.request[i]] = q
			order = append(order, m.groups.request[i])
		}
		q.base.Add(b)
		q.head.Add(h)
	}
	byUnit := map[int]*sums{}
	var all []*sums
	for _, r := range order {
		b, _ := questions[r].base.Mean()
		h, _ := questions[r].head.Mean()
		u.count(b, h)
		s, known := byUnit[m.groups.unit[r]]
		if !known {
			s = &sums{}
			byUnit[m.groups.unit[r]] = s
			all = append(all, s)
		}
		s.base.Add(b)
		s.head.Add(h)
		u.clustered = u.clustered || s.base.N > 1
	}
	for _, s := range all {
		b, _ := s.base.Mean()
		h, _ := s.head.Mean()
		u.base, u.head, u.d = append(u.base, b), append(u.head, h), append(u.d, h-b)
		u.weights = append(u.weights, float64(s.base.N)*float64(len(all))/float64(len(order)))
	}
	u.binary = u.binary && !u.clustered && !u.repeats
	return u
}

// count takes up a question.
func (u *units) count(b, h float64) {
	u.binary = u.binary && (b == 0 || b == 1) && (h == 0 || h == 1)
	switch {
	case h > b:
		u.gained++
	case h < b:
		u.regressed++
	}
}

// mean is that of the questions.
func (u *units) mean(x []float64) float64 { return weightedMean(x, u.weights) }

// values are where a metric of both sides comes from. An error of head counts as the worst value of its metric in the measure of the
// worst, and nowhere in the other; errors of base count nowhere.
func (m *measure) values(metric string, base, head *Side) (ofBase, ofHead value) {
	errors := func(c *Case) int {
		if m.worst {
			return c.Errors
		}
		return 0
	}
	switch metric {
	case eval.MetricPass:
		return (*Case).PassRate, func(c *Case) (float64, bool) {
			return Sum{float64(c.Passed), c.Passed + c.Failed + errors(c)}.Mean()
		}
	case eval.MetricBlocked:
		return (*Case).blockRate, func(c *Case) (float64, bool) {
			return Sum{float64(c.Blocked + errors(c)), c.answered() + errors(c)}.Mean()
		}
	case eval.MetricChoose:
		return func(*Case) (float64, bool) { return indifferent, true }, func(c *Case) (float64, bool) {
			if m.worst {
				return Sum{c.Chosen.Total, max(c.Chosen.N, c.Asked)}.Mean()
			}
			return c.Chosen.Mean()
		}
	}
	atBase, atHead := slices.Index(base.Metrics, metric), slices.Index(head.Metrics, metric)
	return func(c *Case) (float64, bool) { return c.named(atBase).Mean() }, func(c *Case) (float64, bool) {
		s := c.named(atHead)
		if m.worst && s.N == 0 { // it was judged, and the metric has no value
			return 0, true
		}
		return Sum{s.Total, s.N + errors(c)}.Mean()
	}
}

// named is what the case says of the named metric at this place.
func (c *Case) named(at int) Sum {
	if at < 0 || at >= len(c.Metrics) {
		return Sum{}
	}
	return c.Metrics[at]
}
