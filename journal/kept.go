package journal

import (
	"cmp"
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
	buf    []byte // for the texts of a trial
}

// keptFacts are the facts of a trial that its entry does not have.
type keptFacts struct {
	texts  uint32 // place in names
	kind   uint32 // place in kinds
	repeat int
	answer uint64
}

// factTexts is how many texts each case has of its own: five hashes and its cluster. They are kept one behind the other.
const factTexts = 6

// factsKind is what most trials of a run share.
type factsKind struct {
	lengths               [factTexts]int
	modelVersion, blocked string
	tags, ratings         string // JSON: a list, and lists with commas between them
	attempts              int
}

// answerSeed makes equal ids of answers equal hashes in all runs that this process reads.
var answerSeed = maphash.MakeSeed()

// answerHash identifies the answer, 0 if it has no id.
func (r *scannedTrial) answerHash() uint64 {
	if r.Timing.Answer == "" {
		return 0
	}
	return maphash.String(answerSeed, r.Timing.Answer)
}

// facts appends the texts of a trial, and returns its kind. The kind shares the memory of the line, or that of the last kind
// where they are the same.
func (r *scannedTrial) facts(texts []byte, last *factsKind) ([]byte, factsKind) {
	kind := factsKind{blocked: r.Response.promptBlock(), modelVersion: r.Response.ModelVersion, attempts: r.Timing.Attempts}
	for i, text := range [factTexts]string{r.CaseID, r.ScorersHash, r.VarsHash, r.RequestHash, r.FoldedHash, r.Cluster} {
		texts, kind.lengths[i] = append(texts, text...), len(text)
	}
	var ratings []byte
	if kind.blocked != "" {
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
	return texts, kind
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
	k.modelVersion, k.blocked = strings.Clone(k.modelVersion), strings.Clone(k.blocked)
	return k
}

// add keeps the facts of a trial, and returns their place, from 1. Repeats have the same texts.
func (k *kept) add(r *scannedTrial, n *names) uint32 {
	one, last := keptFacts{}, &factsKind{}
	if n := len(k.trials); n > 0 {
		one = k.trials[n-1]
		last = &k.kinds[one.kind]
	}
	one.repeat, one.answer = r.Repeat, r.answerHash()
	texts, kind := r.facts(k.buf[:0], last)
	if k.buf = texts; len(k.trials) == 0 || string(texts) != n.at(one.texts) {
		one.texts = n.place(string(texts))
	}
	if len(k.kinds) == 0 || kind != *last {
		at, known := k.at[kind]
		if !known {
			at, kind = clip(len(k.kinds)), kind.clone()
			k.kinds, k.at[kind] = append(k.kinds, kind), at
		}
		one.kind = at
	}
	k.trials = append(k.trials, one)
	return clip(len(k.trials))
}

// factsReader reads facts of trials, one after the other, from the index or from the file.
type factsReader struct {
	doc     *Document
	window  window
	scanned scannedTrial
	// of the last trial, since most share a kind with it, and repeats the texts
	texts   string
	kind    factsKind
	tags    []string
	ratings []eval.SafetyRating
	buf     []byte // for the texts of a trial
}

func (r *factsReader) read(e *entry, f *Facts) error {
	if x := &r.doc.index; x.kept != nil {
		one := &x.kept.trials[x.more[e.more-1].kept-1]
		f.Repeat, f.Answer, r.texts = one.repeat, one.answer, x.names.at(one.texts)
		return r.fill(f, &x.kept.kinds[one.kind])
	}
	data, err := r.window.line(e)
	if err == nil {
		err = r.scanned.scan(data)
	}
	if err != nil {
		return err
	}
	return r.fillScanned(f)
}

// fillScanned puts the facts of the scanned line together.
func (r *factsReader) fillScanned(f *Facts) error {
	f.Repeat, f.Answer = r.scanned.Repeat, r.scanned.answerHash()
	texts, kind := r.scanned.facts(r.buf[:0], &r.kind)
	r.buf, r.texts = texts, again(r.texts, texts)
	return r.fill(f, &kind)
}

// fill puts the facts of the texts and of a kind together.
func (r *factsReader) fill(f *Facts, kind *factsKind) error {
	if r.kind != *kind {
		if err := r.lists(kind); err != nil {
			return err
		}
		r.kind = kind.clone()
	}
	rest := r.texts
	for i, text := range [factTexts]*string{&f.CaseID, &f.ScorersHash, &f.VarsHash, &f.RequestHash, &f.FoldedHash, &f.Cluster} {
		*text, rest = rest[:kind.lengths[i]], rest[kind.lengths[i]:]
	}
	f.ModelVersion, f.Blocked, f.Attempts, f.Tags, f.Ratings = r.kind.modelVersion, r.kind.blocked, r.kind.attempts, r.tags, r.ratings
	return nil
}

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
