package compare

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// value is a metric of a case, false when the case has none.
type value func(*CaseTotals) (float64, bool)

// groups maps pairs to requests, and requests to units. Cases that send the same request are repeats of it. The
// requests of a cluster depend on each other, so a cluster is one independent unit, weighted by its number of requests.
type groups struct {
	request []int // request number by pair
	unit    []int // unit number by request
	apart   bool  // each pair is a unit
}

// groupsOf numbers requests and units in order of appearance. A cluster on either side counts.
func groupsOf(pairs []pair) groups {
	g := groups{request: make([]int, len(pairs))}
	var requests map[[2]string]int // by the requests of both sides
	u := newUnion(len(pairs))
	turned := false // whether the requests of some pair differ
	for i, p := range pairs {
		both := [2]string{p.base.Request, p.head.Request}
		at, known := requests[both]
		if !known {
			at = u.add()
		}
		if !known && both[0] != "" && both[1] != "" {
			if requests == nil {
				requests = make(map[[2]string]int, len(pairs))
			}
			requests[both] = at
		}
		g.request[i] = at
		turned = turned || both[0] != both[1]
		u.join(at, cluster(p.base.Cluster))
		u.join(at, cluster(p.head.Cluster))
	}
	if turned { // requests that are the same on one side depend on each other; but one that all of base send is no matter of chance
		several := slices.ContainsFunc(pairs, func(p pair) bool { return p.base.Request != pairs[0].base.Request })
		for i, p := range pairs {
			u.join(g.request[i], request(p.head.Request))
			if several {
				u.join(g.request[i], named("base", p.base.Request))
			}
		}
	}
	g.apart = u.joined == 0 && len(u.parent) == len(pairs)
	g.unit = u.numbers()
	return g
}

// cluster and request make unit names in separate namespaces.
func cluster(name string) string { return named("cluster", name) }
func request(hash string) string { return named("request", hash) }

func named(what, name string) string {
	if name == "" {
		return ""
	}
	return what + "\x00" + name
}

// connected numbers the sets of items that share a name, directly or through other items.
func connected(names [][]string) []int {
	u := newUnion(len(names))
	for i := range names {
		at := u.add()
		for _, name := range names[i] {
			u.join(at, name)
		}
	}
	return u.numbers()
}

// union is a union-find of items that share a name.
type union struct {
	parent []int
	first  map[string]int // first item with a name
	joined int            // number of items joined to an earlier one
}

func newUnion(n int) union { return union{parent: make([]int, 0, n)} }

// add adds an item and returns its number.
func (u *union) add() int {
	item := len(u.parent)
	u.parent = append(u.parent, item)
	return item
}

// root is the first item of the set, which identifies it.
func (u *union) root(i int) int {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

// join merges an item with all items of the same name; "" is ignored.
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
	u.unite(at, i)
}

// unite merges the sets of two items.
func (u *union) unite(one, other int) {
	if a, b := u.root(one), u.root(other); a != b {
		u.parent[max(a, b)] = min(a, b)
		u.joined++
	}
}

// numbers gives each item the number of its set, in order of appearance.
func (u *union) numbers() []int {
	out := make([]int, len(u.parent))
	sets := 0
	for i := range u.parent {
		if r := u.root(i); r != i {
			out[i] = out[r]
			continue
		}
		out[i] = sets
		sets++
	}
	return out
}

// duplicates lists the names of cases that share a request.
func (g *groups) duplicates(pairs []pair) (out [][]string) {
	byRequest := make([][]string, len(g.unit))
	var order []int
	for i, p := range pairs {
		request := g.request[i]
		if byRequest[request] = append(byRequest[request], p.head.Name); len(byRequest[request]) == 2 {
			order = append(order, request)
		}
	}
	for _, r := range order {
		out = append(out, byRequest[r])
	}
	return out
}

// questions counts the different questions of head: prompts that differ only in form, with the same scorers, are one. It is
// 0 when there are as many as requests.
func (g *groups) questions(pairs []pair) int {
	known := make(map[[2]string]bool, len(pairs))
	n := 0
	for _, p := range pairs {
		key := [2]string{p.head.Folded, p.head.Scorers}
		if key[0] == "" || !known[key] {
			n++
		}
		known[key] = true
	}
	if n >= len(g.unit) {
		return 0
	}
	return n
}

// units are the independent units of a metric: a request, or a cluster of them.
type units struct {
	n                 int
	base, head        []float64 // means of the unit's requests, if kept
	d                 []float64 // head minus base, if kept
	weights           []float64 // number of requests of the unit, scaled to the mean 1
	keep              kept
	total             sums // weighted, of all units
	clustered         bool
	gained, regressed int // number of requests
}

