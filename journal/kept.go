package journal

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// kept are facts of trials that the index keeps for those who will read them all, so that the file is read once.
type kept struct {
	trials []keptFacts
	kinds  []factsKind
	at     map[factsKind]uint32
}

// keptFacts are the facts of a trial that its entry does not have. All but numbers is in the kind.
type keptFacts struct {
	hashes  [hashes]uint64 // their first sixteen digits, or the place of another text in names
	answer  uint64
	repeat  int
	kind    uint32 // place in kinds
	cluster uint32 // place in names, from 1; 0: there is none, or the kind has it
}

// named is the rest of a hash that is in names as a whole.
const named = "\x00"

// hashes is how many a trial has: of the case, the scorers, the variables, the request and the folded prompt.
const hashes = 5

// factsKind is what most trials of a run share.
type factsKind struct {
	rests                          [hashes]string // what follows the digits of each hash, or a text that does not begin with any
	cluster, modelVersion, blocked string
	tags, ratings                  string // JSON: a list, and lists with commas between them
	attempts                       int
}

// splitHash is the number of the sixteen hexadecimal digits with which a text begins, 0 for none, and the rest.
func splitHash(s string) (digits uint64, rest string) {
	if len(s) >= 16 {
		if id, ok := hexID(s[:16]); ok && id != 0 && s[16:] != named {
			return uint64(id), s[16:]
		}
	}
	return 0, s
}

// answerSeed makes equal ids of answers equal hashes in all runs that this process reads.
var answerSeed = maphash.MakeSeed()

// facts splits what a line says. The kind shares the memory of the line, or that of the last kind where they are the same.
func (r *scannedTrial) facts(last *factsKind) (k keptFacts, kind factsKind) {
	for i, hash := range [hashes]string{r.CaseID, r.ScorersHash, r.VarsHash, r.RequestHash, r.FoldedHash} {
		k.hashes[i], kind.rests[i] = splitHash(hash)
	}
	k.repeat = r.Repeat
	if r.Timing.Answer != "" {
		k.answer = maphash.String(answerSeed, r.Timing.Answer)
	}
	kind.cluster, kind.attempts, kind.modelVersion = r.Cluster, r.Timing.Attempts, r.Response.ModelVersion
	var ratings []byte
	if kind.blocked = r.Response.promptBlock(); kind.blocked != "" {
		ratings = r.Response.PromptFeedback.SafetyRatings
	}
	for i := range r.Response.Candidates {
		c := &r.Response.Candidates[i]
		if kind.blocked == "" && eval.IsBlock(c.FinishReason) {
			kind.blocked = c.FinishReason
		}
		switch {
		case len(c.SafetyRatings) == 0:
		case len(ratings) == 0:
			ratings = c.SafetyRatings
		default:
			ratings = slices.Concat(ratings, []byte(","), c.SafetyRatings)
		}
	}
	kind.tags, kind.ratings = again(last.tags, r.Tags), again(last.ratings, ratings)
	return k, kind
}

// again is a text as a string: the last one, if it is the same.
func again(last string, text []byte) string {
	if last == string(text) {
		return last
	}
	return string(text)
}

// clone copies the texts that share the memory of a line.
func (k factsKind) clone() factsKind {
	k.cluster, k.modelVersion, k.blocked = strings.Clone(k.cluster), strings.Clone(k.modelVersion), strings.Clone(k.blocked)
	for i := range k.rests {
		k.rests[i] = strings.Clone(k.rests[i])
	}
	return k
}

