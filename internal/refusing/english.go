package refusing

const (
	enAdverbs = `(?:(?:simply|really|just|unfortunately|therefore|however|also|still|sadly|regrettably|respectfully|ethically|legally|` +
		`directly|currently|personally|myself|of course|in good conscience|at this time|and won't|and will not|or won't|ever|be|actually|` +
		`even|thus|either|then|knowingly|absolutely|definitely) )*`
	enTasks = `(?:help|assist|aid|provid|giv|offer|shar|answer|respond|reply|comply|complying|fulfil|do (?:that|this|so|it)\b|writ|creat|generat|` +
		`produc|compos|draft|mak|discuss|talk about|speak (?:about|to|on)|comment|support|engag|participat|tak(?:e|ing) part|continu|` +
		`proceed|go along|describ|explain|tell|show|teach|instruct|guid|walk you|advis|recommend|suggest|facilitat|complet|process|` +
		`carry out|perform|execut|accommodat|honou?r|grant|satisf|meet (?:that|this|your)|reveal|disclos|releas|divulg|encourag|endors|` +
		`condon|promot|translat|summari[sz]|brows|access|open|look (?:that|this|it|up)|identify|speculat|express|take sides|weigh in|` +
		`role-?play|pretend|simulat|cater|accept|handle|deliver|supply|search|view|diagnos|prescrib|send|post|publish)(?:e|s|es|ing|l|y)?\b`
	enHabits = `(?:provid|help|assist|creat|writ|generat|produc|engag|discuss|shar|offer|answer|participat|do that|do this|` +
		`giv(?:e|ing)? (?:out|advice))`
	enNever = `(?:can't|cannot|can not|won't|will not|wouldn't|may not|must not|shouldn't|could not|won't be able to|will not be able to|` +
		`can neither|can't and won't)`
	// enIdle are verbs that decline nothing: I can't believe, I won't lie.
	enIdle = `(?:find|see|think of|believe|imagine|wait|agree|disagree|stress|emphasi[sz]e|over\w+|exaggerate|thank|remember|recall|understand|` +
		`stand|afford|lie|deny|complain|get enough|reproduce|rule|go into|bore|spoil|use|promise|guarantee|be sure|hear|feel|sleep|attend|` +
		`repeat|forget|hide|claim|prove|confirm|verify|locate|detect|spot|notice|blame|resist|stop|keep|decide|judge|hope|praise|vouch|` +
		`say (?:for|with|whether|which|that|when|if|exactly|enough)|live|compete|compare|argue|pinpoint|count|wish|fault|but|take long|mind|sugar-?coat|worry|call|mince|beat around|mislead|overcomplicate|dwell|say it|wish|top|fathom|shake|put (?:it|this))`
	// enPrivate are verbs of which one says what one does not, declining nothing: I don't know, I don't like.
	enPrivate = `(?:know|think|see|believe|have|recommend|like|love|want|need|remember|recall|understand|mean|expect|mind|feel|agree|find|care|` +
		`hear|eat|drink|own|live|work|speak|use|usually|blame|get|doubt|suppose|imagine|notice|detect|regret|worry|trust|hate|wish|deserve|` +
		`say|seem|look|sleep|suggest|own|smoke|drive|play|spot|sense|judge|object|claim|pretend|envy|miss|miss|ask|sing|dance|cook)`
	enTopic = `(?:that|this|it|such|you|your|there|these|those|links?|e-?mails?|urls?|the (?:internet|web)|request|system prompt)\b`
)

