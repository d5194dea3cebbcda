package letters

import (
	"regexp"

	"github.com/evalrun/evalrun/internal/lazy"
)

// How surely a sentence names the answer. A surer one outweighs a less sure one that names another letter.
const (
	openingOnly = 1 + iota // a letter that opens the text or a line, perhaps with the text of its option
	stated                 // the answer is B, B is correct, I choose B
	final                  // final answer: B, \boxed{B}
)

// form is a form of clause that affirms a letter, over the classes of words.txt. Its group is the letter.
type form struct {
	clause   func() *regexp.Regexp
	surety   int
	reasoned bool // only behind a reason: da A falsch ist, ist B richtig
}

// Parts of forms: what may be in front of a clause, the answer and its question, the copula, the letter and what is said of it.
const (
	inFront    = `^(?:bc)?[bfyjRtu,]*`
	letter     = `([LBG])`
	theNoun    = `(?:(?:D?og)?D?[dpFu]*[ao][pF]*b?|Dv[ao]|D[pF]*v|Dt(?:[cE]p+|z))`
	question   = `(?:gio|[gd]?(?:[Di][nbp]{0,2})?Q[wn]?|gD[wn]Q)?`
	relative   = `(?:t(?:[cE]D?p+|zb*|wz)|v)?`
	copula     = `(?::?[cEW]:?|M[b,]*|[:=-])`
	named      = `[b,ufy]*D?[op]*a?(?:X:?)?` + letter
	subject    = `u?(?:D?[ao]|D)?` + letter + `\)?(?:,?[ex][Do]*[LBG],?)?`
	theRight   = `(?:D?[dFu]*p+[ao]?|D?u?[ao]p+|D[du]*[ao]t(?:[cE]D?p+|zb*)|DF*a|Do)`
	optionText = `[wdDgnTb]{1,8}`
)

func affirming(clause string, surety int) form { return form{lazy.Regexp(clause), surety, false} }

// forms are tried in this order.
var forms = []form{
	affirming(inFront+`X:*`+letter, final),
	// the answer is B; the answer is Lyon, option B
	affirming(inFront+theNoun+question+relative+copula+named, stated),
	affirming(inFront+theNoun+`[cEW:]:?[wdDbgTn]{1,10},?(?:[it]?c)?(?:D?o`+letter+`|(B))`, stated),
	affirming(inFront+theNoun+`[cEW:]:?[wdDbgTn]{1,10},([LB])$`, stated),
	affirming(`^F+:`+letter, stated),
	affirming(`^D?Qn?:`+letter, stated),
	// it is B; es muss B sein
	affirming(inFront+`(?:[it][cEW]|E[cE]|E|W):?`+named, stated),
	affirming(inFront+`[itE]M`+named, stated),
	// I choose B; I answer B; ich würde B wählen; statt B wähle ich A
	affirming(inFront+`(?:I[Mb]*)?v[bug]*D?[op]*a?`+letter+`(?:VD?o?[LBG])?`, stated),
	affirming(inFront+`I[Mb]*a`+letter, stated),
	affirming(inFront+`I[Mb]+D?[ao]?`+letter+`v`, stated),
	affirming(inFront+`(?:eD?o?[LBG])?vI`+named, stated),
	// B is correct; B fits; B: correct; B it is; B) Lyon is correct; B) Lyon (correct)
	affirming(inFront+subject+`(?:,[wdDn]{1,4},)?[cECW]b*`+theRight, stated),
	affirming(inFront+subject+`z`, stated),
	affirming(inFront+subject+`[:-]?p`, stated),
	affirming(inFront+subject+`ic`, stated),
	affirming(inFront+letter+`cE$`, stated),
	affirming(inFront+`u`+subject+`c$`, stated),
	affirming(`^(?:(B)|(L)[):]+)`+optionText+`[cE]b*D?p+[ao]?`, stated),
	affirming(`^(?:(B)|(L)[):]+)`+optionText+`[(:-]+b*p`, stated),
	affirming(`^(?:(B)|(L)[):]+)`+optionText+`[(:-]+(?:[itE]c|a)b*D?p+[ao]?`, stated),
	// that makes B the answer
	affirming(inFront+`A`+letter+theRight, stated),
	// richtig ist B; also ist B richtig; daher ist die Antwort B
	affirming(inFront+`D?p+[cEW:]:?[bu]*D?[ao]?`+letter, stated),
	affirming(inFront+`[bf][cE]D?[ao]?`+letter+`D?p+[ao]?`, stated),
	affirming(inFront+`[le]D?o?[LBG][cE]D?[ao]?`+letter+`D?p+[ao]?`, stated),
	affirming(inFront+`[bf][cE]D?[dpF]*a`+letter, stated),
	// dass B richtig ist; dass B zutrifft; dass die Antwort B ist
	affirming(inFront+`t(?:D?[ao])?`+letter+`D?p+[ao]?c`, stated),
	affirming(inFront+`t(?:D?[ao])?`+letter+`z`, stated),
	affirming(inFront+`t(?:D?[dpF]*a|[iE])`+letter+`c`, stated),
	// A is not correct, but B is; ✅ B
	affirming(`^y`+letter+`c$`, stated),
	affirming(`^p,?:?`+letter+`$`, openingOnly),
	// da A falsch ist, ist B richtig
	{lazy.Regexp(`^[cE]D?(?:[ao]?([LB])D?p+[ao]?|[dpF]*a([LB]))`), stated, true},
	// Lyon is option B; Lyon, option B; Lyon (B)
	affirming(`^[Ddwgn]{1,8}(?:c|,)D?o`+letter+`$`, openingOnly),
	affirming(`^[Ddwgn]{1,8}(?:(B)|\(D?o(L)\))$`, openingOnly),
}

