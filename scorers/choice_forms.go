package scorers

import (
	"regexp"
	"strings"
	"sync"
)

// The words of the forms in which a sentence names a letter, in English, German, French and Spanish.
const (
	choiceNoun = `(?:answer|ans\.?|option|choice|solution|letter|response|statement|(?:correct|right|best) one|` +
		`antwort(?:möglichkeit)?|lösung|aussage|wahl|réponse|proposition|` +
		`choix|lettre|respuesta|opción|solución|alternativa|letra|` +
		`risposta|resposta|antwoord|ответ|الإجابة|答案|答え|正解|정답)`
	choiceGood = `(?:(?:most |one )?(?:correct|right|best|final|only|likely|true|appropriate|accurate|suitable|plausible|selected|chosen)|` +
		`richtige?|korrekte?|beste|endgültige|einzige?|bonne|` +
		`correct[aeo]|finale|exacte?|juste|meilleure|définitive|mejor|única|seule|verdadera|definitiva)`
	choiceThe     = `(?:(?:the|my|our|die|meine|la|le|mi|ma|mon|el) |l')`
	choiceIs      = `(?:is|must be|should be|has to be|(?:ist|lautet)(?: also)?|wäre|est|es|sería|serait|would be)`
	choiceClearly = `(?:clearly|therefore|thus|definitely|certainly|obviously|indeed|then|daher|somit|eindeutig|klar|donc|` +
		`clairement|claramente|entonces|por (?:lo )?tanto)`
	choiceSo = `(?:so|thus|therefore|hence|then|also|daher|deshalb|somit|folglich|donc|ainsi|par conséquent|así que|` +
		`por (?:lo )?tanto|por eso|entonces)`
	choiceSince = `(?:since|as|because|although|though|while|of|from|among|given|considering|based on|according to the|looking at|` +
		`to summarize|overall|in (?:this|the given) (?:case|scenario|situation|context)|for this question|by (?:process of )?elimination|using|` +
		`(?:after|upon) (?:careful )?(?:analy[sz]ing|considering|consideration|evaluating|reviewing|examining)|` +
		`weil|da|puisque|comme|ya que|como)`
	choiceThink = `(?:yes|sure|okay|clearly|definitely|in conclusion|in summary|conclusion|result|fazit|ergebnis|résultat|resultado|` +
		`(?:i|we) (?:think|believe)(?: that)?|i would say(?: that)?|i'd say(?: that)?|` +
		`i(?: am|'m) (?:sure|certain|confident|convinced)(?: that)?|(?:i|we)(?: can)? (?:conclude|see) that|` +
		`ich (?:denke|glaube)|je (?:pense|crois) que|(?:creo|pienso|diría) que)`
	choiceIChoose = `(?:(?:i|we)(?: would|'d|'ll)? (?:choose|pick|select|say|go with)|you should (?:choose|pick|select)|` +
		`ich (?:wähle|nehme)|je (?:choisis|choisirais)|(?:yo )?(?:elijo|elegiría)|it is|it's|it must be|es ist|c'est|es)`
)

// Parts from which the forms are built.
const (
	theAnswer  = choiceThe + `?(?:` + choiceGood + ` )*` + choiceNoun + `(?: ` + choiceGood + `)*` + inQuestion
	inQuestion = `(?: here| to (?:this|the) question| among (?:these|the options)| of (?:these|the options)|` +
		` auf die frage| à la question| a la pregunta)?`
	leadIn = `(?:(?:` + choiceSo + `|` + choiceThink + `)[,:]? )*`
	// A is wrong, so; since iron rusts,
	clauseIn = `(?:` + choiceSince + `\b[^?"]*, |[^?"]*[,;] (?:(?:and )?` + choiceSo + `,? (?:that )?|but |aber |mais |pero ))?`
	named    = `(?:(?:option|choice|answer|letter|antwort|aussage|réponse|la|die|l'option|opción|respuesta|letra) ?){0,2}`
	anOpener = `[("'\[$]*(?:\\boxed\{)?\(?`
	aLetter  = `(?P<letter>[\pL\pN]{1,3})(?P<closer>[)"\]$}]*)`
	theRest  = `(?P<rest>(?:[^\pL\pN_\-'].*)?)$`
)

// choiceForm is a form in which a sentence names a letter. A test holds the examples of the documentation.
type choiceForm struct {
	how     string
	pattern *regexp.Regexp
}

// Names of the forms that have rules of their own.
const (
	letterAlone   = "the letter alone"
	letterCorrect = "the letter is correct"
	answerNoun    = "answer: letter"
	lastMatch     = "this matches the letter"
	lastOption    = "the last words are the letter and its option"
)

