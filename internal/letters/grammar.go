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
	clause func() *regexp.Regexp
	surety int
}

// Parts of forms: what may be in front of a clause, the answer and its question, the copula, the letter and what is said of it.
const (
	inFront  = `^[bfyjRtu,]*`
	letter   = `([LBG])`
	theNoun  = `(?:D?[dpF]*[ao][pF]*|D[pF]*v)`
	question = `(?:g?(?:[Di][nbp]{0,2})?Q[wn]?)?`
	relative = `(?:t(?:[cE]D?p+|zb*|wz))?`
	copula   = `(?:[cE]:?|[:=-])`
	named    = `[b,u]*D?[op]*a?` + letter
	subject  = `u?(?:D?[ao]|D)?` + letter + `\)?`
	theRight = `(?:D?[dF]*p+[ao]?|D?[ao]p+|Da|D[ao]t(?:[cE]D?p+|zb*))`
)

func affirming(clause string, surety int) form { return form{lazy.Regexp(clause), surety} }

// forms are tried in this order.
var forms = []form{
	affirming(inFront+`X:*`+letter, final),
	affirming(inFront+theNoun+question+relative+copula+named, stated),                             // the answer is B
	affirming(inFront+theNoun+`[cE:]:?[wdDbgTn]{1,10},?(?:[it]?c)?(?:D?o`+letter+`|(B))`, stated), // the answer is Lyon, option B
	affirming(inFront+`(?:[it][cE]|E[cE]|E):?`+named, stated),                                     // it is B
	affirming(inFront+`(?:I[Mb]*)?v[bug]*D?[op]*a?`+letter, stated),                               // I choose B
	affirming(inFront+`I[Mb]*a`+letter, stated),                                                   // I answer B
	affirming(inFront+`(?:eD?o?[LBG])?vI`+named, stated),                                          // statt B wähle ich A
	affirming(inFront+`[itE]M`+named, stated),                                                     // es muss B sein
	affirming(inFront+`I[Mb]+D?[ao]?`+letter+`v`, stated),                                         // ich würde B wählen
	affirming(inFront+subject+`[cEC]b*`+theRight, stated),                                         // B is correct
	affirming(inFront+subject+`z`, stated),                                                        // B fits
	affirming(inFront+subject+`[:-]?p`, stated),                                                   // B: correct
	affirming(inFront+letter+`ic`, stated),                                                        // B it is
	affirming(`^(?:(B)|(L)\))[:]?[wdDgnT]{1,8}[cE]b*D?p+[ao]?`, stated),                           // B) Lyon is correct
	affirming(inFront+`D?p+[cE:]:?D?[ao]?`+letter, stated),                                        // richtig ist B
	affirming(inFront+`b[cE]D?[ao]?`+letter+`D?p+[ao]?`, stated),                                  // also ist B richtig
	affirming(inFront+`b[cE]D?[dpF]*a`+letter, stated),                                            // daher ist die Antwort B
	affirming(inFront+`t(?:D?[ao])?`+letter+`D?p+[ao]?c`, stated),                                 // dass B richtig ist
	affirming(inFront+`t(?:D?[ao])?`+letter+`z`, stated),                                          // dass B zutrifft
	affirming(inFront+`tD?[dpF]*a`+letter+`c`, stated),                                            // dass die Antwort B ist
	affirming(`^y`+letter+`c$`, stated),                                                           // but B is
	affirming(`^p,?:?`+letter+`$`, openingOnly),                                                   // ✅ B
}

// bareLetter is a letter that stands for the whole clause, with what may be in front of it.
var bareLetter = lazy.Regexp(`^([bfR,]*)(y?[bR,]*)(?:D?[ao]|D)?` + letter)

// What denies a letter.
var (
	// not B, except B, eliminate B
	deniedBefore = lazy.Regexp(`[xer][Dopadbug]{0,3}([LBG])`)
	// I don't think it is B
	deniedFar = lazy.Regexp(`x[bfitcEDdaopMIuvQ]*([LBG])`)
	// B is wrong, B is not the answer, B does not fit, B nicht
	deniedAfter = lazy.Regexp(`([LBG])\)?[:-]?[bcCEMhiDdo]*(?:m|r|x[bcCEMDdhui]*(?:[paovz]|$))`)
	// the wrong answer is B
	deniedNoun = lazy.Regexp(`m[aovdDpFgQnwtz]{0,8}[cE:C=][bDoi]*([LBG])`)
)

// What takes back what was said: wrong; that is not right; no; I am not sure.
var (
	takenBack = lazy.Regexp(`^[jybi,tR]*(?:(?:[itE]|D?[ao])[bcCEhM]*)?[bcCEM]*(?:D?d?m|r|x[bcCEMDdhui]*(?:[paovz]|$))`)
	justNo    = lazy.Regexp(`^[Rb,]*x[b]*(?:$|,)`)
	onlyWait  = lazy.Regexp(`^[R,b]*R[,b]*$`)
)

// answerName are the classes of a name for the answer, as a key of an object.
var answerName = lazy.Regexp(`^[DFp]*[ao]+$`)

// headingClasses are those of a line that announces the answer: Final answer.
var headingClasses = lazy.Regexp(`^b*D?[dpF]*a$`)

// listItem is the beginning of a line that repeats an option.
var listItem = lazy.Regexp(`^(?:D?[ao])?([LB])[):-]`)
