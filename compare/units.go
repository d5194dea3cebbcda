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
	pairs   int
	request []uint32 // of each pair, the number of its request; nil where each pair is a unit
	unit    []uint32 // of each request, the number of its unit; the same
}

// apart reports whether each pair is a unit.
func (g *groups) apart() bool { return g.unit == nil }

// requests is how many there are.
func (g *groups) requests() int {
	if g.apart() {
		return g.pairs
	}
	return len(g.unit)
}

// requestOf is the request of a pair.
func (g *groups) requestOf(pair int) int {
	if g.apart() {
		return pair
	}
	return int(g.request[pair])
}

// unitOf is the unit of a request.
func (g *groups) unitOf(request int) int {
	if g.apart() {
		return request
	}
	return int(g.unit[request])
}

// groupsOf numbers the requests and units of pairs in the order in which they come. Clusters are those of either side.
func groupsOf(p *pairs) groups {
	g := groups{pairs: len(p.at), request: make([]uint32, len(p.at))}
	sent := func(i int) [2]key {
		return [2]key{p.base.requests.at(int(p.at[i].base)), p.head.requests.at(int(p.at[i].head))}
	}
	requests := newFinder(len(p.at), sent) // by what they are on both sides
	u := newUnion(len(p.at))
	turned := false // a request of one side is not that of the other
	for i, at := range p.at {
		both := sent(i)
		if both[0] == (key{}) || both[1] == (key{}) {
			g.request[i] = u.add()
		} else if slot := requests.slot(both); *slot > 0 {
			g.request[i] = g.request[*slot-1]
		} else {
			g.request[i], *slot = u.add(), fromOne(i)
		}
		turned = turned || both[0] != both[1]
		u.join(g.request[i], cluster(p.base.clusters.at(int(at.base))))
		u.join(g.request[i], cluster(p.head.clusters.at(int(at.head))))
	}
	if turned {
		p.joinRequests(&u, g.request)
	}
	if u.joined == 0 && len(u.parent) == len(p.at) {
		return groups{pairs: len(p.at)}
	}
	g.unit = u.numbers()
	return g
}