// add keeps the facts of a trial, and returns their place, from 1. Texts of which each case has its own are in names.
func (k *kept) add(r *scannedTrial, n *names) uint32 {
	last := &factsKind{}
	if n := len(k.trials); n > 0 {
		last = &k.kinds[k.trials[n-1].kind]
	}
	one, kind := r.facts(last)
	for i, text := range kind.rests {
		if one.hashes[i] == 0 && text != "" {
			one.hashes[i], kind.rests[i] = uint64(n.place(text)), named
		}
	}
	if kind.cluster != "" {
		one.cluster, kind.cluster = n.place(kind.cluster)+1, ""
	}
	if n := len(k.trials); n > 0 && kind == *last {
		one.kind = k.trials[n-1].kind
	} else if at, known := k.at[kind]; known {
		one.kind = at
	} else {
		one.kind, kind = clip(len(k.kinds)), kind.clone()
		k.kinds, k.at[kind] = append(k.kinds, kind), one.kind
	}
	k.trials = append(k.trials, one)
	return clip(len(k.trials))
}

// factsReader reads facts of trials, one after the other, from the index or from the file.
type factsReader struct {
	doc     *Document
	window  window
	scanned scannedTrial
	hashes  [hashes]uint64 // of the last trial
	kind    factsKind
	tags    []string
	ratings []eval.SafetyRating
	texts   [hashes]string
}

func (r *factsReader) read(e *entry, f *Facts) error {
	if k := r.doc.index.kept; k != nil {
		one := &k.trials[r.doc.index.more[e.more-1].kept-1]
		err := r.fill(f, one, &k.kinds[one.kind])
		if one.cluster > 0 {
			f.Cluster = r.doc.index.names.at(one.cluster - 1)
		}
		return err
	}
	data, err := r.window.line(e)
	if err == nil {
		err = r.scanned.scan(data)
	}
	if err != nil {
		return err
	}
	one, kind := r.scanned.facts(&r.kind)
	return r.fill(f, &one, &kind)
}

// fill puts the facts together. Consecutive trials mostly have one kind, and repeats the same hashes.
func (r *factsReader) fill(f *Facts, k *keptFacts, kind *factsKind) error {
	changed := r.kind != *kind
	if changed {
		if err := r.lists(kind); err != nil {
			return err
		}
		r.kind = kind.clone()
	}
	if changed || r.hashes != k.hashes {
		r.hashes, r.texts = k.hashes, r.joined(k.hashes)
	}
	f.CaseID, f.ScorersHash, f.VarsHash, f.RequestHash, f.FoldedHash = r.texts[0], r.texts[1], r.texts[2], r.texts[3], r.texts[4]
	f.Repeat, f.Answer = k.repeat, k.answer
	f.Cluster, f.ModelVersion, f.Blocked, f.Attempts = r.kind.cluster, r.kind.modelVersion, r.kind.blocked, r.kind.attempts
	f.Tags, f.Ratings = r.tags, r.ratings
	return nil
}

// lists decodes the lists of a kind.
func (r *factsReader) lists(kind *factsKind) error {
	if r.kind.tags != kind.tags {
		r.tags = nil
		if err := wirejson.Decode([]byte(cmp.Or(kind.tags, "null")), &r.tags); err != nil {
			return err
		}
	}
	if r.kind.ratings != kind.ratings {
		var all [][]eval.SafetyRating
		if err := wirejson.Decode([]byte("["+kind.ratings+"]"), &all); err != nil {
			return err
		}
		r.ratings = slices.Concat(all...)
	}
	return nil
}

// joined puts hashes together again, in memory of one piece.
func (r *factsReader) joined(digits [hashes]uint64) (out [hashes]string) {
	var room [256]byte
	text, ends := room[:0], [hashes]int{}
	for i, rest := range r.kind.rests {
		switch {
		case rest == named && r.doc.index.kept != nil:
			rest = r.doc.index.names.at(uint32(digits[i])) //nolint:gosec // it was made of one
		case digits[i] != 0:
			text = hex.AppendEncode(text, binary.BigEndian.AppendUint64(nil, digits[i]))
		}
		text = append(text, rest...)
		ends[i] = len(text)
	}
	whole, from := string(text), 0
	for i, end := range ends {
		out[i], from = whole[from:end], end
	}
	return out
}
