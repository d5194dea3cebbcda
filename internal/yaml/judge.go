package yaml

// Names that the template of a judge can use in addition to variables. They win over variables of the case.
const (
	JudgeAnswer       = "answer"
	JudgeQuestion     = "question"
	JudgeConversation = "conversation"
)
