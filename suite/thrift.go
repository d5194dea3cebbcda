package suite

import (
	"hash/maphash"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// thrift is how a suite of thousands of cases is read with little memory and time. The zero thrift reads all of it and then
// checks all of it.
type thrift struct {
	cutting yamlnode.Cutting // of the list of cases
	sharing bool             // scorers that read alike are one
}

// lean is the thrift of a first attempt. Where it could change messages, or their places, the suite is read again with less.
func lean() thrift {
	return thrift{yamlnode.Cutting{Key: "cases", From: 64 << 10, Piece: 16 << 10}, true}
}

// used reports whether what a suite says has been read with it.
func (t thrift) used() bool { return t != thrift{} }

// maxShared bounds the scorers that are remembered because another case may have the same, maxSeen scorers that came once, and
// maxWhole the lists of them.
const (
	maxShared = 4096
	maxSeen   = 1 << 16
	maxWhole  = 256
)

// shared finds the scorers that several cases have.
type shared struct {
	seed  maphash.Seed
	seen  map[uint64]bool            // what scorers say that came once, hashed
	defs  map[string]*scorerDef      // scorers that came again, by what they say
	whole map[string][][]*scorerDef  // lists of such scorers alone, by what they say
	lists map[*scorerDef][]*judgedBy // by their first scorers
	text  []byte                     // of the scorer that is looked for
	hits  int
}

func newShared() *shared {
	return &shared{
		seed: maphash.MakeSeed(), seen: map[uint64]bool{}, defs: map[string]*scorerDef{}, whole: map[string][][]*scorerDef{},
		lists: map[*scorerDef][]*judgedBy{},
	}
}

// find is the definition of a scorer that reads like this one; nil when none is known. repeated says that one came before.
func (s *shared) find(n yamlnode.Node) (d *scorerDef, repeated bool) {
	s.text = n.Signature(s.text[:0])
	if d = s.defs[string(s.text)]; d != nil {
		s.hits++
		return d, true
	}
	hash := maphash.Bytes(s.seed, s.text)
	if repeated = s.seen[hash]; !repeated && len(s.seen) < maxSeen {
		s.seen[hash] = true
	}
	return nil, repeated
}

// ownScorers reads the list of scorers of a case or of the defaults, as its only layer. It is one with a list before it that reads
// like it, when all of its scorers are.
func (l *loader) ownScorers(n yamlnode.Node) [][]*scorerDef {
	if l.shared == nil || !n.IsSequence() {
		return [][]*scorerDef{l.scorerList(n, nil)}
	}
	s := l.shared
	s.text = n.Signature(s.text[:0])
	if layers := s.whole[string(s.text)]; layers != nil {
		s.hits++
		return layers
	}
	before := l.diags.Len()
	layers := [][]*scorerDef{l.scorerList(n, nil)}
	own := func(d *scorerDef) bool { return !d.common }
	if l.diags.Len() == before && len(s.whole) < maxWhole && !slices.ContainsFunc(layers[0], own) {
		s.whole[string(n.Signature(nil))] = layers
	}
	return layers
}

// ownScorer reads a scorer, which is in a list behind others. In a case, it is one with those before it that read like it, unless
// a warning could name its place.
func (l *loader) ownScorer(n yamlnode.Node, among []*scorerDef) *scorerDef {
	if l.shared == nil {
		return l.scorerDef(n)
	}
	d, repeated := l.shared.find(n)
	switch {
	case d == nil:
	case slices.Contains(among, d): // one that is twice in a list counts twice
		twin := *d
		return &twin
	default:
		return d
	}
	text, before := string(l.shared.text), l.diags.Len()
	d = l.scorerDef(n)
	if repeated && l.diags.Len() == before && d.isPlain() && len(l.shared.defs) < maxShared {
		d.common = true
		l.shared.defs[text] = d
	}
	return d
}

// isPlain reports whether no warning ever names the place of a scorer.
func (d *scorerDef) isPlain() bool {
	if d.broken || d.fixed == nil || len(d.fixed.Arms) > 0 {
		return false
	}
	n := &d.fixed.Needs
	return len(n.Tools) == 0 && len(n.Snapshots) == 0 && len(n.Tries) == 0
}

// less is the thrift with which the suite has to be read again. It has no pieces when its cases cannot be read so after
// all, and is off when there are errors that it may have misplaced. False says that the suite was read well.
func (l *loader) less() (how thrift, reload bool) {
	if !l.thrift.used() {
		return how, false
	}
	cut, broken := false, false
	for _, root := range l.roots {
		cut, broken = cut || root.IsCut(), broken || root.Broken()
	}
	if broken {
		return thrift{sharing: true}, true
	}
	shared := l.shared != nil && l.shared.hits > 0
	return how, l.diags.Len() >= diag.MaxItems || l.diags.HasErrors() && (cut || shared)
}