// kept selects which numbers of units are stored: for a million units, each takes 8 MB.
type kept bool

const (
	differences kept = false
	bothSides   kept = true
)

// unitsOf averages a metric inside requests, and requests inside units.
func (m *measure) unitsOf(ofBase, ofHead value, keep kept) units {
	u := units{keep: keep}
	var requests, all both
	if m.groups.apart {
		u.reserve(len(m.pairs))
	} else {
		requests.of, all.of = make([]sums, len(m.groups.unit)), make([]sums, len(m.groups.unit))
	}
	for i, p := range m.pairs {
		b, okBase := ofBase(p.base)
		h, okHead := ofHead(p.head)
		if !okBase || !okHead {
			continue
		}
		if m.groups.apart {
			u.count(b, h)
			u.add(b, h, 1)
		} else {
			requests.add(m.groups.request[i], b, h)
		}
	}
	for _, r := range requests.order {
		b, h := requests.of[r].means()
		u.count(b, h)
		u.clustered = all.add(m.groups.unit[r], b, h) > 1 || u.clustered
	}
	for _, at := range all.order {
		b, h := all.of[at].means()
		u.add(b, h, float64(all.of[at].base.N)*float64(len(all.order))/float64(len(requests.order)))
	}
	return u
}

func (m *measure) units(metric string, base, head *Side) units {
	ofBase, ofHead := m.values(metric, base, head)
	return m.unitsOf(ofBase, ofHead, differences)
}

// sums are totals of a request, or of a unit.
type sums struct{ base, head eval.Sum }

func (s *sums) means() (base, head float64) {
	base, _ = s.base.Mean()
	head, _ = s.head.Mean()
	return base, head
}

// both sums the two sides of requests, or of units.
type both struct {
	of    []sums
	order []int // indexes with values, in order of appearance
}

// add adds values, and returns how many that request now has.
func (a *both) add(at int, base, head float64) int {
	s := &a.of[at]
	if s.base.N == 0 {
		a.order = append(a.order, at)
	}
	s.base.Add(base)
	s.head.Add(head)
	return s.base.N
}

func (u *units) reserve(n int) {
	u.weights = make([]float64, 0, n)
	if u.keep == bothSides {
		u.base, u.head = make([]float64, 0, n), make([]float64, 0, n)
	} else {
		u.d = make([]float64, 0, n)
	}
}

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

// means are the means of both sides over requests.
func (u *units) means() (base, head float64) {
	n := float64(max(1, u.n))
	return u.total.base.Total / n, u.total.head.Total / n
}

func (u *units) count(b, h float64) {
	switch {
	case h > b:
		u.gained++
	case h < b:
		u.regressed++
	}
}

func (u *units) mean(x []float64) float64 { return weightedMean(x, u.weights) }

// values are the values of a metric on both sides. An error of head counts as the metric's worst value when
// m.worst is set; other errors do not count.
func (m *measure) values(metric string, base, head *Side) (ofBase, ofHead value) {
	errors := func(c *CaseTotals) int {
		if m.worst {
			return c.Errors
		}
		return 0
	}
	switch metric {
	case eval.MetricPass:
		return (*CaseTotals).PassRate, func(c *CaseTotals) (float64, bool) {
			return eval.Sum{Total: float64(c.Passed), N: c.Passed + c.Failed + errors(c)}.Mean()
		}
	case eval.MetricBlocked:
		return (*CaseTotals).blockRate, func(c *CaseTotals) (float64, bool) {
			return eval.Sum{Total: float64(c.Blocked + errors(c)), N: c.answered() + errors(c)}.Mean()
		}
	case eval.MetricPreference:
		return func(*CaseTotals) (float64, bool) { return indifferent, true }, func(c *CaseTotals) (float64, bool) {
			if m.worst {
				return eval.Sum{Total: c.HeadPreferred.Total, N: max(c.HeadPreferred.N, c.Ran)}.Mean()
			}
			return c.HeadPreferred.Mean()
		}
	}
	atBase, atHead := slices.Index(base.Metrics, metric), slices.Index(head.Metrics, metric)
	return func(c *CaseTotals) (float64, bool) { return c.named(atBase).Mean() }, func(c *CaseTotals) (float64, bool) {
		s := c.named(atHead)
		if m.worst && s.N == 0 { // scored, but without a value of the metric
			return 0, true
		}
		return eval.Sum{Total: s.Total, N: s.N + errors(c)}.Mean()
	}
}

func (c *CaseTotals) named(at int) eval.Sum {
	if at < 0 || at >= len(c.Metrics) {
		return eval.Sum{}
	}
	return c.Metrics[at]
}