// choiceForms are tried in this order.
var choiceForms = sync.OnceValue(func() []choiceForm {
	var out []choiceForm
	for _, f := range [][2]string{
		{answerNoun, leadIn + theAnswer + `(?: ?[:=→-]+>? ?| )` + named + anOpener + aLetter},
		{"the answer is the letter", clauseIn + leadIn + theAnswer + `(?:,? ` + choiceClearly + `,?)? ` + choiceIs +
			`(?:,? ` + choiceClearly + `,?)*(?: ?:)? ` + named + anOpener + aLetter},
		{letterCorrect, clauseIn + leadIn + `(?:` + choiceThe + `|only |nur )?(?:` + choiceNoun + ` )?` + anOpener + aLetter + ` ` +
			choiceIs + ` (?:` + choiceClearly + ` )?(?:(?:the|die|das|la|le|el) )?(?:(?:` + choiceGood + ` )*` + choiceNoun + `(?: ` +
			choiceGood + `)*|` + choiceGood + `(?: one)?)` + inQuestion},
		{letterCorrect, `(?:[^?"]*, )?` + choiceSo + ` ist (?:` + choiceNoun + ` )?` + anOpener + aLetter + ` (?:die )?` + choiceGood +
			`(?: ` + choiceNoun + `)?`},
		{"the answer is the letter", `(?:(?:[^?"]*, )?` + choiceSo + ` ist ` + theAnswer + `|richtig ist(?: ` + theAnswer + `)?) ` + anOpener +
			aLetter},
		{"I choose the letter", clauseIn + leadIn + choiceIChoose + ` ` + named + anOpener + aLetter},
		{"I choose the letter", leadIn + `ich würde (?:option |antwort )?` + anOpener + aLetter + ` (?:wählen|nehmen)`},
		{lastMatch, clauseIn + `(?:[^?"]*, )?` + leadIn + `(?:(?:this|that|which|it) (?:corresponds to|matches|is)|that's) ` +
			`(?:option|choice|answer) ` + anOpener + aLetter},
		{lastOption, `[^?"]* (?:is|ist|est|es) (?:option )?\(?(?P<letter>[\pL\pN]{1,3})(?P<closer>\))`},
		{"the letter in a box", `[^\\]*\\boxed\{\(?` + aLetter},
		{letterAlone, leadIn + anOpener + aLetter},
	} {
		out = append(out, choiceForm{f[0], regexp.MustCompile(`(?i)^(?:` + f[1] + `)` + theRest)})
	}
	return out
})

// Words that make a form reported speech or a condition when they precede the letter.
const unsaidWords = `if wenn says say said thinks think thought students people he she sagt dit dice unless suppose`

// Words that may take a letter back, or leave it open, when they follow it.
const doubtWords = `not cannot no nope non nor never none neither wrong wrongly incorrect incorrectly false untrue or either but and both
	however though although maybe perhaps possibly probably supposedly might may can could would if unless except without when only also
	too doubt doubtful uncertain unsure guess wait actually oops sorry correction pardon perdón instead almost nearly part partly partially
	half sometimes some most least less worst trap mistake mistaken error appears appear seems seem looks look say says said thought think
	believe believes claim claims lie lied joke joking kidding scratch strike trust theory way sort assuming provided long as then vs in
	out ignore forget disregard nicht kein keine falsch falsche oder aber und jedoch vielleicht wenn außer doch sondern nein sofern scherz
	korrektur ohne glaubt behauptet pas ne faux fausse ou mais et si sauf jamais plaisante partie dit ni falsa falso pero sino y o quizá
	quizás excepto nunca menos salvo parte broma dice en peut-être`

// Words that spoil a reason for a letter.
const spoilingWords = `but however though if unless aber mais pero wenn si except joke no doubt supposedly maybe long
	say says said knows correct right richtig correcta correcte`

// Words that take a letter back in a longer sentence after it, which may be its explanation.
const takingBackWords = `wrong incorrect false or maybe perhaps possibly probably might could if unless doubt unsure sure certain guess wait
	actually oops sorry correction mistake mistaken error joke joking kidding scratch lie lied think thought believe believes says said say
	people students trust right correct answer falsch oder vielleicht wenn nein fehler richtig antwort faux fausse ou si peut-être réponse
	dit falso falsa o quizás quizá respuesta dice i me`

// Words with which a sentence prefers another letter, although it only seems to tell about its option.
const changingWords = `better best instead rather fits fit choose chose chosen pick prefer prefers preferable should must mean meant change
	changed reflection doch besser stattdessen passt mieux plutôt mejor`

// Words that call an option in a list correct.
const affirmingWords = `correct right true richtig korrekt wahr correcte juste vrai vraie correcta correcto verdadera`

// Words that deny another letter.
const denyingWords = `wrong incorrect false not nicht falsch pas fausse faux falsa incorrecta no`

func wordSet(list string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.Fields(list) {
		out[word] = true
	}
	return out
}

var (
	unsaid    = sync.OnceValue(func() map[string]bool { return wordSet(unsaidWords) })
	doubting  = sync.OnceValue(func() map[string]bool { return wordSet(doubtWords) })
	spoiling  = sync.OnceValue(func() map[string]bool { return wordSet(spoilingWords) })
	taking    = sync.OnceValue(func() map[string]bool { return wordSet(takingBackWords) })
	changing  = sync.OnceValue(func() map[string]bool { return wordSet(changingWords) })
	affirming = sync.OnceValue(func() map[string]bool { return wordSet(affirmingWords) })
	denying   = sync.OnceValue(func() map[string]bool { return wordSet(denyingWords) })
)
