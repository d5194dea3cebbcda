//go:build unix

package scorers_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/scorers"
)

func textLimits() []limit {
	whole := []string{"equals", "snapshot"}
	inside := []string{"contains", "containsAll", "containsAny", "startsWith", "endsWith"}
	return []limit{
		{whole, lookalikes("- equals: %s", "")},
		{inside, lookalikes("- containsAll: [%s]", ", as a whole answer")},
		{inside[:3], mentions},
		{[]string{"snapshot"}, hostileTexts},
		{[]string{"startsWith", "endsWith"}, hostileTexts},
		{[]string{"equals"}, hostileTexts},
		{[]string{"regex"}, constructs},
		{[]string{"length"}, counted},
	}
}

// lookalikes counts which pairs, that a reader takes for the same, are the same to a scorer.
func lookalikes(entry, how string) func(t *testing.T) string {
	return func(t *testing.T) string {
		var plain, trimmed, compatible tally
		for _, pair := range corpus(t, "lookalikes") {
			one := strings.TrimPrefix(fmt.Sprintf(entry, quoted(pair[0])), "- ")
			plain.add(passes(t, "- {"+one+"}", pair[1]))
			trimmed.add(passes(t, "- {"+one+", ignoreCase: true, trim: true}", pair[1]))
			compatible.add(passes(t, "- {"+one+", ignoreCase: true, trim: true, normalize: nfkc}", pair[1]))
		}
		return fmt.Sprintf("It compares characters, not what a reader sees. Of %d pairs that look or mean the same (quotes, dashes, "+
			"letters of other scripts, invisible characters)%s, it takes %d for the same, %d with `ignoreCase` and `trim`, and %d "+
			"with `normalize: nfkc` too.", plain.all, how, plain.right, trimmed.right, compatible.right)
	}
}

func mentions(t *testing.T) string {
	var n tally
	for _, pair := range corpus(t, "mentions") {
		n.add(passes(t, "- containsAny: ["+quoted(pair[0])+"]", pair[1]))
	}
	return fmt.Sprintf("It does not know what an answer means: it passes for %s answers that deny the text, ask for it or have it inside "+
		"another word. For whole words use `regex` with `\\b`.", n)
}

// hostileTexts holds that texts are equal to themselves, and to nothing that is longer.
func hostileTexts(t *testing.T) string {
	var same, longer tally
	for _, text := range hostile.Strings() {
		if text = strings.ToValidUTF8(text, "\ufffd"); eval.IsBlank(text) {
			continue
		}
		entry := "- equals: " + strconv.QuoteToASCII(strings.ReplaceAll(text, "{{", "{ {"))
		same.add(passes(t, entry, strings.ReplaceAll(text, "{{", "{ {")))
		longer.add(passes(t, entry, text+"x"))
	}
	return fmt.Sprintf("Of %d texts made to break programs it finds %d equal to themselves, and %d equal to the same with a letter more.",
		same.all, same.right, longer.right)
}

func constructs(t *testing.T) string {
	var n tally
	for _, pair := range corpus(t, "constructs") {
		n.add(problemsOf("- regex: "+quoted(pair[0])) == "")
	}
	const entry = "- regex: 'x{250}'"
	var steps int
	if _, err := fmt.Sscanf(score(t, entry, answer(mega("a"))).Reason, "the regular expression (%d steps)", &steps); err != nil {
		t.Fatal(err)
	}
	most := scorers.MaxRegexWork / steps
	for size, want := range map[int]string{most: "f", most + 1: "u"} {
		expect.Same(t, fmt.Sprintf("%s on %d bytes", entry, size), letter(score(t, entry, answer(strings.Repeat("a", size)))), want)
	}
	return fmt.Sprintf("It understands %s constructs of Perl's expressions; look-around, back-references, possessive and recursive ones are "+
		"errors before anything is sent. An expression has at most %s steps, and its steps times the bytes of the answer at most %s: one of "+
		"%d steps reads answers of up to %s bytes. Beyond that the score is unscored.",
		n, grouped(scorers.MaxProgram), grouped(scorers.MaxRegexWork), steps, grouped(most))
}

func counted(t *testing.T) string {
	var characters, words tally
	for _, pair := range corpus(t, "characters") {
		characters.add(passes(t, "- length: {characters: "+pair[0]+"}", pair[1]))
	}
	for _, pair := range corpus(t, "words") {
		words.add(passes(t, "- length: {words: "+pair[0]+"}", pair[1]))
	}
	return fmt.Sprintf("It counts as a reader does in %s texts for characters, and in %s for words. Emoji and "+
		"letters with several marks are several characters, and invisible characters count. Words without white "+
		"space between them, as in Chinese, Japanese and Thai, are one.", characters, words)
}

func grouped(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
