package scorers

import "github.com/evalrun/evalrun/internal/lazy"

// How surely a sentence names the answer. A surer statement outweighs a less sure one about another letter.
const (
	openingOnly = 1 + iota // a letter at the beginning of the text or a line, perhaps with the text of its option
	stated                 // the answer is B, B is correct, I choose B
	final                  // final answer: B, \boxed{B}
)

// clauseForm is a clause that affirms a letter, as a pattern over classes (classes.go), such as a for "answer" and c for "is".
// Its first group that matches is the letter.
type clauseForm struct {
	clause   lazy.Regex
	surety   int
	reasoned bool // valid only after a reason: da A falsch ist, ist B richtig
}

// Parts from which the patterns of forms are built. Each comment gives the words that a part matches.
const (
	// so, I think, but
	inFront = `^(?:bc)?[bfyjRtu,]*`
	letter  = `([LBG])`
	// the correct answer, the option that is correct
	theNoun = `(?:(?:D?og)?D?[dpFu]*[ao][pF]*b?|Dv[ao]|D[pF]*v|Dt(?:[cE]p+|z))`
	// of this question, to question 3
	question = `(?:gio|[gd]?(?:[Di][nbp]{0,2})?Q[wn]?|gD[wn]Q)?`
	// that is right, that fits
	relative = `(?:t(?:[cE]D?p+|zb*|wz)|v)?`
	// is, would be, or a colon
	copula = `(?::?[cEW]:?|M[b,]*|[:=-])`
	// clearly option B
	named = `[b,ufy]*D?[op]*a?(?:X:?)?` + letter
	// only B, answer B, option B
	subject = `u?(?:D?[ao]|D)?` + letter + `\)?(?:,?[ex][Do]*[LBG],?)?`
	// correct, the right answer, the one that fits
	theRight = `(?:D?[dFu]*p+[ao]?|D?u?[ao]p+|D[du]*[ao]t(?:[cE]D?p+|zb*)|DF*a|Do)`
	// the words of an option: Lyon
	optionText = `[wdDgnTb]{1,8}`
)

func affirming(clause lazy.Regex, surety int) clauseForm { return clauseForm{clause, surety, false} }

