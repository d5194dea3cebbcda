package suite

import (
	"hash/maphash"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// thrift is a way to load a suite of thousands of cases with little memory and time. Cutting comes only with sharing, and
// both apply to the list of cases. The zero thrift parses all cases before it checks the first, and keeps each scorer by
// itself: it finds every problem at its position.
type thrift struct {
	cutting yaml.Cutting // parses the list piece by piece
	sharing bool         // checks each case before the next is read, and keeps scorers with equal text once
}

// lean is the thrift of the first attempt.
func lean() thrift {
	return thrift{
		cutting: yaml.Cutting{Key: "cases", From: 64 << 10, Piece: 16 << 10},
		sharing: true,
	}
}

// load reads and checks the suite with thrift, and again with less as long as that is needed: twice more at most. shown is
// the path for messages.
func (o origin) load(shown string, how thrift, diags *diag.List) *Suite {
	for {
		own := diags.Clone() // other suites may have left errors in it
		s, less := o.attempt(shown, how, &own)
		if less == nil {
			*diags = own
			return s
		}
		how = *less
	}
}

// attempt reads and checks the suite. If the result cannot be kept, less is the thrift for the next attempt.
func (o origin) attempt(shown string, how thrift, diags *diag.List) (s *Suite, less *thrift) {
	o.files = newFiles(o.files.fsys, o.files.suite) // it remembers what was read
	s = &Suite{File: shown, origin: o}
	src, err := s.files.text(s.files.suite)
	if err != nil {
		diags.Errorf(diag.Pos{File: s.File}, "", "%s", err)
		return s, nil
	}
	root, ok := how.cutting.Parse(s.File, src, diags)
	if !ok {
		return s, nil
	}
	l := loader{Suite: s, diags: diags, thrift: how}
	s.loading = &loading{}
	s.loading.budget.Grow(templateBase)
	l.load(root)
	s.loading = nil
	s.files.freeze()
	if less = l.less(); less != nil {
		return nil, less
	}
	if diags.HasErrors() {
		s.table.trials = nil
	} else if s.opts.Base != nil {
		s.table.pairing = newPairing(s)
	}
	return s, nil
}

// less returns the thrift with which the suite must be loaded once more, nil when this attempt was enough. The list of
// cases may not be parsable in pieces: then it is not cut. Problems may have wrong positions, or too many may have been
// found to be listed: then there is no thrift at all.
func (l *loader) less() *thrift {
	if !l.thrift.sharing {
		return nil
	}
	if slices.ContainsFunc(l.roots, yaml.Map.Broken) {
		return &thrift{sharing: true}
	}
	cut := slices.ContainsFunc(l.roots, yaml.Map.IsCut)
	shared := l.shared != nil && l.shared.hits > 0
	if l.diags.Len() >= diag.MaxItems || l.diags.HasErrors() && (cut || shared) {
		return &thrift{}
	}
	return nil
}

// Limits on the memory that shared takes.
const (
	maxShared = 4096    // definitions of scorers
	maxSeen   = 1 << 16 // hashes of scorers that occurred once
	maxWhole  = 256     // lists of scorers
)

// sharedScorers finds equal scorers of different cases, so that each is kept once. Signatures are the texts of their nodes.
type sharedScorers struct {
	seed  maphash.Seed
	seen  map[uint64]bool            // hashed signatures of scorers that occurred once
	defs  map[string]*scorerDef      // scorers that occurred again, by signature
	whole map[string][][]*scorerDef  // lists that consist of such scorers only, by signature
	lists map[*scorerDef][]*judgedBy // compiled lists, by their first scorers
	text  []byte                     // signature of the scorer in hand; reused
	hits  int                        // how often a scorer or a list was shared
}

func newShared() *sharedScorers {
	return &sharedScorers{
		seed:  maphash.MakeSeed(),
		seen:  map[uint64]bool{},
		defs:  map[string]*scorerDef{},
		whole: map[string][][]*scorerDef{},
		lists: map[*scorerDef][]*judgedBy{},
	}
}

// find returns the shared definition of an equal scorer, or nil. repeated reports whether an equal one occurred before:
// a definition becomes shared at its second occurrence.
func (s *sharedScorers) find(n yaml.Node) (d *scorerDef, repeated bool) {
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

// ownScorers reads the list of scorers of a case or of the defaults, as its only layer. It returns an earlier list with
// the same text if all scorers of that list are shared.
func (l *loader) ownScorers(n yaml.Node) [][]*scorerDef {
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

// ownScorer reads a scorer of a list; among are the scorers before it. Equal scorers of cases are shared, except those
// for which a warning could name the position.
func (l *loader) ownScorer(n yaml.Node, among []*scorerDef) *scorerDef {
	if l.shared == nil {
		return l.scorerDef(n)
	}
	d, repeated := l.shared.find(n)
	switch {
	case d == nil:
	case slices.Contains(among, d): // a scorer that is listed twice scores twice
		twin := *d
		return &twin
	default:
		return d
	}
	text := string(l.shared.text)
	before := l.diags.Len()
	d = l.scorerDef(n)
	if repeated && l.diags.Len() == before && d.isPlain() && len(l.shared.defs) < maxShared {
		d.common = true
		l.shared.defs[text] = d
	}
	return d
}

// isPlain reports whether no warning can name the position of the scorer.
func (d *scorerDef) isPlain() bool {
	if d.broken || d.fixed == nil || len(d.fixed.Arms) > 0 {
		return false
	}
	n := &d.fixed.Needs
	return len(n.Tools) == 0 && len(n.Snapshots) == 0 && len(n.Tries) == 0
}
