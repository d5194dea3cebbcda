package journal

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// scannedTrial is the part of a trial's line that the index reads. Prompts and answers, most of a line, are passed over.
// Its texts share the memory of the line, so they must be cloned to be kept.
type scannedTrial struct {
	line
	id          trialID            // of ID
	N           int                `json:"n"`
	ID          string             `json:"id"`
	CaseID      string             `json:"caseId"`
	ScorersHash string             `json:"scorersHash"`
	VarsHash    string             `json:"varsHash"`
	RequestHash string             `json:"requestHash"`
	FoldedHash  string             `json:"foldedHash"`
	Cluster     string             `json:"cluster"`
	Repeat      int                `json:"repeat"`
	Tags        json.RawMessage    `json:"tags"`
	Suite       string             `json:"suite"`
	Case        string             `json:"case"`
	Arm         string             `json:"arm"`
	Model       string             `json:"model"`
	Outcome     string             `json:"outcome"`
	SkipReason  string             `json:"skipReason"`
	Quarantine  eval.Quarantine    `json:"quarantine"`
	Error       scannedError       `json:"error"`
	Usage       scannedUsage       `json:"usage"`
	Timing      scannedTiming      `json:"timing"`
	Response    scannedResponse    `json:"response"`
	Turns       []scannedResponse  `json:"turns"`
	Turn        int                `json:"turn"` // in the line of a call: its number
	Scores      []scannedScore     `json:"scores"`
	Metrics     map[string]float64 `json:"metrics"`
	Judgements  []scannedJudgement `json:"judgements"`
}

type scannedError struct {
	Kind   string `json:"kind"`
	Status int    `json:"status"`
}

type scannedTiming struct {
	StartedAt string  `json:"startedAt"` // of the first attempt
	LatencyMs float64 `json:"latencyMs"`
	Attempts  int     `json:"attempts"`
	Integrity string  `json:"integrity"`
	Limit     string  `json:"limit"`
	Answer    string  `json:"answer"`
}

type scannedScore struct {
	Name  string      `json:"name"`
	Value json.Number `json:"value"` // "" where there is none
	Class eval.Pair   `json:"class"`
}

// scannedUsage leaves the members alone that are not added up.
type scannedUsage struct {
	eval.Usage
	Source json.RawMessage `json:"source"`
	Extra  json.RawMessage `json:"extra"`
}

type scannedResponse struct {
	ModelVersion   string `json:"modelVersion"`
	PromptFeedback struct {
		BlockReason   string          `json:"blockReason"`
		SafetyRatings json.RawMessage `json:"safetyRatings"`
	} `json:"promptFeedback"`
	Candidates []struct {
		Text          string          `json:"text"`
		FinishReason  string          `json:"finishReason"`
		Withheld      eval.Withheld   `json:"withheld"`
		SafetyRatings json.RawMessage `json:"safetyRatings"`
	} `json:"candidates"`
}

type scannedJudgement struct {
	Model    string       `json:"model"`
	Usage    scannedUsage `json:"usage"`
	Attempts int          `json:"attempts"`
	Cached   bool         `json:"cached"` // another trial requested the reply: it has cost nothing
	Noted    bool         `json:"noted"`  // a separate line counts it
	Error    *struct{}    `json:"error"`
}

// scannedReply is the line of a judge's reply about a trial that is not settled yet.
type scannedReply struct {
	Trial string `json:"trial"`
	scannedJudgement
}

func (r *scannedTrial) scan(data []byte) error {
	scores := r.Scores[:cap(r.Scores)]
	clear(scores)
	candidates := r.Response.Candidates[:cap(r.Response.Candidates)]
	clear(candidates)
	*r = scannedTrial{Scores: scores[:0], Response: scannedResponse{Candidates: candidates[:0]}}
	err := wirejson.Scan(data, r)
	r.id = newTrialID(r.ID)
	return err
}

func (r *scannedTrial) flags() (f flags) {
	if needless(eval.Skip.Ending(nil, r.SkipReason)) {
		f |= isSkippedEarly
	}
	switch eval.Integrity(r.Timing.Integrity) {
	case eval.Clean:
		f |= isClean
	case eval.Open:
		f |= isOpen
	case eval.Tainted:
		f |= isTainted
	}
	switch r.Timing.Limit {
	case "":
	case eval.LimitTime:
		f |= isLate
	default:
		f |= isLimited
	}
	if e := (&eval.Error{Kind: eval.ErrorKind(r.Error.Kind), Status: r.Error.Status}); e.MayPass() {
		f |= isPassing
	}
	f |= r.Response.flags()
	for i := range r.Turns {
		f |= r.Turns[i].flags() & isCut
	}
	return f
}

// needless reports whether a trial did not have to run: a run without such trials is complete.
func needless(e eval.Ending) bool {
	return e == eval.SkippedDecided{} || e == eval.SkippedRuledOut{}
}

// promptBlock is why the prompt was blocked, "" when it was not.
func (r *scannedResponse) promptBlock() string {
	prompt := eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: r.PromptFeedback.BlockReason}}
	return prompt.PromptBlock()
}

func (r *scannedResponse) flags() (f flags) {
	if r.promptBlock() != "" {
		return isBlocked
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		whole := eval.Candidate{Text: c.Text, FinishReason: c.FinishReason, Withheld: &c.Withheld}
		if whole.FinishReason == eval.CutReason {
			f |= isCut
		}
		if whole.Block() != "" {
			f |= isBlocked
		}
		if whole.PartlyBlocked() != "" {
			f |= isPartlyBlocked
		}
	}
	return f
}

// metrics yields the named scores that have a value.
func (r *scannedTrial) metrics(yield func(name string, value float64) bool) {
	for i := range r.Scores {
		s := &r.Scores[i]
		if value, err := s.Value.Float64(); err == nil && s.Name != "" && !yield(s.Name, value) {
			return
		}
	}
	if len(r.Metrics) == 0 { // as in most trials
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		if !yield(name, r.Metrics[name]) {
			return
		}
	}
}

// class is the classification of the trial; without a label there is none.
func (r *scannedTrial) class() (p eval.Pair) {
	for i := range r.Scores {
		if class := r.Scores[i].Class; class.Expected != "" {
			p = class
		}
	}
	return p
}

func (r *scannedTrial) judging() (all JudgeRequests) {
	for i := range r.Judgements {
		j := &r.Judgements[i]
		if j.Error == nil {
			all.Replies++
		}
		if !j.Cached {
			all.Attempts += j.Attempts
			all.Tokens.add(tokensOf(j.Usage.Usage))
		}
	}
	return all
}
