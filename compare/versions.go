package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ScorerVersion is a kind of scorer whose version differs between the sides, and that is all that changed in some
// cases.
type ScorerVersion struct {
	Kind  string `json:"kind"`
	Base  int    `json:"base"`
	Head  int    `json:"head"`
	Cases int    `json:"cases"`
}

// addVersions records a case that changed only in the versions of its scorers' kinds.
func (p *Pairing) addVersions(base, head string) {
	for _, one := range versionsApart(base, head) {
		at := slices.IndexFunc(p.ScorerVersions, func(v ScorerVersion) bool { v.Cases = 0; return v == one })
		if at < 0 {
			at = len(p.ScorerVersions)
			p.ScorerVersions = append(p.ScorerVersions, one)
		}
		p.ScorerVersions[at].Cases++
	}
}

// versionsApart are the kinds whose versions differ between two hashes of scorers; none when more differs.
func versionsApart(base, head string) (out []ScorerVersion) {
	before, was := splitVersions(base)
	after, is := splitVersions(head)
	if before != after {
		return nil
	}
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		if one := (ScorerVersion{Kind: kind, Base: max(1, was[kind]), Head: max(1, is[kind])}); one.Base != one.Head {
			out = append(out, one)
		}
	}
	return out
}

// splitVersions splits a hash of scorers such as 0123456789abcdef+choice.2. Kinds at their first version are not
// listed.
func splitVersions(scorers string) (hash string, versions map[string]int) {
	hash, rest, _ := strings.Cut(scorers, "+")
	versions = map[string]int{}
	for part := range strings.SplitSeq(rest, "+") {
		kind, version, _ := strings.Cut(part, ".") // names of kinds have no dot
		if n, err := strconv.Atoi(version); err == nil {
			versions[kind] = n
		}
	}
	return hash, versions
}

// Rescore says which scorers changed their meaning, and how to score the older answers again; "" when none did. It
// takes the ids of both runs; head's is "" before there is one.
func (p *Pairing) Rescore(base, head string) string {
	if len(p.ScorerVersions) == 0 {
		return ""
	}
	var changes []string
	run, side := base, "the baseline"
	for _, v := range p.ScorerVersions {
		changes = append(changes, fmt.Sprintf("the scorer `%s` means something else since version %d", v.Kind, max(v.Base, v.Head)))
		if v.Base > v.Head {
			run, side = head, "the run"
		}
	}
	if run == "" {
		return strings.Join(changes, ", ") + ", which this evalrun does not know"
	}
	return fmt.Sprintf("%s: `evalrun rescore %s` scores the answers of %s again", strings.Join(changes, ", "), run, side)
}
