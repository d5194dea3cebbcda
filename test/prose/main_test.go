package main

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// said is what is measured of sentences: their words, and what they have of the list.
func said(sentences []proseSentence) []string {
	var out []string
	for _, s := range sentences {
		out = append(out, strings.TrimSpace(s.text+" "+strings.Join(s.listed, ",")))
	}
	return out
}

func TestMarkdownHasSentencesInParagraphsItemsAndCells(t *testing.T) {
	t.Parallel()
	text := "# A heading. Not a sentence.\n\nOne line\ngoes on. `evalrun run` asks [a model](x.md#y)!\n\n" +
		"- An item.\n- Two: as `a. B`\n  of them.\n\n" +
		"```sh\nNo prose. At all.\n```\n\n| a | b. C |\n|---|---|\n| stands for x | it stands \\| here |\n<!-- Not shown. -->\n"
	expect.Same(t, "sentences", said(markdown("x.md", []byte(text))), []string{
		"One line goes on. goes on", "`evalrun run` asks a model! asks", "An item.", "Two: as `a. B` of them.", "a", "b.", "C",
		"stands for x", "it stands \u2502 here stands",
	})
}

func TestCodeHasMessagesAndComments(t *testing.T) {
	t.Parallel()
	text := "// Package x is told nothing.\npackage x\n\nimport \"some/very/long path\"\n\n" +
		"// F does. It does more.\n//\n//\tcode is none\nfunc F() string {\n" +
		"\treturn \"two words\" + \" and a \" +\n\t\t\"half. More of it.\" // a reason\n}\n\n" +
		"var a, b = \"key\", \"{\\n \\\"json\\\": [1, 2, 3]}\"\n"
	messages, comments, err := code("x.go", []byte(text))
	expect.OK(t, err)
	expect.Same(t, "messages", said(messages), []string{"two words and a half.", "More of it."})
	expect.Same(t, "comments", said(comments), []string{"Package x is told nothing. told", "F does.", "It does more.", "a reason"})
	messages, _, err = code("x_test.go", []byte(text))
	expect.OK(t, err)
	expect.Same(t, "messages of a test", said(messages), []string(nil))
	messages, comments, err = code("scorers/judge_forms.go", []byte(text))
	expect.OK(t, err)
	expect.Same(t, "messages that are data, and comments next to them", []int{len(messages), len(comments)}, []int{0, 4})
}

func TestNamesAreReadWordByWord(t *testing.T) {
	t.Parallel()
	text := "package asked\n\nimport anew \"fmt\"\n\ntype JSONMistakes struct{ maxToldReason, Task int }\n\n" +
		"func (tell JSONMistakes) goOn(whose ...int) (kase int) {\nNobody:\n" +
		"\tfor asks, basks := range whose {\n\t\tx, stands_in := asks, basks\n\t\tx = stands_in\n\t}\n\treturn unlisted.Told\n}\n"
	declared, err := names("x.go", []byte(text))
	expect.OK(t, err)
	expect.Same(t, "names", said(declared), []string{
		"asked asked", "anew anew", "JSONMistakes mistakes", "maxToldReason told", "Task", "goOn go on", "tell tell", "whose whose",
		"kase kase", "Nobody nobody", "asks asks", "basks", "x", "stands_in stands",
	})
	for name, want := range map[string]string{"maxJSONReason": "max json reason", "URL2Path": "url2 path", "HTTP": "http", "ID": "id"} {
		expect.Same(t, name, wordsOf(name), want)
	}
}

func TestCeilingsHoldLongSentencesAndListedWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 31)
	found := map[string][]proseSentence{"docs": markdown("x.md", []byte(long+". Nobody reads it.\n"))}
	expect.OK(t, compare(found, map[string]figures{"docs": {Long: 1, Listed: 1}}))
	err := compare(found, map[string]figures{"docs": {Long: 0, Listed: 0}})
	if err == nil || !strings.Contains(err.Error(), "docs: 1 sentences") || !strings.Contains(err.Error(), "docs: 1 words of the list") {
		t.Errorf("got %v, want both figures", err)
	}
}
