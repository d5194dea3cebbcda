package eval

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
)

// Judgement is a judge's reply to one question about an answer. It is kept with the trial in the run file, so
// that a resumed run does not pay for it again.
type Judgement struct {
	ID     string `json:"id"`    // hash of the question to the judge
	Judge  string `json:"judge"` // its name in the suite
	Model  string `json:"model"`
	Repeat int    `json:"repeat"` // of the judge, from 1
	// Prompt is the judge's last prompt, as text. It is "" where an earlier judgement of the trial has the same one,
	// and in runs of evalrun 0.1.
	Prompt string `json:"prompt,omitempty"`
	Reply  string `json:"reply"` // unchanged, except that it may be cut
	// Withheld stands for a reply that is kept out of files.
	Withheld     *Withheld `json:"withheld,omitempty"`
	FinishReason string    `json:"finishReason,omitempty"`
	BlockReason  string    `json:"blockReason,omitempty"` // of the question
	Usage        *Usage    `json:"usage,omitempty"`
	Attempts     int       `json:"attempts"`
	LatencyMs    float64   `json:"latencyMs"`
	// Noted says that the run file also has the reply and its cost in a separate line.
	Noted bool `json:"noted,omitempty"`
	// Cached says that another trial of the run got the reply to the same question, and bears the cost.
	Cached bool `json:"cached,omitempty"`
	// Error says why there is no reply; nil when there is one.
	Error *Error `json:"error,omitempty"`
}

// maxJudgeReply bounds what is kept of a reply, in bytes. Nothing that long is a ruling.
const maxJudgeReply = 64 << 10

// Take copies the reply from a response.
func (j *Judgement) Take(r *Response) {
	j.Usage = r.Usage
	j.BlockReason = r.PromptBlock()
	if len(r.Candidates) > 0 {
		_, j.Reply = cutThoughts(r.Candidates[0].Text)
		j.FinishReason = r.Candidates[0].FinishReason
	}
	j.Reply = j.Reply[:min(len(j.Reply), maxJudgeReply)]
}

// TooLong reports whether the reply may have been cut.
func (j *Judgement) TooLong() bool { return len(j.Reply) >= maxJudgeReply }

// Response is the reply as an answer of the service.
func (j *Judgement) Response() *Response {
	r := &Response{Candidates: []Candidate{}, Usage: j.Usage}
	if j.BlockReason != "" {
		r.PromptFeedback = &PromptFeedback{BlockReason: j.BlockReason}
		return r
	}
	r.Candidates = append(r.Candidates, Candidate{Text: j.Reply, FinishReason: j.FinishReason})
	return r
}

// Blocked is the reason for which the judge's reply was blocked, "" when it was not.
func (j *Judgement) Blocked() string { return j.Response().Blocked() }

// Withhold removes the reply from the record. Hash, length and cost stay.
func (j *Judgement) Withhold() {
	j.Withheld = withhold(j.Reply)
	j.Reply = ""
	j.Usage = j.Usage.withheld()
	j.Prompt = ""
	j.FinishReason, j.BlockReason = word(j.FinishReason), word(j.BlockReason)
	if j.Error != nil {
		j.Error = &Error{Kind: j.Error.Kind, Status: j.Error.Status, Code: word(j.Error.Code), Message: withoutContent}
	}
}

// Judged is how a judge came to the value of a score, or several judges that are a panel.
type Judged struct {
	Judge string `json:"judge"` // of a panel the names of its judges: a, b, c
	// Choice is the result of the rulings: a choice or, for numbers, pass or fail.
	Choice  string   `json:"choice"`
	Rulings []Ruling `json:"rulings"` // one for each repeat, of a panel judge by judge
	// Agreement is the share of pairs of repeats, or of judges of a panel, that say the same. For choices that is the
	// choice, for numbers whether the answer passes. nil: there was one.
	Agreement *float64 `json:"agreement,omitempty"`
	// Panel has the result of each judge of a panel over its repeats; nil for one judge.
	Panel []Ruling `json:"panel,omitempty"`
	// Choices are the words among which a judge with a template chose; nil for choices that evalrun knows.
	Choices []string `json:"choices,omitempty"`
}

