package reports

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/evalrun/evalrun/compare"
)

// sentence is what a comparison found, its verdict in bold.
func sentence(f *compare.Finding) string {
	bold, rest := "**"+prose(f.Headline[:len(f.Words)], maxMdReason)+"**", f.Headline[len(f.Words):]
	if what, found := strings.CutPrefix(rest, ": "); found {
		return bold + ": " + prose(what, maxMdReason)
	}
	return bold + " " + prose(rest, maxMdReason)
}

// prose is a text of the run as plain words, where those that could be more than words, such as a mention, are code.
func prose(s string, most int) string {
	var out, unsafe []string
	flush := func() {
		if len(unsafe) == 0 {
			return
		}
		text := strings.Join(unsafe, " ")
		if inner := strings.Trim(text, "`"); inner != "" && text == "`"+inner+"`" { // it is code in a terminal already
			text = inner
		}
		out, unsafe = append(out, codeOf(text, most)), nil
	}
	for i, word := range strings.Fields(inline(s, most)) {
		if !isWord(word) || i == 0 && beginsBlock.MatchString(word) {
			unsafe = append(unsafe, word)
			continue
		}
		flush()
		out = append(out, word)
	}
	flush()
	return strings.Join(out, " ")
}

var (
	// beginsBlock are words with which a line becomes an item of a list, a rule, or the underline of a heading.
	beginsBlock = regexp.MustCompile(`^([-+=]+|\d+[.)])$`)
	// isLinked are words that a forge makes links or pictures of: an issue, a commit, a site, an emoji, a milestone.
	isLinked = regexp.MustCompile(`(?i)^\W*gh-\d|[0-9a-f]{7}|www|:/|:.+:|%\w`)
)

// isWord reports whether a word has nothing that Markdown, or a forge, could make something else of.
func isWord(word string) bool {
	for _, r := range word {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".,:;()+-/'%=?", r) {
			return false
		}
	}
	return !isLinked.MatchString(word)
}
