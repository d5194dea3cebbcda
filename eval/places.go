package eval

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Places is a set of places in a plan. As text it is ranges in ascending order, such as 0-3,7,9-11, so that many of
// them take little room in a run file. The zero Places is empty.
type Places struct{ ranges []placeRange }

// placeRange is from first to last, both among them.
type placeRange struct{ first, last int }

// Add takes up length places from n on. Calls come in ascending order.
func (p *Places) Add(n, length int) {
	if end := len(p.ranges) - 1; end >= 0 && p.ranges[end].last == n-1 {
		p.ranges[end].last += length
		return
	}
	p.ranges = append(p.ranges, placeRange{n, n + length - 1})
}

// Has reports whether a place is among them.
func (p *Places) Has(n int) bool {
	_, found := slices.BinarySearchFunc(p.ranges, n, func(r placeRange, n int) int {
		switch {
		case r.last < n:
			return -1
		case r.first > n:
			return 1
		}
		return 0
	})
	return found
}

// MarshalText writes the ranges.
func (p *Places) MarshalText() ([]byte, error) {
	out := []byte{}
	for i, r := range p.ranges {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(r.first), 10)
		if r.last > r.first {
			out = append(out, '-')
			out = strconv.AppendInt(out, int64(r.last), 10)
		}
	}
	return out, nil
}

// UnmarshalText reads what MarshalText writes.
func (p *Places) UnmarshalText(text []byte) error {
	p.ranges = nil
	if len(text) == 0 {
		return nil
	}
	next := 0
	for part := range strings.SplitSeq(string(text), ",") {
		from, to, more := strings.Cut(part, "-")
		if !more {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 63)
		last, err2 := strconv.ParseUint(to, 10, 63)
		if err1 != nil || err2 != nil || last < first || last >= math.MaxInt || int(first) < next {
			return fmt.Errorf("not places of a plan: %q", part)
		}
		p.Add(int(first), int(last-first)+1)
		next = int(last) + 1
	}
	return nil
}
