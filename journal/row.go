package journal

import (
	"iter"
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// Row are trials of one case, in the order of the plan. Document.Read reads them.
type Row struct {
	Suite, Case string
	Counts      eval.Counts
	index       *index
	from, to    int      // range of the index with the trials
	places      []uint32 // places of the trials that count; nil for the whole range
}

func (r Row) each(yield func(*entry) bool) {
	for i := range r.trials {
		if !yield(&r.index.entries[i]) {
			return
		}
	}
}

func (r Row) trials(yield func(int) bool) {
	if r.places == nil {
		for i := r.from; i < r.to; i++ {
			if !yield(i) {
				return
			}
		}
		return
	}
	for _, i := range r.places {
		if !yield(int(i)) {
			return
		}
	}
}

// Rows yields the cases in the order of the plan, without reading the trials.
func (d *Document) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		all := d.index.entries
		for from := 0; from < len(all); {
			to := from
			suite := d.index.shapes[all[from].shape].suite
			for to < len(all) && all[to].caseName == all[from].caseName && d.index.shapes[all[to].shape].suite == suite {
				to++
			}
			row := Row{Suite: suite, Case: d.index.caseOf(&all[from]), index: &d.index, from: from, to: to}
			row.count()
			if !yield(row) {
				return
			}
			from = to
		}
	}
}

// Quarantined reports whether the case is kept out of the gate.
func (r Row) Quarantined() (yes bool) {
	for e := range r.each {
		return e.flags&isQuarantined != 0
	}
	return false
}

// SkippedEarly reports whether no trial of the case ran, since the verdict was known.
func (r Row) SkippedEarly() bool { return r.all(isSkippedEarly) }

// Unused reports whether nothing of the case counts, since the verdict was known.
func (r Row) Unused() bool { return r.all(isSkippedEarly | isUnused) }

// all reports whether each trial has one of the flags.
func (r Row) all(f flags) bool {
	for e := range r.each {
		if e.flags&f == 0 {
			return false
		}
	}
	return true
}

func (r *Row) count() {
	r.Counts = eval.Counts{}
	for e := range r.each {
		r.Counts.Add(r.index.outcomeOf(e))
	}
}

// On is the part of the row for an arm; false when the arm has none.
func (r Row) On(arm string) (Row, bool) {
	n, total := 0, 0
	for e := range r.each {
		if total++; r.index.shapes[e.shape].arm == arm {
			n++
		}
	}
	switch n {
	case 0:
		return Row{}, false
	case total:
		return r, true
	}
	places := make([]uint32, 0, n)
	for i := r.from; i < r.to; i++ {
		if r.index.shapes[r.index.entries[i].shape].arm == arm {
			places = append(places, clip(i))
		}
	}
	r.places = places
	r.count()
	return r, true
}

// PartlyBlocked is how many answers of the row were blocked after some text.
func (r Row) PartlyBlocked() int { return r.flagged(isPartlyBlocked) }

// Cut is how many answers of the row reached their limit of tokens.
func (r Row) Cut() int { return r.flagged(isCut) }

func (r Row) flagged(f flags) (n int) {
	for e := range r.each {
		e.flags.count(f, &n)
	}
	return n
}

// ErrorKinds lists the kinds of errors in the row.
func (r Row) ErrorKinds() []eval.ErrorKind {
	var out []eval.ErrorKind
	for e := range r.each {
		if k := eval.ErrorKind(r.index.shapes[e.shape].errorKind); k != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// Read yields the trials of a row.
func (d *Document) Read(row Row) iter.Seq2[*eval.Result, error] {
	return func(yield func(*eval.Result, error) bool) {
		for e := range row.each {
			if !yield(d.At(e.place())) {
				return
			}
		}
	}
}

// LatencyMs adds up the service times of the row's trials.
func (r Row) LatencyMs() float64 {
	total := 0.0
	for e := range r.each {
		total += float64(e.latencyMs)
	}
	return total
}