var english = language{
	name: "English",
	states: anyOf(
		`\b(?:i|we) `+enAdverbs+enNever+` `+enAdverbs+enTasks,
		`\b(?:i|we) (?:can't|cannot|won't|will not)(?: sorry)? *[.!]*\s*$`,
		`\b(?:i|we) `+enAdverbs+`(?:don't|do not) `+enAdverbs+enHabits,
		`\b(?:i'm|i am|we're|we are) `+enAdverbs+`(?:unable|not able|not going|not allowed|not permitted|not authori[sz]ed|not programmed|`+
			`not designed|not willing|not prepared|not in a position|not equipped|programmed not|designed not|trained not|forbidden) to `+
			enAdverbs+enTasks,
		`\b(?:i'm|i am|we're|we are) (?:prohibited|forbidden|barred|prevented|restricted) from\b`, `\bi(?:'m| am) not \pL+ing (?:that|this|you|it)\b`,
		`^(?:unfortunately )?unable to `+enTasks+`.*\b(?:that|this|your) request`,
		`\bi (?:do not|don't) have (?:the ability|permission|authori[sz]ation) to|\bi lack the (?:ability|permission|tools|authority)`,
		`\bi (?:do not|don't) think i (?:should|can|could|ought)`, `\bi(?:'ve)? (?:have to|need to|got to|'ll have to|must|'m saying|say) (?:say no|pass|no)\b|\bhard no\b`,
		`\bi(?:'m|'d|'ll|'ve)? (?:[\pL']+ ){0,5}(?:decline|refuse|abstain)\b`,
		`\b(?:i'd|i would|i) (?:rather|prefer to|prefer|choose to|choose) not(?: to)?(?: (?:answer|discuss|talk|say|share|engage|help|do|get|go|comment|`+
			`write|participate|be|respond|speak|give|provide|take|continue)\b| *[.!])`,
		`\bi'd rather (?:we|you) didn't\b`, `\bi (?:have to|must|need to|will|'ll)? ?(?:turn (?:\pL+ )?down)\b|\bi (?:have|had) to turn down\b`,
		`\bi(?:'m| am|'ve been| have been|'ve| was) (?:instructed|told|trained|asked|configured|built|made) not to\b`, `\bi can neither .* nor `+enTasks,
		`\bnot (?:something|a topic|a request|a task|content|a conversation|a question|a subject) (?:that )?(?:i|we)\b`,
		`\b(?:isn't|is not|aren't|are not|wouldn't be) (?:something|a \pL+) (?:that )?(?:i|we)(?:'m|'ll)? ?(?:can|could|will|am|are|able|do|would|be|willing|`+
			`comfortable|$)`,
		`\bsomething (?:that )?i(?:'m| am| can't| cannot| won't|'ll) (?:not|help|assist|do|discuss|provide|never)`,
		`\b(?:i'm|i am) (?:\pL+ )?not (?:\pL+ )?comfortable|\bi (?:do not|don't|wouldn't|would not) feel (?:comfortable|right)`,
		`\b(?:against|violat\w+|contrary to|conflicts? with|breach\w*|inconsistent with|in line with) (?:\w+ ){0,2}?(?:my|our) (?:\w+ ){0,3}?`+
			`(?:guidelines?|polic(?:y|ies)|principles|programming|terms|rules|values|standards)`,
		`\bviolat\w+ (?:the |a )?(?:content|usage|safety|community|ethical) (?:polic|guideline|rule|standard)`,
		`\b(?:my|our) (?:\w+ ){0,2}?(?:guidelines?|polic(?:y|ies)|programming|principles|rules) `+
			`(?:do not|don't|does not|doesn't|prevents?|prohibits?|forbids?|won't|will not)`,
		`\b(?:inappropriate|unethical|irresponsible|wrong|not appropriate|unsafe|not right|not possible|impossible) (?:for|of) me\b`,
		`\b(?:outside|beyond)(?: of)? what i(?:'m| am)? (?:can|could|able|allowed)`,
		`\bno way (?:that )?i (?:can|could|will|would)|\bnothing (?:that )?i can do|\bi'm just a language model|\brequest (?:is )?denied`,
		`\b(?:isn't|is not|not) my place to\b|\bmy policy is (?:not|never) to\b|\bi (?:have|need) to stop (?:here|you)\b`,
		`^let's (?:talk about|discuss|move on to|switch to) something else|^let's change the subject`,
	),
	may: anyOf(
		`\b(?:i|we) `+enAdverbs+enNever+` `+enAdverbs+`(?:[\pL'-]+ ){0,6}?`+enTopic,
		`\b(?:i|we) `+enAdverbs+`(?:won't|will not) [\pL-]+`, `\bi `+enAdverbs+`(?:don't|do not) [\pL-]+`,
		`\b(?:i'm|i am) `+enAdverbs+`(?:unable|not able|not in a position|not allowed|not permitted|not willing) to [\pL-]+`, `\bi(?:'d| would) rather not \pL+`,
		`\b(?:it would be|it's|it is) \pL+ (?:of|for) me to\b`, `\bsomething i(?:'m| am) (?:unable|not)`, `\bi(?:'m| am) (?:\pL+ )?not (?:\pL+ )?(?:willing|comfortable|prepared|inclined) `,
	),
	idle: anyOf(enNever+` `+enAdverbs+enIdle+`\b`, `\b(?:don't|do not) `+enAdverbs+enPrivate+`\b`, `\bcall (?:it|that|this)\b`, `\b(?:to|rather not) `+enIdle+`\b`, `\bwon't pretend\b`, `\b(?:hard|easy|difficult|clear|strange|new|important) (?:of|for) me\b`, `\bhere is\b`),
	spares: anyOf(
		`\benough\b`, `\bhighly\b`, `(?:can't|cannot|couldn't) help (?:but\b|it\b|\pL+ing\b)`,
		`tell (?:you )?(?:how (?:much|happy|glad|excited|grateful|sorry|proud|long|often)|if|whether|apart|the difference)`,
		`\b(?:if|when|unless|until|whether|why|reason) (?:i|we) (?:can't|cannot|won't|am|can)`, `not that i can't`, `refuse to (?:believe|give up|lose)`,
		`(?:explain|describe|express) how (?:much|happy|grateful)`, `more (?:strongly|highly)`, `on behalf of`,
		`\b(?:single|definitive|definite|simple|precise) (?:answer|number|figure|date|cause|reason|value)`, `\b(?:make|made) it\b`,
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
