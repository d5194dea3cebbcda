package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// proseSentence is one sentence, where it begins, and what was found in it.
type proseSentence struct {
	file   string
	line   int
	text   string
	words  int
	listed []string
}

// listed are words and turns of phrase to avoid. CONTRIBUTING.md says what to write instead.
var listed = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	"told", "tells", "stands(?: for)?", "asks", "asked", "nobody", "whoever", "those that", "beside", "so many", "of which",
	"that there (?:is|are)", "as (?:it|they) stands? now", "in the places? of", "mistakes?", "goes on", "go on", "went on", "going on",
	"kinds? of (?:its|their|your) own", "anew", "strangers?", "paid twice",
}, "|") + `)\b`)

func listedIn(text string) []string {
	var out []string
	for _, word := range listed.FindAllString(text, -1) {
		if word = strings.ToLower(word); word != "stands for" {
			out = append(out, word)
		}
	}
	return out
}

// end is where a sentence ends: a mark before a space and a capital letter, a digit, or what opens code or a link.
var end = regexp.MustCompile("[.!?][\"')*_]*\\s+(?:[A-Z0-9`*\"(\\[_-]|evalrun)")

// split takes the sentences of a paragraph apart.
func split(file string, line int, paragraph string) []proseSentence {
	var out []proseSentence
	for rest := strings.Join(strings.Fields(paragraph), " "); rest != ""; {
		cut := len(rest)
		if at := end.FindStringIndex(codeSpan.ReplaceAllStringFunc(rest, masked)); at != nil {
			cut = at[1] - 1
		}
		one := strings.TrimSpace(rest[:cut])
		rest = rest[cut:]
		if n := words(one); n > 0 {
			out = append(out, proseSentence{file: file, line: line, text: one, words: n, listed: listedIn(codeSpan.ReplaceAllString(one, "x"))})
		}
	}
	return out
}

// masked is a piece of code with nothing inside that looks like the end of a sentence.
func masked(code string) string { return "`" + strings.Repeat("x", len(code)-2) + "`" }

// words counts what has a letter or a digit. A piece of code is one word.
func words(text string) int {
	n := 0
	for _, word := range strings.Fields(codeSpan.ReplaceAllString(text, "x")) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

var (
	codeSpan  = regexp.MustCompile("``.*?``|`[^`]*`")
	link      = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	itemStart = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s+`)
	comment   = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// markdown returns the sentences of paragraphs, items and cells of tables. Headings and blocks of code have none.
func markdown(file string, text []byte) []proseSentence {
	var out []proseSentence
	paragraph, began, fenced := "", 0, false
	flush := func() {
		out = append(out, split(file, began, link.ReplaceAllString(paragraph, "$1"))...)
		paragraph = ""
	}
	n := 0
	for line := range strings.Lines(comment.ReplaceAllString(string(text), "")) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			fenced = !fenced
		case fenced:
		case line == "", strings.HasPrefix(line, "#"):
			flush()
		case strings.HasPrefix(line, "|"):
			flush()
			for _, cell := range cells(line) {
				out = append(out, split(file, n, link.ReplaceAllString(cell, "$1"))...)
			}
		default:
			if itemStart.MatchString(line) {
				flush()
				line = itemStart.ReplaceAllString(line, "")
			}
			if paragraph == "" {
				began = n
			}
			paragraph += line + "\n"
		}
	}
	flush()
	return out
}

func cells(row string) []string {
	row = strings.ReplaceAll(strings.Trim(row, "|"), `\|`, "\u2502")
	return strings.Split(row, "|")
}

// code returns the sentences of the texts in a file of Go that people read, which tests have none of, and of its comments.
func code(file string, text []byte) (messages, comments []proseSentence, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments)
	if err != nil {
		return nil, nil, err
	}
	for _, group := range parsed.Comments {
		comments = append(comments, split(file, set.Position(group.Pos()).Line, proseOf(group.Text()))...)
	}
	if strings.HasSuffix(file, "_test.go") || quoted[file] != "" {
		return nil, comments, nil
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false // paths and tags
		case *ast.BinaryExpr:
			if text, ok := joined(n); ok {
				messages = append(messages, texts(file, set.Position(n.Pos()).Line, text)...)
				return false
			}
		case *ast.BasicLit:
			if text, ok := joined(n); ok {
				messages = append(messages, texts(file, set.Position(n.Pos()).Line, text)...)
			}
		}
		return true
	})
	return messages, comments, nil
}

// proseOf leaves out the indented lines of a comment, which are code.
func proseOf(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "    ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// quoted are files whose literals are data, and why they are not measured.
var quoted = map[string]string{
	"scorers/judge_conversation.go": judged,
	"scorers/judge_form.go":         judged,
	"scorers/judge_forms.go":        judged,
	"scorers/judge_reply.go":        judged,
	"scorers/preference.go":         judged,
	"test/prose/text.go":            "the list itself",
}

const judged = "judges are sent these texts: another wording makes other requests, which caches and recordings do not have"

// statement is SQL, whose names are those of columns.
var statement = regexp.MustCompile(`\b(?:CREATE TABLE|CROSS JOIN|SELECT)\b`)

// joined is the text of a literal, or of literals that are added up.
func joined(node ast.Expr) (string, bool) {
	switch n := node.(type) {
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(n.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := joined(n.X)
		right, also := joined(n.Y)
		return left + right, n.Op == token.ADD && ok && also
	}
	return "", false
}

// texts are the sentences of a literal with at least three words that is no code of another language.
func texts(file string, line int, text string) []proseSentence {
	if strings.Contains(text, "\n\t") || strings.ContainsAny(text, "<{") && strings.Contains(text, "\n") || words(text) < 3 ||
		statement.MatchString(text) {
		return nil
	}
	var out []proseSentence
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		out = append(out, split(file, line, paragraph)...)
	}
	return out
}
