package compare

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// value is what a case says of a metric, false when it says nothing.
type value func(*Case) (float64, bool)

// groups says which pairs belong together. Cases of one request are one question with several repeats. The questions
// of one cluster depend on each other, so a cluster is one independent unit, with the weight of its questions.
type groups struct {
	request []int // of each pair, the number of its request
	unit    []int // of each request, the number of its unit
	apart   bool  // each pair is a unit
}

// groupsOf numbers the requests and units of pairs in the order in which they come. Clusters are those of either side.
func groupsOf(pairs []pair) groups {
	g := groups{request: make([]int, len(pairs))}
	requests := make(map[[2]string]int, len(pairs)) // by what they are on both sides
	var u union
	turned := false // a request of one side is not that of the other
	for i, p := range pairs {
		key := [2]string{p.base.Request, p.head.Request}
		at, known := requests[key]
		if asked := key[0] != "" && key[1] != ""; !known || !asked {
			at = u.add()
			if asked {
				requests[key] = at
			}
		}
		g.request[i] = at
		turned = turned || key[0] != key[1]
		u.join(at, cluster(p.base.Cluster))
		u.join(at, cluster(p.head.Cluster))
	}
	if turned {
		for i, p := range pairs {
			u.join(g.request[i], request(p.head.Request))
		}
	}
	g.unit = u.numbers()
	g.apart = len(g.unit) == len(pairs) && u.joined == 0
	return g
}

// Question names the request of a case on both sides, "" where one is not known. Cases with the same request on one
// side alone are different questions that depend on each other. A prompt that drops a variable must not turn a
// hundred cases into one.
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
	var u union
	for i := range names {
		u.add()
		for _, name := range names[i] {
			u.join(i, name)
		}
	}
	return u.numbers()
}

// union finds the sets of items that share a name.
type union struct {
	parent []int
	first  map[string]int // the item that had a name first
	joined int            // items that are in the set of another one
}

// add is one more item.
func (u *union) add() int {
	u.parent = append(u.parent, len(u.parent))
	return len(u.parent) - 1
}

// root is the item by which a set is known: its first.
func (u *union) root(i int) int {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

// join gives an item a name; "" is none.
func (u *union) join(i int, name string) {
	if name == "" {
		return
	}
	at, known := u.first[name]
	if !known {
		if u.first == nil {
			u.first = map[string]int{}
		}
		u.first[name] = i
		return
	}
	if a, b := u.root(at), u.root(i); a != b {
		u.parent[max(a, b)] = min(a, b)
		u.joined++
	}
}

// numbers gives each item the number of its set, in the order in which sets come.
func (u *union) numbers() []int {
	out := make([]int, len(u.parent))
	sets := 0
	for i := range out {
		if r := u.root(i); r != i {
			out[i] = out[r]
			continue
		}
		out[i] = sets
		sets++
	}
	return out
}

// duplicates lists the names of cases with the same request, where there are several.
func (g groups) duplicates(pairs []pair) (out [][]string) {
	if len(g.unit) == len(pairs) {
		return nil
	}
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
	u := units{binary: true}
	var questions, all both
	if m.groups.apart {
		u.reserve(len(m.pairs))
	} else {
		questions.of, all.of = make([]sums, len(m.groups.unit)), make([]sums, len(m.groups.unit))
	}
	for i, p := range m.pairs {
		b, okBase := ofBase(p.base)
		h, okHead := ofHead(p.head)
		if !okBase || !okHead {
			continue
		}
		u.repeats = u.repeats || max(p.base.Passed+p.base.Failed, p.head.Passed+p.head.Failed+p.head.Errors) > 1
		if m.groups.apart {
			u.count(b, h)
			u.add(b, h, 1)
		} else {
			questions.add(m.groups.request[i], b, h)
		}
	}
	for _, r := range questions.order {
		b, h := questions.of[r].means()
		u.count(b, h)
		u.clustered = all.add(m.groups.unit[r], b, h) > 1 || u.clustered
	}
	for _, at := range all.order {
		b, h := all.of[at].means()
		u.add(b, h, float64(all.of[at].base.N)*float64(len(all.order))/float64(len(questions.order)))
	}
	u.binary = u.binary && !u.clustered && !u.repeats
	return u
}

// sums are those of a question, or of a unit.
type sums struct{ base, head Sum }

func (s *sums) means() (base, head float64) {
	base, _ = s.base.Mean()
	head, _ = s.head.Mean()
	return base, head
}

// both adds up the two sides of questions, or of units.
type both struct {
	of    []sums
	order []int // those with values, as they come
}

// add takes up values, and gives how many there are now of the same question.
func (a *both) add(at int, base, head float64) int {
	s := &a.of[at]
	if s.base.N == 0 {
		a.order = append(a.order, at)
	}
	s.base.Add(base)
	s.head.Add(head)
	return s.base.N
}

// reserve makes room for n units.
func (u *units) reserve(n int) {
	u.base, u.head = make([]float64, 0, n), make([]float64, 0, n)
	u.d, u.weights = make([]float64, 0, n), make([]float64, 0, n)
}

// add takes up a unit.
func (u *units) add(base, head, weight float64) {
	u.base, u.head, u.d = append(u.base, base), append(u.head, head), append(u.d, head-base)
	u.weights = append(u.weights, weight)
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