// bareLetter is a letter that stands for the whole clause, with what may be in front of it.
var bareLetter = lazy.Regexp(`^((?:[bfR]:|[bfR,])*)(y?[bR,]*)(?:D?[ao]|D)?` + letter)

// denyingForms say what denies a letter.
var denyingForms = []func() *regexp.Regexp{
	// not B, except B, eliminate B; I don't think it is B
	lazy.Regexp(`[xelrVZ][Dopadbug]{0,3}([LBG])`),
	lazy.Regexp(`x[bfitcEWDdaopMIuvQ]*([LBG])`),
	// B is wrong, B is not the answer, B does not fit, B nicht
	lazy.Regexp(`([LBG])\)?[:-]?(?:[bcCEWMYiDdo]*m|[bcCEWMYhiDdoz]*(?:r|x[bcCEWMDdhui]*(?:[paovz]|$)))`),
	// the wrong answer is B
	lazy.Regexp(`m[aovdDpFgQnwtz]{0,8}[cE:CWY=][bDoi]*([LBG])`),
}

// verdict says that something is wrong: is wrong; that is not right; wrong; maybe.
const verdict = `[jybi,tRfl]*(?:(?:[itE]|D?[ao])[bcCEhMWYz]+(?:D?d?m|r|x[bcCEWMDdhui]*(?:[paovz]|$))` +
	`|[cCEMWYz][bcCEM]*(?:D?d?m|r|x[bcCEWMDdhui]*(?:[paovz]|$))|d?m[ao]?(?:$|[,)])|h$)`

// What takes back the sentence before it.
var (
	notIt     = lazy.Regexp(`^(?:` + verdict + `[^LBG]*|[^LBG]*U[^LBG]*)$`)
	fragment  = lazy.Regexp(`^[bjyJRfi,]*[xhPNUqlr][^LBGOTcCEMzk:]?$|^[bjy]*(?:I|M)[Mb]*x[^LBG]*$`)
	saidNo    = lazy.Regexp(`^b*x,`)
	justNo    = lazy.Regexp(`^[JRb,fyj]*x[b]*(?:$|,)|,b*xb*$|^[jyb]*(?:S.*x|[^LBG]*[it][^LBG]*S|h[^LBG]*S)`)
	askedBack = lazy.Regexp(`^(?:J|[JjybciExpmRza,]+$)`)
	// wait; correction: C; oops, that was wrong
	correcting = lazy.Regexp(`^(?:R:|[R,b]*R[,b]*$|[b,j]*R[^LBG]*[xmrUhq][^LBG]*$)`)
)