// joinRequests joins the questions with the same request on the side of head.
func (p *pairs) joinRequests(u *union, question []uint32) {
	sent := func(i int) key { return p.head.requests.at(int(p.at[i].head)) }
	first := newFinder(len(p.at), sent)
	for i := range p.at {
		request := sent(i)
		if request == (key{}) {
			continue
		}
		if slot := first.slot(request); *slot > 0 {
			u.unite(question[*slot-1], question[i])
		} else {
			*slot = fromOne(i)
		}
	}
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
func connected(names [][]string) (out []int) {
	u := newUnion(len(names))
	for i := range names {
		at := u.add()
		for _, name := range names[i] {
			u.join(at, name)
		}
	}
	for _, set := range u.numbers() {
		out = append(out, int(set))
	}
	return out
}

// union finds the sets of items that share a name.
type union struct {
	parent []uint32
	first  map[string]uint32 // the item that had a name first
	joined int               // items that are in the set of another one
}

// newUnion has room for n items.
func newUnion(n int) union { return union{parent: make([]uint32, 0, n)} }

// add is one more item.
func (u *union) add() uint32 {
	item := fromOne(len(u.parent)) - 1
	u.parent = append(u.parent, item)
	return item
}

// root is the item by which a set is known: its first.
func (u *union) root(i uint32) uint32 {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

// join gives an item a name; "" is none.
func (u *union) join(i uint32, name string) {
	if name == "" {
		return
	}
	at, known := u.first[name]
	if !known {
		if u.first == nil {
			u.first = map[string]uint32{}
		}
		u.first[name] = i
		return
	}
	u.unite(at, i)
}

// unite puts two items into one set.
func (u *union) unite(one, other uint32) {
	if a, b := u.root(one), u.root(other); a != b {
		u.parent[max(a, b)] = min(a, b)
		u.joined++
	}
}

// numbers gives each item the number of its set, in the order in which sets come.
func (u *union) numbers() []uint32 {
	out := make([]uint32, len(u.parent))
	sets := uint32(0)
	for i := range u.parent {
		if r := u.root(uint32(i)); int(r) != i {
			out[i] = out[r]
			continue
		}
		out[i] = sets
		sets++
	}
	return out
}

// duplicates lists the names of cases with the same request, where there are several.
func (g *groups) duplicates(pairs *pairs) (out [][]string) {
	if g.requests() == g.pairs {
		return nil
	}
	byRequest := map[int][]string{}
	var order []int
	for i, at := range pairs.at {
		request := g.requestOf(i)
		if len(byRequest[request]) == 1 {
			order = append(order, request)
		}
		byRequest[request] = append(byRequest[request], pairs.head.names.at(int(at.head)))
	}
	for _, r := range order {
		out = append(out, byRequest[r])
	}
	return out
}

// units are the independent units of a metric: a question, or a cluster of them.
type units struct {
	n                  int
	base, head         []float64 // means of the unit's questions, where keep says so
	d                  []float64 // head minus base, where it says otherwise
	weights            []float64 // questions of the unit, over their mean number; the mean weight is 1
	keep               kept
	total              sums // weighted, of all units
	clustered, repeats bool
	binary             bool // every unit is one question, and says 0 or 1
	gained, regressed  int  // questions
}

// kept is what a test needs of units: of a million, each number of theirs takes 8 MB.
type kept bool

const (
	differences kept = false
	bothSides   kept = true
)

// unitsOf averages a metric inside questions, and questions inside units.
func (m *measure) unitsOf(ofBase, ofHead value, keep kept) units {
	u := units{binary: true, keep: keep}
	var questions, all both
	if m.groups.apart() {
		u.reserve(len(m.pairs.at))
	} else {
		questions.of, all.of = make([]sums, m.groups.requests()), make([]sums, m.groups.requests())
	}
	for i, p := range m.pairs.each {
		b, okBase := ofBase(p.base)
		h, okHead := ofHead(p.head)
		if !okBase || !okHead {
			continue
		}
		u.repeats = u.repeats || max(p.base.Passed+p.base.Failed, p.head.Passed+p.head.Failed+p.head.Errors) > 1
		if m.groups.apart() {
			u.count(b, h)
			u.add(b, h, 1)
		} else {
			questions.add(m.groups.requestOf(i), b, h)
		}
	}
	for _, r := range questions.order {
		b, h := questions.of[r].means()
		u.count(b, h)
		u.clustered = all.add(m.groups.unitOf(r), b, h) > 1 || u.clustered
	}
	for _, at := range all.order {
		b, h := all.of[at].means()
		u.add(b, h, float64(all.of[at].base.N)*float64(len(all.order))/float64(len(questions.order)))
	}
	u.binary = u.binary && !u.clustered && !u.repeats
	return u
}

// units are those of a metric, to test their differences.
func (m *measure) units(metric string, base, head *Side) units {
	ofBase, ofHead := m.values(metric, base, head)
	return m.unitsOf(ofBase, ofHead, differences)
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
	u.weights = make([]float64, 0, n)
	if u.keep == bothSides {
		u.base, u.head = make([]float64, 0, n), make([]float64, 0, n)
	} else {
		u.d = make([]float64, 0, n)
	}
}

// add takes up a unit.
func (u *units) add(base, head, weight float64) {
	if u.keep == bothSides {
		u.base, u.head = append(u.base, base), append(u.head, head)
	} else {
		u.d = append(u.d, head-base)
	}
	u.n++
	u.weights = append(u.weights, weight)
	u.total.base.Total += weight * base
	u.total.head.Total += weight * head
}

// means are those of the questions of both sides.
func (u *units) means() (base, head float64) {
	n := float64(max(1, u.n))
	return u.total.base.Total / n, u.total.head.Total / n
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
				return Sum{c.Chosen.Total, max(c.Chosen.N, c.Ran)}.Mean()
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
