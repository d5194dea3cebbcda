package journal

import (
	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
)

// JudgeRequests counts requests to judges, apart from requests to the models under test.
type JudgeRequests struct {
	Replies  int    `json:"replies"` // on which scores are based
	Attempts int    `json:"calls"`   // HTTP attempts: fewer than replies where several answers share a question
	Tokens   Tokens `json:"tokens"`
}

func (j *JudgeRequests) add(other JudgeRequests) {
	j.Replies += other.Replies
	j.Attempts += other.Attempts
	j.Tokens.Prompt += other.Tokens.Prompt
	j.Tokens.Output += other.Tokens.Output
	j.Tokens.Total += other.Tokens.Total
}

// judgeUsage is the cost of one call to a judge.
type judgeUsage struct {
	model    string
	attempts int
	usage    eval.Usage
	noted    bool // a separate line counts it
}

// judgement adds what a judge replied. A reply that another trial requested has cost nothing.
func (r *scannedTrial) judgement(_, v gjson.Result) bool {
	var one scannedTrial // for its usage
	j := judgeUsage{}
	cached, failed := false, false
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "model":
			j.model = v.String()
		case "usage":
			v.ForEach(one.tokens)
		case "attempts":
			j.attempts = int(v.Int())
		case "cached":
			cached = v.Bool()
		case "noted":
			j.noted = v.Bool()
		case "error":
			failed = v.IsObject()
		}
		return true
	})
	if !failed {
		r.judging.Replies++
	}
	if j.usage = one.usage; cached {
		return true
	}
	r.judging.Attempts += j.attempts
	r.judging.Tokens.add(j.usage)
	r.judges = append(r.judges, j)
	return true
}
