package journal

// JudgeRequests counts requests to judges, apart from requests to the models under test.
type JudgeRequests struct {
	Replies  int    `json:"replies"` // on which scores are based
	Attempts int    `json:"calls"`   // HTTP attempts: fewer than replies where several answers share a question
	Tokens   Tokens `json:"tokens"`
}

func (j *JudgeRequests) add(other JudgeRequests) {
	j.Replies += other.Replies
	j.Attempts += other.Attempts
	j.Tokens.add(other.Tokens)
}
