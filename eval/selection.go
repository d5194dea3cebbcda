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

// Shard is a part of a plan: every trial belongs to exactly one shard. The zero Shard has all trials. Check says whether
// another one is valid.
type Shard struct {
	Index int // from 1
	Of    int
}

// maxShards bounds how many parts a plan is cut into.
const maxShards = 10_000

// UnmarshalText reads "2/7"; "" is the zero Shard.
func (s *Shard) UnmarshalText(data []byte) error {
	*s = Shard{}
	text := string(data)
	if text == "" {
		return nil
	}
	index, of, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(of)
	read := Shard{i, n}
	if !ok || err1 != nil || err2 != nil || read == (Shard{}) || read.Check() != nil {
		return notAShard(text)
	}
	*s = read
	return nil
}

// Check returns an error unless Index is from 1 to Of and Of is at most 10,000, or the shard is the zero one.
func (s Shard) Check() error {
	if s == (Shard{}) || s.Index >= 1 && s.Index <= s.Of && s.Of <= maxShards {
		return nil
	}
	return notAShard(s.String())
}

func notAShard(text string) error {
	return fmt.Errorf("a shard is written as I/N, such as 1/4, with I from 1 to N and N at most %d, not %q", maxShards, text)
}

// String is the shard as UnmarshalText reads it.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// MarshalText writes the shard as String does.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Takes reports whether the trial with the given id belongs to the shard. It depends on the id alone, which is a
// hash, so that shards are about equal.
func (s Shard) Takes(id string) bool {
	if s.Of == 0 {
		return true
	}
	hash, err := strconv.ParseUint(id, 16, 64)
	if err != nil { // ids are sixteen hexadecimal digits
		panic(err)
	}
	return int(hash%uint64(s.Of)) == s.Index-1 //nolint:gosec // both are small
}

// ShardOf identifies a shard and the plan that it belongs to.
type ShardOf struct {
	Index  int    `json:"index"` // from 1
	Of     int    `json:"of"`
	Plan   string `json:"plan"`   // hash of all trials of the plan, which its shards share
	Trials int    `json:"trials"` // of the whole plan
}

// NotRun are cases of a suite that a run leaves out on some of its arms, by its selection. Those that only another shard
// has are not among them.
type NotRun struct {
	Suite string       `json:"suite"`
	Arms  []string     `json:"arms"`
	Count int          `json:"count"`
	Cases []NotRunCase `json:"cases"` // the first of them: a suite has a bound for all of its lists together
}

// NotRunCase names a case that a run leaves out.
type NotRunCase struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags,omitempty"`
}

// Pattern matches names. `*` matches any characters, including `/`; no other character is special.
type Pattern string

// Match reports whether the pattern matches the whole of s.
func (p Pattern) Match(s string) bool {
	head, rest, star := strings.Cut(string(p), "*")
	if !star {
		return s == head
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], after
	}
}

// Patterns are alternatives; an empty list matches everything.
type Patterns []Pattern

// NewPatterns converts texts to patterns.
func NewPatterns(texts []string) Patterns {
	var out Patterns
	for _, t := range texts {
		out = append(out, Pattern(t))
	}
	return out
}

// Match reports whether any pattern matches, or the list is empty.
func (ps Patterns) Match(s string) bool {
	return len(ps) == 0 || slices.ContainsFunc(ps, func(p Pattern) bool { return p.Match(s) })
}
