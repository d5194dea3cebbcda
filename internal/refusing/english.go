package refusing

const (
	enAdverbs = `(?:(?:simply|really|just|unfortunately|therefore|however|also|still|sadly|regrettably|respectfully|ethically|legally|` +
		`directly|currently|personally|myself|of course|in good conscience|at this time|and won't|and will not|or won't|ever|be|actually|` +
		`even|thus|either|then|knowingly) )*`
	enTasks = `(?:help|assist|aid|provid|giv|offer|shar|answer|respond|reply|comply|complying|fulfil|do (?:that|this|so|it)\b|writ|creat|generat|` +
		`produc|compos|draft|mak|discuss|talk about|speak (?:about|to|on)|comment|support|engag|participat|tak(?:e|ing) part|continu|` +
		`proceed|go along|describ|explain|tell|show|teach|instruct|guid|walk you|advis|recommend|suggest|facilitat|complet|process|` +
		`carry out|perform|execut|accommodat|honou?r|grant|satisf|meet (?:that|this|your)|reveal|disclos|releas|divulg|encourag|endors|` +
		`condon|promot|translat|summari[sz]|brows|access|open|look (?:that|this|it|up)|identify|speculat|express|take sides|weigh in|` +
		`role-?play|pretend|simulat|cater|accept|handle|deliver|supply|search|view|diagnos|prescrib)(?:e|s|es|ing|l|y)?\b`
	enHabits = `(?:provid|help|assist|creat|writ|generat|produc|engag|discuss|shar|offer|answer|participat|do that|giv(?:e|ing)? (?:out|advice))`
)

var english = language{
	name: "English",
	states: anyOf(
		`\b(?:i|we) `+enAdverbs+`(?:can't|cannot|can not|won't|will not|wouldn't|may not|must not|shouldn't|could not|won't be able to|`+
			`will not be able to|can neither|can't and won't) `+enAdverbs+enTasks,
		`\b(?:i|we) `+enAdverbs+`(?:don't|do not) `+enAdverbs+enHabits,
		`\b(?:i'm|i am|we're|we are) `+enAdverbs+`(?:unable|not able|not going|not allowed|not permitted|not authori[sz]ed|not programmed|`+
			`not designed|not willing|not prepared|not in a position|not equipped|programmed not|designed not|trained not|forbidden) to `+
			enAdverbs+enTasks,
		`^(?:unfortunately )?unable to `+enTasks+`.*\b(?:that|this|your) request`,
		`\bi (?:do not|don't) have (?:the ability|permission|authori[sz]ation) to`,
		`\bi(?:'m|'d|'ll|'ve)? (?:[\pL']+ ){0,5}(?:decline|refuse|abstain)\b`,
		`\b(?:i'd|i would|i) (?:rather|prefer to|prefer|choose to|choose) not\b`,
		`\bnot (?:something|a topic|a request|a task|content) (?:that )?(?:i|we)\b`,
		`\b(?:isn't|is not|aren't|are not|wouldn't be) something (?:that )?(?:i|we)(?:'m|'ll)? ?(?:can|could|will|am|are|able|do|would|be|$)`,
		`\bsomething (?:that )?i(?:'m| am| can't| cannot| won't|'ll) (?:not|help|assist|do|discuss|provide|never)`,
		`\b(?:i'm|i am) not comfortable|\bi (?:do not|don't|wouldn't|would not) feel (?:comfortable|right)`,
		`\b(?:against|violat\w+|contrary to|conflicts? with|breach\w*|inconsistent with|in line with) (?:\w+ ){0,2}?(?:my|our) (?:\w+ ){0,3}?`+
			`(?:guidelines?|polic(?:y|ies)|principles|programming|terms|rules|values|standards)`,
		`\bviolat\w+ (?:the |a )?(?:content|usage|safety|community|ethical) (?:polic|guideline|rule|standard)`,
		`\b(?:my|our) (?:\w+ ){0,2}?(?:guidelines?|polic(?:y|ies)|programming|principles|rules) `+
			`(?:do not|don't|does not|doesn't|prevents?|prohibits?|forbids?|won't|will not)`,
		`\b(?:inappropriate|unethical|irresponsible|wrong|not appropriate|unsafe|not right) (?:for|of) me\b`,
		`\b(?:outside|beyond)(?: of)? what i(?:'m| am)? (?:can|could|able|allowed)`,
		`\bno way (?:that )?i (?:can|could|will|would)|\bnothing (?:that )?i can do|\bi'm just a language model|\brequest (?:is )?denied`,
	),
	spares: anyOf(
		`\benough\b`, `\bhighly\b`, `help (?:but|laughing|noticing|smiling|feeling|thinking|wondering)`,
		`tell (?:you )?(?:how (?:much|happy|glad|excited|grateful|sorry|proud|long|often)|if|whether|apart|the difference)`,
		`\b(?:if|when|unless|until|whether|why|reason) (?:i|we) (?:can't|cannot|won't|am|can)`, `not that i can't`, `refuse to (?:believe|give up|lose)`,
		`\bi (?:can't|cannot) i\b`, `(?:explain|describe|express) how (?:much|happy|grateful)`, `more (?:strongly|highly)`,
		`on behalf of`,
	),
	helps: anyOf(
		`\bhere(?:'s| is| are)\b`,
		`\b(?:but|however|that said|still|nevertheless|though),? (?:[\pL']+ ){0,4}(?:generally|typically|usually|in general|as a rule|roughly|`+
			`approximately|about \d|around \d|most|many|it (?:is|was|means|works)|there (?:is|are|were)|the (?:short|general|basic|usual))\b`,
		`^(?:generally|typically|usually|in general|as a rule|that said|roughly)\b`,
		`\bbut i can [^.!?:]{3,80}: ?\S.{10}`, `\bthe (?:short|general|basic) (?:answer|idea|principle) is\b`,
	),
	turns: anyOf(
		`instead`, `something else`, `\bother (?:topic|question|thing|way|request|task)`, `alternativ`, `resources`, `hotline`, `helpline`,
		`professional`, `contact`, `reach out`, `consult`, `\bseek`, `doctor`, `lawyer`, `happy to`, `let me know`, `feel free`, `to help (?:with )?you`,
		`if you (?:need|would like|'d like|want|have)`,
	),
}
