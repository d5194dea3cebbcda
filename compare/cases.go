package compare

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strconv"
)

// Cases holds the cases of an arm in plan order, indexed from 0. The zero value is empty. Values are stored in
// columns, since a run may have a million cases: what cases share is stored once, and the rest takes about fifty
// bytes a case.
type Cases struct {
	n                   int
	kindAt              uintColumn // index into kinds, by case
	kinds               kinds
	ids, vars, requests keys
	trials              uintColumn // offset in the run file, by case
	names, clusters     textColumn
	latency, tokens     numbers
	metrics             []numbers // by metric, in the order of Side.Metrics
}

// kinds holds the distinct parts that cases share: a Case without names, hashes and varying totals.
type kinds struct {
	all     []kind
	at      map[string]int
	scratch []byte // scratch space for appendKind
	last    int
}

type kind struct {
	CaseTotals
	varsOfID bool // the id of the case is the hash of its variables, as is usual
	text     string
}

// Len is the number of cases.
func (c *Cases) Len() int { return c.n }

// Grow makes room for n more cases.
func (c *Cases) Grow(n int) {
	n += c.n
	c.kindAt.room, c.trials.room = n, n
	c.ids.bits, c.requests.bits = grown(c.ids.bits, n), grown(c.requests.bits, n)
	c.latency.narrow, c.tokens.narrow = grown(c.latency.narrow, n), grown(c.tokens.narrow, n)
}

// Add appends a case to all columns.
func (c *Cases) Add(one *CaseTotals) {
	c.n++
	c.set(c.n-1, one)
}

// Update changes case i in place.
func (c *Cases) Update(i int, change func(*CaseTotals)) {
	one := c.At(i)
	change(&one)
	c.set(i, &one)
}

// EndsWith reports whether the last case has this name and id.
func (c *Cases) EndsWith(name, id string) bool {
	return c.n > 0 && c.names.at(c.n-1) == name && c.ids.at(c.n-1) == keyOf(id)
}

// set writes case i.
func (c *Cases) set(i int, one *CaseTotals) {
	k := c.kinds.place(one)
	c.kindAt.set(i, uint64(k)) //nolint:gosec // an index
	c.names.set(i, one.Name)
	c.clusters.set(i, one.Cluster)
	c.ids.set(i, keyOf(one.ID))
	if c.kinds.all[k].varsOfID {
		c.vars.set(i, key{})
	} else {
		c.vars.set(i, keyOf(one.Vars))
	}
	c.requests.set(i, keyOf(one.Request))
	c.trials.set(i, uint64(one.TrialAt)) //nolint:gosec // never negative
	c.latency.set(i, one.LatencyMs.Total)
	c.tokens.set(i, one.Tokens.Total)
	for len(c.metrics) < len(one.Metrics) {
		c.metrics = append(c.metrics, numbers{})
	}
	for j, m := range one.Metrics {
		c.metrics[j].set(i, m.Total)
	}
}

// At returns a copy of case i.
func (c *Cases) At(i int) CaseTotals {
	r := caseReader{of: c}
	out := *r.at(i)
	c.named(i, &out)
	out.Classes = slices.Clone(out.Classes)
	return out
}

// named fills in the names and hashes of a case.
func (c *Cases) named(i int, out *CaseTotals) {
	out.Name, out.ID, out.Cluster = c.names.at(i), c.ids.at(i).String(), c.clusters.at(i)
	out.Vars, out.Request, out.TrialAt = c.varsAt(i).String(), c.requests.at(i).String(), c.trialAt(i)
}

// varsAt is the hash of the variables of case i.
func (c *Cases) varsAt(i int) key {
	if c.common(i).varsOfID {
		return c.ids.at(i)
	}
	return c.vars.at(i)
}

// trialAt is the offset in the run file of a trial of case i.
func (c *Cases) trialAt(i int) int64 { return int64(c.trials.at(i)) } //nolint:gosec // stored from an int64

// common is the shared part of case i, read-only.
func (c *Cases) common(i int) *kind { return &c.kinds.all[c.kindAt.at(i)] }