// What is in front of a clause.
var (
	correction  = lazy.Regexp(`^y?I?R`)
	reported    = lazy.Regexp(`St.*,$`)
	deniedIntro = lazy.Regexp(`^[^kyKH].*x|^x`)
)

// What is behind an affirmed letter.
var (
	closed     = lazy.Regexp(`^\)+($|[,:(ykj-])`)
	ofQuestion = lazy.Regexp(`^(?:b|g?(?:[Di][nbp]{0,2})?Q[wn]?|t[cE]D?p+)*`)
	// rather than A, and not A; over A
	otherThan    = lazy.Regexp(`^,?(?:e|j?b*x)[Dopa]*[LBG]\)?`)
	otherThanAny = lazy.Regexp(`^,?(?:[el]|j?b*x)[Dopa]*[LBG]\)?`)
	reason       = lazy.Regexp(`^(?:k(?:[^n]|n[^,]*c|$)|K[DLBGO])`)
	// onlyReasons is what may follow a letter that would be the answer.
	onlyReasons   = lazy.Regexp(`^\)?(?:b|g?(?:[Di][nbp]{0,2})?Q[wn]?)*(?:,?[kK].*|,?[ex][Do]*[LBG])?$`)
	vagueAddition = lazy.Regexp(`^[^LBGO]*[xmrhN][^LBGO]*$`)
	// harmless parts are about the others, or reasons.
	harmless      = lazy.Regexp(`^(?:O|k|K.*[LBGO]|K[^hmRSPU]*$)`)
	hedgedLetter  = lazy.Regexp(`h.*[LBG]|^J|P`)
	letterDenied  = lazy.Regexp(`[xelmrZ].*[LBG]|[LBG].*[xmrh]`)
	letterSaid    = lazy.Regexp(`[cCEMzvwh]`)
	spoils        = lazy.Regexp(`^` + verdict + `|^[qelHxZJ2]|x$|[rRShmNPU]`)
	spoilsOpening = lazy.Regexp(`^[cCEWYzM2]|[xqZ=]`)
)

// What is said of letters that are not affirmed.
var (
	leftOpen   = lazy.Regexp(`h.*[LBG]|[LBG].*h.*[paz]|[LBG][cCE]b+h|P|^J`)
	saidAsWell = lazy.Regexp(`[LBG].*[pz]`)
)

// What makes a sentence normal.
var (
	ownNo       = lazy.Regexp(`(?:^|[,:(-])(x)[,:]`)
	adverbs     = lazy.Regexp(`[^R](,)([bRy]*b)(,).`)
	contrast    = lazy.Regexp(`[^R](,)([bRy]*y)(,)[cCEWMhxz]`)
	joinsNext   = lazy.Regexp(`^(?:,?j?[jJ]|,|-)D?o?([LB])`)
	takenOut    = lazy.Regexp(`[elx]$`)
	saidAlready = lazy.Regexp(`[cEvpm:]`)
	ownClause   = lazy.Regexp(`^[^J|]*\|[cEMxhz]`)
)

// answerName are the classes of a name for the answer, as a key of an object.
var answerName = lazy.Regexp(`^[DFp]*[ao]+$`)

// headingClasses are those of a line that announces the answer: Final answer.
var headingClasses = lazy.Regexp(`^b*D?[dpF]*[ao]$`)

// listItem is the beginning of a line that repeats an option.
var listItem = lazy.Regexp(`^(?:(?:D?[ao])?([LB])[):-]|([LB])\.)`)
