package journal

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
)

// scannedTrial is the part of a trial's line that the index reads. Its strings are parts of a copy of the line, so they must be
// cloned to be kept.
type scannedTrial struct {
	n                           int
	id                          trialID
	odd                         bool
	oddID                       string // the id, if it is odd: evalrun did not write it
	suite, caseName, arm, model string
	outcome, errorKind          string
	until                       string // last day of the quarantine
	blocked                     bool   // the answer, or its prompt
	partlyBlocked, cut          bool   // after some text; by the limit of tokens
	answered                    bool   // whether there is an answer, or a turn of a chat
	stopped                     bool   // not sent, since the verdict was known
	clustered                   bool   // it belongs to a cluster
	usage                       eval.Usage
	attempts                    int
	latencyMs                   float64
	startedAt                   []byte    // when the first attempt was made
	started                     time.Time // startedAt, zero when it is no valid time
	metrics                     []metric
	class                       eval.Pair // without a label: there is no classification
	judging                     JudgeRequests
	judges                      []judgeUsage // costs of the calls to judges
	last                        texts        // texts of the last line, to share them
}

// scan reads a line without decoding what is between, the prompts and answers, which are most of it. That the
// line is JSON was checked before.
func (r *scannedTrial) scan(data []byte) {
	r.empty()
	r.setID("")
	gjson.ParseBytes(data).ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "n":
			r.n = int(v.Int())
		case "id":
			r.setID(v.String())
		case "skipReason":
			r.stopped = needless(eval.Skip.Ending(nil, v.Str))
		case "quarantine":
			r.until = v.Get("until").String()
		case "error":
			r.errorKind = v.Get("kind").String()
		case "cluster":
			r.clustered = v.String() != ""
		default:
			if text := r.text(key.Str); text != nil {
				*text = v.String()
			} else {
				r.part(key.Str, v)
			}
		}
		return true
	})
}

// needless reports whether a trial did not have to run. Such trials are missing from no rule, and a run without them is
// complete.
func needless(e eval.Ending) bool {
	return e == eval.SkippedDecided{} || e == eval.SkippedRuledOut{}
}

func (r *scannedTrial) setID(s string) {
	_, hex := hexID(s)
	r.id = newTrialID(s)
	r.odd = !hex
	r.oddID = s
}

// text is the field for a text of the line, nil for a key that has no text.
func (r *scannedTrial) text(key string) *string {
	switch key {
	case "suite":
		return &r.suite
	case "case":
		return &r.caseName
	case "arm":
		return &r.arm
	case "model":
		return &r.model
	case "outcome":
		return &r.outcome
	}
	return nil
}

// part reads a nested object of the line.
func (r *scannedTrial) part(key string, v gjson.Result) {
	switch key {
	case "scores":
		v.ForEach(r.score)
	case "metrics":
		v.ForEach(r.derived)
	case "usage":
		v.ForEach(r.tokens)
	case "judgements":
		v.ForEach(r.judgement)
	case "timing":
		r.attempts, r.latencyMs = int(v.Get("attempts").Int()), v.Get("latencyMs").Float()
		at := v.Get("startedAt").String()
		r.startedAt, r.started = append(r.startedAt[:0], at...), parseTime(at)
	case "response":
		r.blocked, r.partlyBlocked = blocked(v)
		r.answer(v)
	case "turns":
		r.answer(v)
	}
}

// answer notes that the trial has an answer, or turns of a chat, and whether it was cut.
func (r *scannedTrial) answer(v gjson.Result) {
	r.answered = true
	r.cut = r.cut || strings.Contains(v.Raw, cutMark)
}

// mayBeBlocked looks for a text that every block has: most answers do not have it, and are not read further.
func mayBeBlocked(raw string) bool {
	if strings.Contains(raw, `"blockReason"`) {
		return true
	}
	for rest := raw; ; {
		at := strings.Index(rest, `"finishReason":"`)
		if at < 0 {
			return false
		}
		rest = rest[at+len(`"finishReason":"`):]
		if reason, _, ok := strings.Cut(rest, `"`); ok && eval.IsBlock(reason) {
			return true
		}
	}
}

// score adds a named score that has a value.
func (r *scannedTrial) score(_, v gjson.Result) bool {
	var m metric
	isNumber := false
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "name":
			m.name = v.String()
		case "value":
			m.value, isNumber = v.Float(), v.Type == gjson.Number
		case "class":
			r.class = eval.Pair{Expected: v.Get("label").String(), Answer: v.Get("answer").String()}
		}
		return true
	})
	if m.name != "" && isNumber {
		r.metrics = append(r.metrics, m)
	}
	return true
}

func (r *scannedTrial) derived(name, v gjson.Result) bool {
	if v.Type == gjson.Number && name.String() != "" {
		r.metrics = append(r.metrics, metric{name.String(), v.Float()})
	}
	return true
}

func (r *scannedTrial) tokens(key, v gjson.Result) bool {
	switch key.Str {
	case "promptTokens":
		r.usage.PromptTokens = int(v.Int())
	case "outputTokens":
		r.usage.OutputTokens = int(v.Int())
	case "totalTokens":
		r.usage.TotalTokens = int(v.Int())
	case "cachedTokens":
		r.usage.CachedTokens = int(v.Int())
	case "toolUseTokens":
		r.usage.ToolUseTokens = int(v.Int())
	}
	return true
}

// cutMark appears in the line of a trial whose answer reached its limit of tokens. Inside a text, its
// quotes would be escaped.
const cutMark = `"finishReason":"` + eval.CutReason + `"`

// blocked reports whether the answer or its prompt was blocked, and whether the answer has some text
// anyway.
func blocked(response gjson.Result) (found, partly bool) {
	if !mayBeBlocked(response.Raw) {
		return false, false
	}
	if reason := response.Get("promptFeedback.blockReason").String(); reason != "" {
		return (&eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: reason}}).Blocked() != "", false
	}
	response.Get("candidates").ForEach(func(_, c gjson.Result) bool {
		if eval.IsBlock(c.Get("finishReason").String()) {
			found = true
			partly = partly || !eval.Is(c.Get("text").String()) || c.Get("withheld.bytes").Int() > 0
		}
		return true
	})
	return found, partly
}
