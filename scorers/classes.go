package scorers

import "slices"

// The classes of words. Each is one character, so that the classes of a sentence are a text that patterns can match;
// words.txt lists the words of each class. A mark, such as a comma, is its own class.
const (
	answerWord   = 'a' // answer, solution
	optionWord   = 'o' // option, letter
	questionWord = 'Q'
	articleWord  = 'd' // a, an; also adjectives that change nothing
	theWord      = 'D' // the, my
	finalWord    = 'F'
	aboutWord    = 'g' // for, to: between a noun and its question

	isWord      = 'c' // is, remains
	areWord     = 'C'
	mustBeWord  = 'E' // must be; also a pronoun in one language that is a copula in another
	wouldBeWord = 'W'
	auxiliary   = 'M' // would, will, must
	firstPerson = 'I' // I, we, let us
	chooseWord  = 'v'
	preferWord  = 'V' // over, ahead of
	saysWord    = 'S' // claims: what others say

	soWord    = 'b' // therefore, clearly: it only colours a sentence
	thinkWord = 'f' // I think: in front of an answer of one's own
	onlyWord  = 'u'
	thatWord  = 't'

	notWord     = 'x'
	norWord     = 'Z'
	wrongWord   = 'm'
	rejectWord  = 'r' // rule out
	insteadWord = 'e' // rather than
	exceptWord  = 'l'
	maybeWord   = 'h' // could be
	openWord    = 'P' // possible, acceptable
	ifWord      = 'q' // also whether, and what else leaves a sentence open
	waitWord    = 'R' // actually: a correction of oneself

	andWord     = 'j'
	orWord      = 'J'
	butWord     = 'y'
	becauseWord = 'k'
	asWord      = 'K' // begins a reason behind a comma
	othersWord  = 'O' // the others, the rest
)

// The classes that the program makes itself.
const (
	unknownWord     = 'w'
	numberWord      = 'n'
	oneLetter       = 'L'
	bracketedLetter = 'B' // a letter in brackets of its own
	joined          = 'G' // letters that are joined: B or C
)

// has reports whether a text of classes has one of these.
func has(classes string, of ...byte) bool {
	return indexOf(classes, of...) >= 0
}

// indexOf is where the first of these is in a text of classes, -1 when none is.
func indexOf(classes string, of ...byte) int {
	for i := range len(classes) {
		if slices.Contains(of, classes[i]) {
			return i
		}
	}
	return -1
}

// ends reports whether a text of classes ends with one of these.
func endsWith(classes string, with ...byte) bool {
	return classes != "" && slices.Contains(with, classes[len(classes)-1])
}

// isOf reports whether a class is one of these.
func isOf(class byte, of ...byte) bool { return slices.Contains(of, class) }

// lettered reports whether letters of the choices are among classes.
func lettered(classes string) bool { return has(classes, oneLetter, bracketedLetter, joined) }

// denying reports whether a text of classes has a word that says no to a letter.
func denying(classes string) bool {
	return has(classes, notWord, norWord, wrongWord, rejectWord, insteadWord, exceptWord)
}

// allOf reports whether a text of classes has no others than these.
func allOf(classes string, of ...byte) bool {
	for i := range len(classes) {
		if !slices.Contains(of, classes[i]) {
			return false
		}
	}
	return true
}
