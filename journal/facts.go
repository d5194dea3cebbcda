package journal

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
)

// Facts are the parts of a trial that comparing and counting need: everything but the prompt and the answers. The slices
// are valid until the next trial is read; the texts stay valid.
type Facts struct {
	N, Repeat                               int
	At                                      int64 // where its line is in the file, for TrialAt
	ID, CaseID, ScorersHash                 string
	VarsHash, RequestHash                   string
	Suite, Case, Arm, Cluster, ModelVersion string
	Tags                                    []string
	Outcome                                 eval.Outcome
	Quarantined, SkippedEarly, Unused       bool   // out of the gate; not sent, or not used, since the verdict was known
	Blocked                                 string // the reason of the first block, "" when nothing was
	Tokens                                  int
	LatencyMs                               float64
	Ratings                                 []eval.SafetyRating // of the answer, or of a blocked prompt
	Scores                                  []NamedScore        // the scores with names and values
	// Class is the expected and the actual class, nil without a classification.
	Class *eval.Pair
}

// NamedScore is the value of a named scorer.
type NamedScore struct {
	Name  string
	Value float64
}

// Facts yields the trials in the order of the plan. The same Facts are filled in again for each.
func (d *Document) Facts() iter.Seq2[*Facts, error] {
	return func(yield func(*Facts, error) bool) {
		var f Facts
		w := window{file: d.file.File}
		for i := range d.index.entries {
			e := &d.index.entries[i]
			data, err := w.line(e)
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			if !f.scanFast(data) {
				f.scan(data)
			}
			k := d.Indexed(i)
			f.N = k.N
			f.Suite = k.Suite
			f.Case = k.Case
			f.Arm = k.Arm
			f.Outcome = k.Outcome
			f.Tokens, f.LatencyMs = int(e.total), float64(e.latencyMs)
			f.Quarantined, f.SkippedEarly = e.flags&isQuarantined != 0, e.flags&isSkippedEarly != 0
			f.Unused, f.At = e.flags&isUnused != 0, e.offset
			for _, m := range d.index.metricsOf(e) {
				f.Scores = append(f.Scores, NamedScore{m.name, m.value})
			}
			f.Class = d.index.classOf(e)
			if !yield(&f, nil) {
				return
			}
		}
	}
}

// scan reads what the index does not keep.
func (f *Facts) scan(data []byte) {
	f.empty()
	gjson.ParseBytes(data).ForEach(func(key, v gjson.Result) bool {
		if text, _ := f.text(key.Str, &Facts{}); text != nil {
			*text = strings.Clone(v.String())
			return true
		}
		switch key.Str {
		case "repeat":
			f.Repeat = int(v.Int())
		case "tags":
			v.ForEach(func(_, tag gjson.Result) bool {
				f.Tags = append(f.Tags, strings.Clone(tag.String()))
				return true
			})
		case "response":
			v.ForEach(f.response)
		}
		return true
	})
}

// response reads blocks and ratings of an answer.
func (f *Facts) response(key, v gjson.Result) bool {
	switch key.Str {
	case "modelVersion":
		f.ModelVersion = strings.Clone(v.String())
	case "promptFeedback":
		if reason := v.Get("blockReason").String(); reason != "" {
			f.Blocked = strings.Clone(reason)
			v.Get("safetyRatings").ForEach(f.rating)
		}
	case "candidates":
		v.ForEach(func(_, c gjson.Result) bool {
			c.ForEach(f.candidate)
			return true
		})
	}
	return true
}

// candidate reads a block and the ratings of one candidate.
func (f *Facts) candidate(key, v gjson.Result) bool {
	switch key.Str {
	case "finishReason":
		if reason := v.String(); f.Blocked == "" && eval.IsBlock(reason) {
			f.Blocked = strings.Clone(reason)
		}
	case "safetyRatings":
		v.ForEach(f.rating)
	}
	return true
}

func (f *Facts) rating(_, v gjson.Result) bool {
	f.Ratings = append(f.Ratings, eval.SafetyRating{
		Category:    strings.Clone(v.Get("category").String()),
		Probability: strings.Clone(v.Get("probability").String()),
		Blocked:     v.Get("blocked").Bool(),
	})
	return true
}

// LatencyQuantile is the q-quantile, by nearest rank, of service times in milliseconds; false when there are none. It
// is over the trials of an arm that were scored and are not in quarantine.
func (d *Document) LatencyQuantile(suite, arm string, q float64) (float64, bool) {
	var all []float32
	for i := range d.index.entries {
		e := &d.index.entries[i]
		if s := &d.index.shapes[e.shape]; s.suite == suite && s.arm == arm && d.index.isTimed(e) {
			all = append(all, e.latencyMs)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	rank := int(math.Ceil(q * float64(len(all))))
	return float64(all[max(0, rank-1)]), true
}

// isTimed reports whether the service time of a trial counts for its arm.
func (x *index) isTimed(e *entry) bool {
	if e.flags&(isQuarantined|isUnused) != 0 || e.latencyMs <= 0 {
		return false
	}
	outcome := x.outcomeOf(e)
	return outcome == eval.Pass || outcome == eval.Fail
}