// forms are tried in this order.
var clauseForms = []clauseForm{
	// \boxed{B}
	affirming(inFront+`X:*`+letter, final),
	// the answer is B; the answer is Lyon, option B
	affirming(inFront+theNoun+question+relative+copula+named, stated),
	affirming(inFront+theNoun+`[cEW:]:?[wdDbgTn]{1,10},?(?:[it]?c)?(?:D?o`+letter+`|(B))`, stated),
	affirming(inFront+theNoun+`[cEW:]:?[wdDbgTn]{1,10},([LB])$`, stated),
	affirming(`^F+:`+letter, stated),
	affirming(`^D?Qn?:`+letter, stated),
	// it is B; this must be B
	affirming(inFront+`(?:[it][cEW]|E[cE]|E|W):?`+named, stated),
	affirming(inFront+`[itE]M`+named, stated),
	// I choose B; my answer is B; ich würde B wählen (I would choose B); statt B wähle ich A (I choose A instead of B)
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
	// correct is B; also ist B richtig (so B is correct); daher ist die Antwort B (hence the answer is B)
	affirming(inFront+`D?p+[cEW:]:?[bu]*D?[ao]?`+letter, stated),
	affirming(inFront+`[bf][cE]D?[ao]?`+letter+`D?p+[ao]?`, stated),
	affirming(inFront+`[le]D?o?[LBG][cE]D?[ao]?`+letter+`D?p+[ao]?`, stated),
	affirming(inFront+`[bf][cE]D?[dpF]*a`+letter, stated),
	// dass B richtig ist, dass B zutrifft, dass die Antwort B ist (that B is correct, applies, is the answer)
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

// bareLetter is a letter that is a clause by itself, with the words that may precede it.
const bareLetter lazy.Regex = `^((?:[bfR]:|[bfR,])*)(y?[bR,]*)(?:D?[ao]|D)?` + letter

// denyingForms are the patterns that deny a letter.
var denyingForms = []lazy.Regex{
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

// Sentences that take back the previous sentence.
const (
	// that is wrong; I doubt it
	notIt lazy.Regex = `^(?:` + verdict + `[^LBG]*|[^LBG]*U[^LBG]*)$`
	// not really; maybe not; I would not
	fragment lazy.Regex = `^[bjyJRfi,]*[xhPNUqlr][^LBGOTcCEMzk:]?$|^[bjy]*(?:I|M)[Mb]*x[^LBG]*$`
	// no, it is not
	saidNo lazy.Regex = `^b*x,`
	// or not; so they say, not I
	justNo lazy.Regex = `^[JRb,fyj]*x[b]*(?:$|,)|,b*xb*$|^[jyb]*(?:S.*x|[^LBG]*[it][^LBG]*S|h[^LBG]*S)`
	// or is it? right?
	counterQuestion lazy.Regex = `^(?:J|[JjybciExpmRza,]+$)`
	// wait; correction: C; oops, that was wrong
	correcting lazy.Regex = `^(?:R:|[R,b]*R[,b]*$|[b,j]*R[^LBG]*[xmrUhq][^LBG]*$)`
)

// Patterns of the words before a clause.
const (
	// but actually
	correction lazy.Regex = `^y?I?R`
	// he says that ...,
	reported lazy.Regex = `St.*,$`
	// it is not so that
	deniedIntro lazy.Regex = `^[^kyKH].*x|^x`
)

// Patterns of the words after an affirmed letter.
const (
	// the bracket behind B)
	closed lazy.Regex = `^\)+($|[,:(ykj-])`
	// for this question
	ofQuestion lazy.Regex = `^(?:b|g?(?:[Di][nbp]{0,2})?Q[wn]?|t[cE]D?p+)*`
	// rather than A, and not A; over A
	otherThan    lazy.Regex = `^,?(?:e|j?b*x)[Dopa]*[LBG]\)?`
	otherThanAny lazy.Regex = `^,?(?:[el]|j?b*x)[Dopa]*[LBG]\)?`
	// because ...; as B is ...
	reason lazy.Regex = `^(?:k(?:[^n]|n[^,]*c|$)|K[DLBGO])`
	// onlyReasons is what may follow a letter that "would be" the answer.
	onlyReasons lazy.Regex = `^\)?(?:b|g?(?:[Di][nbp]{0,2})?Q[wn]?)*(?:,?[kK].*|,?[ex][Do]*[LBG])?$`
	// and ... is wrong, without a letter
	vagueAddition lazy.Regex = `^[^LBGO]*[xmrhN][^LBGO]*$`
	// harmless parts are about the other options, or give reasons.
	harmless      lazy.Regex = `^(?:O|k|K.*[LBGO]|K[^hmRSPU]*$)`
	hedgedLetter  lazy.Regex = `h.*[LBG]|^J|P`
	letterDenied  lazy.Regex = `[xelmrZ].*[LBG]|[LBG].*[xmrh]`
	letterSaid    lazy.Regex = `[cCEMzvwh]`
	spoils        lazy.Regex = `^` + verdict + `|^[qelHxZJ2]|x$|[rRShmNPU]`
	spoilsOpening lazy.Regex = `^[cCEWYzM2]|[xqZ=]`
)

// Patterns of sentences that mention letters without affirming them.
const (
	leftOpen   lazy.Regex = `h.*[LBG]|[LBG].*h.*[paz]|[LBG][cCE]b+h|P|^J`
	saidAsWell lazy.Regex = `[LBG].*[pz]`
)

// Patterns that normalize a sentence.
const (
	ownNo       lazy.Regex = `(?:^|[,:(-])(x)[,:]`
	adverbs     lazy.Regex = `[^R](,)([bRy]*b)(,).`
	contrast    lazy.Regex = `[^R](,)([bRy]*y)(,)[cCEWMhxz]`
	joinsNext   lazy.Regex = `^(?:,?j?[jJ]|,|-)D?o?([LB])`
	takenOut    lazy.Regex = `[elx]$`
	saidAlready lazy.Regex = `[cEvpm:]`
	ownClause   lazy.Regex = `^[^J|]*\|[cEMxhz]`
)

// answerName matches the key of an object that names the answer, such as final_answer.
const answerName lazy.Regex = `^[DFp]*[ao]+$`

// headingClasses matches a line that announces the answer, such as "Final answer".
const headingClasses lazy.Regex = `^b*D?[dpF]*[ao]$`

// listItem matches the beginning of a line that repeats an option.
const listItem lazy.Regex = `^(?:(?:D?[ao])?([LB])[):-]|([LB])\.)`
