package letters

import (
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
	clause   lazy.Pattern
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

func affirming(clause lazy.Pattern, surety int) form { return form{clause, surety, false} }

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
	{`^[cE]D?(?:[ao]?([LB])D?p+[ao]?|[dpF]*a([LB]))`, stated, true},
	// Lyon is option B; Lyon, option B; Lyon (B)
	affirming(`^[Ddwgn]{1,8}(?:c|,)D?o`+letter+`$`, openingOnly),
	affirming(`^[Ddwgn]{1,8}(?:(B)|\(D?o(L)\))$`, openingOnly),
}

// bareLetter is a letter that stands for the whole clause, with what may be in front of it.
const bareLetter lazy.Pattern = `^((?:[bfR]:|[bfR,])*)(y?[bR,]*)(?:D?[ao]|D)?` + letter

// denyingForms say what denies a letter.
var denyingForms = []lazy.Pattern{
	// not B, except B, eliminate B; I don't think it is B
	`[xelrVZ][Dopadbug]{0,3}([LBG])`,
	`x[bfitcEWDdaopMIuvQ]*([LBG])`,
	// B is wrong, B is not the answer, B does not fit, B nicht
	`([LBG])\)?[:-]?(?:[bcCEWMYiDdo]*m|[bcCEWMYhiDdoz]*(?:r|x[bcCEWMDdhui]*(?:[paovz]|$)))`,
	// the wrong answer is B
	`m[aovdDpFgQnwtz]{0,8}[cE:CWY=][bDoi]*([LBG])`,
}

// verdict says that something is wrong: is wrong; that is not right; wrong; maybe.
const verdict = `[jybi,tRfl]*(?:(?:[itE]|D?[ao])[bcCEhMWYz]+(?:D?d?m|r|x[bcCEWMDdhui]*(?:[paovz]|$))` +
	`|[cCEMWYz][bcCEM]*(?:D?d?m|r|x[bcCEWMDdhui]*(?:[paovz]|$))|d?m[ao]?(?:$|[,)])|h$)`

// What takes back the sentence before it.
const (
	notIt           lazy.Pattern = `^(?:` + verdict + `[^LBG]*|[^LBG]*U[^LBG]*)$`
	fragment        lazy.Pattern = `^[bjyJRfi,]*[xhPNUqlr][^LBGOTcCEMzk:]?$|^[bjy]*(?:I|M)[Mb]*x[^LBG]*$`
	saidNo          lazy.Pattern = `^b*x,`
	justNo          lazy.Pattern = `^[JRb,fyj]*x[b]*(?:$|,)|,b*xb*$|^[jyb]*(?:S.*x|[^LBG]*[it][^LBG]*S|h[^LBG]*S)`
	counterQuestion lazy.Pattern = `^(?:J|[JjybciExpmRza,]+$)`
	// wait; correction: C; oops, that was wrong
	correcting lazy.Pattern = `^(?:R:|[R,b]*R[,b]*$|[b,j]*R[^LBG]*[xmrUhq][^LBG]*$)`
)

// What is in front of a clause.
const (
	correction  lazy.Pattern = `^y?I?R`
	reported    lazy.Pattern = `St.*,$`
	deniedIntro lazy.Pattern = `^[^kyKH].*x|^x`
)

// What is behind an affirmed letter.
const (
	closed     lazy.Pattern = `^\)+($|[,:(ykj-])`
	ofQuestion lazy.Pattern = `^(?:b|g?(?:[Di][nbp]{0,2})?Q[wn]?|t[cE]D?p+)*`
	// rather than A, and not A; over A
	otherThan    lazy.Pattern = `^,?(?:e|j?b*x)[Dopa]*[LBG]\)?`
	otherThanAny lazy.Pattern = `^,?(?:[el]|j?b*x)[Dopa]*[LBG]\)?`
	reason       lazy.Pattern = `^(?:k(?:[^n]|n[^,]*c|$)|K[DLBGO])`
	// onlyReasons is what may follow a letter that would be the answer.
	onlyReasons   lazy.Pattern = `^\)?(?:b|g?(?:[Di][nbp]{0,2})?Q[wn]?)*(?:,?[kK].*|,?[ex][Do]*[LBG])?$`
	vagueAddition lazy.Pattern = `^[^LBGO]*[xmrhN][^LBGO]*$`
	// harmless parts are about the others, or reasons.
	harmless      lazy.Pattern = `^(?:O|k|K.*[LBGO]|K[^hmRSPU]*$)`
	hedgedLetter  lazy.Pattern = `h.*[LBG]|^J|P`
	letterDenied  lazy.Pattern = `[xelmrZ].*[LBG]|[LBG].*[xmrh]`
	letterSaid    lazy.Pattern = `[cCEMzvwh]`
	spoils        lazy.Pattern = `^` + verdict + `|^[qelHxZJ2]|x$|[rRShmNPU]`
	spoilsOpening lazy.Pattern = `^[cCEWYzM2]|[xqZ=]`
)

// What is said of letters that are not affirmed.
const (
	leftOpen   lazy.Pattern = `h.*[LBG]|[LBG].*h.*[paz]|[LBG][cCE]b+h|P|^J`
	saidAsWell lazy.Pattern = `[LBG].*[pz]`
)

// What makes a sentence normal.
const (
	ownNo       lazy.Pattern = `(?:^|[,:(-])(x)[,:]`
	adverbs     lazy.Pattern = `[^R](,)([bRy]*b)(,).`
	contrast    lazy.Pattern = `[^R](,)([bRy]*y)(,)[cCEWMhxz]`
	joinsNext   lazy.Pattern = `^(?:,?j?[jJ]|,|-)D?o?([LB])`
	takenOut    lazy.Pattern = `[elx]$`
	saidAlready lazy.Pattern = `[cEvpm:]`
	ownClause   lazy.Pattern = `^[^J|]*\|[cEMxhz]`
)

// answerName are the classes of a name for the answer, as a key of an object.
const answerName lazy.Pattern = `^[DFp]*[ao]+$`

// headingClasses are those of a line that announces the answer: Final answer.
const headingClasses lazy.Pattern = `^b*D?[dpF]*[ao]$`

// listItem is the beginning of a line that repeats an option.
const listItem lazy.Pattern = `^(?:(?:D?[ao])?([LB])[):-]|([LB])\.)`