// All yields the cases with their indexes. A case is valid until the next one is yielded.
func (c *Cases) All() iter.Seq2[int, *CaseTotals] {
	return func(yield func(int, *CaseTotals) bool) {
		r := caseReader{of: c}
		for i := range c.n {
			one := r.at(i)
			c.named(i, one)
			if !yield(i, one) {
				return
			}
		}
	}
}

// AllUnnamed is All without names, clusters and hashes, which makes it several times faster.
func (c *Cases) AllUnnamed() iter.Seq2[int, *CaseTotals] {
	return func(yield func(int, *CaseTotals) bool) {
		r := caseReader{of: c}
		for i := range c.n {
			if !yield(i, r.at(i)) {
				return
			}
		}
	}
}

// IgnoreScorers clears the scorer hashes, so that cases pair whatever scored them.
func (c *Cases) IgnoreScorers() {
	for i := range c.kinds.all {
		c.kinds.all[i].Scorers = ""
	}
	c.kinds.at = nil
	for i := range c.kinds.all {
		c.kinds.note(i)
	}
}

// caseReader decodes cases into one reused Case, without names, clusters and hashes.
type caseReader struct {
	of   *Cases
	kind *kind // of the current case; nil before the first
	one  CaseTotals
}

func (r *caseReader) at(i int) *CaseTotals {
	c := r.of
	if k := c.common(i); r.kind != k {
		metrics := r.one.Metrics[:0]
		r.kind, r.one = k, k.CaseTotals
		r.one.Metrics = append(metrics, r.one.Metrics...)
	}
	r.one.LatencyMs.Total, r.one.Tokens.Total = c.latency.at(i), c.tokens.at(i)
	for j := range r.one.Metrics {
		r.one.Metrics[j].Total = c.metrics[j].at(i)
	}
	return &r.one
}

// place is the index of the case's kind. Most cases have the kind of the case before.
func (k *kinds) place(c *CaseTotals) int {
	varsOfID := c.Vars == c.ID
	k.scratch = appendKind(k.scratch[:0], c, varsOfID)
	if len(k.all) > 0 && k.all[k.last].text == string(k.scratch) {
		return k.last
	}
	at, ok := k.at[string(k.scratch)]
	if !ok {
		at = len(k.all)
		one := kind{CaseTotals: *c, varsOfID: varsOfID}
		one.Name, one.ID, one.Cluster, one.Vars, one.Request, one.TrialAt = "", "", "", "", "", 0
		one.LatencyMs.Total, one.Tokens.Total = 0, 0
		one.Tags, one.Classes, one.Metrics = slices.Clone(c.Tags), slices.Clone(c.Classes), slices.Clone(c.Metrics)
		for i := range one.Metrics {
			one.Metrics[i].Total = 0
		}
		k.all = append(k.all, one)
		k.note(at)
	}
	k.last = at
	return at
}

// note adds a kind to the index of kinds.
func (k *kinds) note(at int) {
	if k.at == nil {
		k.at = map[string]int{}
	}
	one := &k.all[at]
	one.text = string(appendKind(nil, &one.CaseTotals, one.varsOfID))
	k.at[one.text] = at
}

// appendKind encodes the part of a case that it shares with others.
func appendKind(b []byte, c *CaseTotals, varsOfID bool) []byte {
	number := func(n int) { b = binary.AppendVarint(b, int64(n)) }
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	total := func(s Sum) {
		b = binary.AppendVarint(binary.BigEndian.AppendUint64(b, math.Float64bits(s.Total)), int64(s.N))
	}
	b = strconv.AppendBool(strconv.AppendBool(b, c.Quarantined), varsOfID)
	text(c.Scorers)
	for _, n := range [...]int{c.Passed, c.Failed, c.Errors, c.Ran, c.Blocked, c.Unused, c.LatencyMs.N, c.Tokens.N} {
		number(n)
	}
	total(c.HeadPreferred)
	total(c.Contradicted)
	total(c.First)
	number(len(c.Tags))
	for _, tag := range c.Tags {
		text(tag)
	}
	number(len(c.Metrics))
	for _, m := range c.Metrics {
		number(m.N)
	}
	for _, one := range c.Classes {
		number(one.Pair)
		number(one.N)
	}
	return b
}