// Ruling is one judge's ruling on an answer, in one repeat.
type Ruling struct {
	// Judge is its name in a panel, "" for the only judge.
	Judge string `json:"judge,omitempty"`
	// Choice is the word that was chosen, or, of a number, whether it passes: pass or fail.
	Choice string   `json:"choice"`
	Score  *float64 `json:"score,omitempty"` // on the scale of the question; nil for choices
	Value  float64  `json:"value"`           // in [0,1]
	Reason string   `json:"reason,omitempty"`
	// Passed says in Judged.Panel that the answer would pass by this judge alone. Repeats of one judge decide together, and
	// do not have it. A type of its own for panels would repeat all other fields.
	Passed bool `json:"passed,omitempty"`
}

func (j *Judged) withhold() *Judged {
	if j == nil {
		return nil
	}
	out := *j
	out.Rulings, out.Panel = slices.Clone(j.Rulings), slices.Clone(j.Panel)
	for _, some := range [][]Ruling{out.Rulings, out.Panel} {
		for i := range some {
			some[i].Reason = ""
		}
	}
	return &out
}

// LabelledAnswer is an answer that people and a judge have passed, or not.
type LabelledAnswer struct {
	Case          string
	People, Judge bool
}

// MeasuredJudge is a judge whose scores count on an arm, with how far it agrees with people there.
type MeasuredJudge struct {
	Suite  string `json:"suite"`
	Arm    string `json:"arm"`
	Scorer string `json:"scorer,omitempty"` // its name, or its kind; "" inside another scorer
	Judge  string `json:"judge"`            // for a panel, the names of its judges: a, b, c
	Labels string `json:"-"`                // the file with the labels
	// Problem is why the labels cannot be used, "" when they can.
	Problem string `json:"problem,omitempty"`
	JudgeFigures
}

// JudgeFigures measure a judge by labels. Each figure is nil where nothing was labelled that it takes.
type JudgeFigures struct {
	Answers int `json:"answers"` // with a label and a score of the judge
	// Sensitivity is the share of the answers passed by people that the judge passes, Specificity the same of failing.
	Sensitivity *BoundedShare `json:"sensitivity"`
	Specificity *BoundedShare `json:"specificity"`
	// Kappa is Cohen's. Its bound treats the agreement by chance as known.
	Kappa *BoundedValue `json:"kappa"`
}

// BoundedShare is a share of answers, with a lower bound at 95 % over cases.
type BoundedShare struct {
	Part    int     `json:"part"`
	Of      int     `json:"of"`
	Cases   int     `json:"cases"`
	AtLeast float64 `json:"atLeast"`
}

// BoundedValue is a value with a lower bound at 95 %.
type BoundedValue struct {
	Value   float64 `json:"value"`
	AtLeast float64 `json:"atLeast"`
}

// Bound is the lower bound of a figure by its key in a gate; nil where it is not known.
func (f *JudgeFigures) Bound(name string) *float64 {
	switch {
	case name == "sensitivity" && f.Sensitivity != nil:
		return &f.Sensitivity.AtLeast
	case name == "specificity" && f.Specificity != nil:
		return &f.Specificity.AtLeast
	case name == "kappa" && f.Kappa != nil:
		return &f.Kappa.AtLeast
	}
	return nil
}

// Words say by whom values were judged, and how far that judge agrees with people.
func (m *MeasuredJudge) Words() string {
	text := "as judged by " + m.Judge
	if m.Scorer != "" && m.Scorer != "judge" {
		text += " (" + m.Scorer + ")"
	}
	switch {
	case m.Problem != "":
		return text + ", agreement with people not measured: " + m.Problem
	case m.Answers == 0 && m.Labels == "":
		return text + ", agreement with people not measured"
	case m.Answers == 0:
		return text + ", agreement with people not measured: no label of these answers in " + filepath.Base(m.Labels) +
			" (evalrun help labels)"
	}
	return fmt.Sprintf(
		"%s: by %d labelled answers, sensitivity %s, specificity %s", text, m.Answers, m.Sensitivity.Words(), m.Specificity.Words(),
	)
}

// Words are the share and its bound, for people; nil is not known.
func (s *BoundedShare) Words() string {
	if s == nil {
		return "not known"
	}
	return fmt.Sprintf("%.2f (at least %.2f)", float64(s.Part)/float64(s.Of), math.Floor(100*s.AtLeast+1e-9)/100)
}
