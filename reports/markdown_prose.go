package reports

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/evalrun/evalrun/eval"
)

// sentence is what a comparison found, with its verdict in bold.
func sentence(headline string, verdict eval.Verdict) string {
	word := headlineWords[verdict]
	rest, found := strings.CutPrefix(headline, word)
	if word == "" || !found {
		return prose(headline, maxMdReason)
	}
	if strings.HasPrefix(rest, ": ") {
		return "**" + word + "**: " + prose(rest[2:], maxMdReason)
	}
	return "**" + word + "** " + prose(rest, maxMdReason)
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
