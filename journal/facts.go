package journal

import (
	"errors"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Facts are the parts of a trial that comparing and counting need: everything but the prompt and the answers. The slices
// are valid until the next trial is read; the texts stay valid.
type Facts struct {
	N, Repeat                               int
	At                                      int64 // where its line is in the file, for TrialAt
	ID, CaseID, ScorersHash                 string
	Answer                                  string // identifies the answer; "" if not known
	VarsHash, RequestHash, FoldedHash       string
	Suite, Case, Arm, Cluster, ModelVersion string
	Tags                                    []string
	Outcome                                 eval.Outcome
	Quarantined, SkippedEarly, Unused       bool           // out of the gate; not sent, or not used, since the verdict was known
	Blocked                                 string         // the reason of the first block, "" when nothing was
	ErrorKind                               eval.ErrorKind // "" without an error
	MayPass                                 bool           // another attempt may not have the error
	Attempts                                int            // to send for the answer; 0 for one from a cache
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
		var scanned scannedFacts
		w := window{file: d.file.File}
		for i := range d.index.entries {
			e := &d.index.entries[i]
			data, err := w.line(e)
			if err == nil {
				err = f.scan(data, &scanned)
			}
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			k := d.Indexed(i)
			f.N = k.N
			f.Suite = k.Suite
			f.Case = k.Case
			f.Arm = k.Arm
			f.Outcome = k.Outcome
			f.ErrorKind = eval.ErrorKind(d.index.shapes[e.shape].errorKind)
			f.Tokens, f.LatencyMs = int(e.total), float64(e.latencyMs)
			f.Quarantined, f.SkippedEarly = e.flags&isQuarantined != 0, e.flags&isSkippedEarly != 0
			f.MayPass = k.MayPass
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

type scannedFacts struct {
	ID          string        `json:"id"`
	CaseID      string        `json:"caseId"`
	ScorersHash string        `json:"scorersHash"`
	VarsHash    string        `json:"varsHash"`
	RequestHash string        `json:"requestHash"`
	FoldedHash  string        `json:"foldedHash"`
	Cluster     string        `json:"cluster"`
	Repeat      int           `json:"repeat"`
	Tags        []string      `json:"tags"`
	Response    ratedResponse `json:"response"`
	Timing      answerTiming  `json:"timing"`
}

type answerTiming struct {
	Answer   string `json:"answer"`
	Attempts int    `json:"attempts"`
}

type ratedResponse struct {
	ModelVersion   string               `json:"modelVersion"`
	PromptFeedback *eval.PromptFeedback `json:"promptFeedback"`
	Candidates     []ratedCandidate     `json:"candidates"`
}

type ratedCandidate struct {
	FinishReason  string              `json:"finishReason"`
	SafetyRatings []eval.SafetyRating `json:"safetyRatings"`
}

// empty forgets the last trial, but keeps the room of the slices.
func (s *scannedFacts) empty() {
	candidates := s.Response.Candidates[:cap(s.Response.Candidates)]
	for i := range candidates {
		ratings := candidates[i].SafetyRatings[:cap(candidates[i].SafetyRatings)]
		clear(ratings)
		candidates[i] = ratedCandidate{SafetyRatings: ratings[:0]}
	}
	*s = scannedFacts{Response: ratedResponse{Candidates: candidates[:0]}}
}

func (f *Facts) scan(data []byte, s *scannedFacts) error {
	s.empty()
	err := wirejson.Scan(data, s)
	id := again(f.CaseID, s.CaseID)
	*f = Facts{
		ID: strings.Clone(s.ID), CaseID: id, ScorersHash: again(f.ScorersHash, s.ScorersHash), VarsHash: again(id, s.VarsHash),
		RequestHash: again(f.RequestHash, s.RequestHash), FoldedHash: again(f.FoldedHash, s.FoldedHash),
		Cluster: again(f.Cluster, s.Cluster), Repeat: s.Repeat, Attempts: s.Timing.Attempts,
		ModelVersion: again(f.ModelVersion, s.Response.ModelVersion), Answer: strings.Clone(s.Timing.Answer),
		Tags: f.Tags[:0], Ratings: f.Ratings[:0], Scores: f.Scores[:0],
	}
	for _, tag := range s.Tags {
		f.Tags = append(f.Tags, strings.Clone(tag))
	}
	prompt := eval.Response{PromptFeedback: s.Response.PromptFeedback}
	if f.Blocked = prompt.PromptBlock(); f.Blocked != "" {
		f.rate(prompt.PromptFeedback.SafetyRatings)
		f.Blocked = strings.Clone(f.Blocked)
	}
	for _, c := range s.Response.Candidates {
		if f.Blocked == "" && eval.IsBlock(c.FinishReason) {
			f.Blocked = strings.Clone(c.FinishReason)
		}
		f.rate(c.SafetyRatings)
	}
	return err
}

// rate adds ratings. Their texts are mostly those of the last trial's rating at the same place.
func (f *Facts) rate(ratings []eval.SafetyRating) {
	for _, r := range ratings {
		var last eval.SafetyRating
		if all := f.Ratings[:cap(f.Ratings)]; len(f.Ratings) < len(all) {
			last = all[len(f.Ratings)]
		}
		r.Category, r.Probability = again(last.Category, r.Category), again(last.Probability, r.Probability)
		f.Ratings = append(f.Ratings, r)
	}
}

// again is a copy of a text whose memory will be used for another: the last such text, if it is the same.
func again(last, text string) string {
	if last == text {
		return last
	}
	return strings.Clone(text)
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

// windowSize is how much of a file is read at once: some hundreds of trials, as many as a run sends at the same time.
// What is before a line is read with it, since trials are not written in the order of the plan.
const (
	windowSize  = 1 << 19
	windowStart = windowSize / 4
)

// window reads lines that mostly follow each other with few calls of the operating system.
type window struct {
	file *os.File
	buf  []byte
	from int64 // where buf begins in the file
}

// line is a trial's line, good until the next one is read.
func (w *window) line(e *entry) ([]byte, error) {
	length := int64(e.length)
	if at := e.offset - w.from; w.buf != nil && at >= 0 && at+length <= int64(len(w.buf)) {
		return w.buf[at:][:length], nil
	}
	w.from = max(0, e.offset-windowStart)
	at := e.offset - w.from
	size := max(windowSize, int(at+length))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	n, err := w.file.ReadAt(w.buf[:size], w.from)
	w.buf = w.buf[:n]
	if int64(n) < at+length {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return w.buf[at:][:length], nil
}
