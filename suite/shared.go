package suite

import (
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// thrift is how a suite of thousands of cases is read with little memory and time. The zero thrift reads all of it and then checks all of
// it.
type thrift struct {
	cutting yamlnode.Cutting // of the list of cases
	sharing bool             // scorers that read alike are one
}

// lean is the thrift of a first attempt. Where it could change what is told of mistakes, or their places, the suite is read again without.
func lean() thrift {
	return thrift{yamlnode.Cutting{Key: "cases", From: 64 << 10, Piece: 16 << 10}, true}
}

// used reports whether what a suite says has been read with it.
func (t thrift) used() bool { return t != thrift{} }

// maxShared bounds the scorers that are remembered because another case may have the same.
const maxShared = 4096

// shared finds the scorers that stand in several cases.
type shared struct {
	defs map[string]*scorerDef // by what they say
	text []byte                // of the scorer that is looked for
	hits int
}

// ownScorer reads a scorer, which stands in a list behind others. In a case, one that reads like another before it, and of which no warning ever tells the place, is that one.
func (l *loader) ownScorer(n yamlnode.Node, among []*scorerDef) *scorerDef {
	if l.shared == nil {
		return l.scorerDef(n)
	}
	l.shared.text = n.Signature(l.shared.text[:0])
	if d := l.shared.defs[string(l.shared.text)]; d != nil {
		l.shared.hits++
		if !slices.Contains(among, d) {
			return d
		}
		twin := *d // what stands twice in a list counts twice
		return &twin
	}
	text, before := string(l.shared.text), l.diags.Len()
	d := l.scorerDef(n)
	if l.diags.Len() == before && d.isPlain() && len(l.shared.defs) < maxShared {
		l.shared.defs[text] = d
	}
	return d
}

// isPlain reports whether nothing that is not a mistake is ever told of the place of a scorer.
func (d *scorerDef) isPlain() bool {
	if d.broken || d.fixed == nil || len(d.fixed.Arms) > 0 {
		return false
	}
	n := &d.fixed.Needs
	return len(n.Tools) == 0 && len(n.Snapshots) == 0 && len(n.Tries) == 0
}

// mustRepeat reports whether the suite has to be read without thrift: when there are mistakes that it may have misplaced, and when the list of
// cases cannot be read in pieces after all.
func (l *loader) mustRepeat() bool {
	if !l.thrift.used() {
		return false
	}
	cut, broken := false, false
	for _, root := range l.roots {
		cut, broken = cut || root.IsCut(), broken || root.Broken()
	}
	shared := l.shared != nil && l.shared.hits > 0
	return broken || l.diags.Len() >= diag.MaxItems || l.diags.HasErrors() && (cut || shared)
}
