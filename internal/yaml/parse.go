// Package yaml reads YAML strictly and with positions, and describes the keys and values of evalrun's files for readers and
// JSON Schemas.
package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/diag"
)

// Bounds that stop a hostile file within a second.
const (
	MaxFileBytes  = 16 << 20
	maxDepth      = 64
	maxAliasNodes = 100_000 // nodes reached through aliases, over all expansions
	maxKeys       = 10_000  // in one mapping
	maxEntries    = 190_000 // lines and commas of a file outside of block texts, which bound its values before they are parsed
)

type doc struct {
	file   string
	src    []byte
	starts []int // offsets of the lines; computed when first needed
	diags  *diag.List
	at     *diag.Pos // position of everything in it, see Node.At; nil: positions are in the file
}

// Parse parses one YAML document. It adds problems to diags, and returns false if there is no value to
// read.
func Parse(file string, src []byte, diags *diag.List) (Node, bool) {
	const tooLong, none = "split it, or keep the cases in a data file", "`evalrun init` writes a first suite"
	fail := func(hint, format string, args ...any) (Node, bool) {
		diags.Errorf(diag.Pos{File: file}, hint, format, args...)
		return Node{}, false
	}
	if n := len(src); n > MaxFileBytes {
		return fail(tooLong, "the file has %d bytes; at most %d are read", n, MaxFileBytes)
	}
	if n := entries(src); n > maxEntries {
		return fail(tooLong, "the file has %d lines and commas outside of block texts; at most %d are read", n, maxEntries)
	}
	d := &doc{file: file, src: src, diags: diags}
	src = withoutDirective(src)
	root, err := decode(src)
	switch {
	case errors.Is(err, io.EOF):
		return fail(none, "the file is empty")
	case err != nil:
		d.syntaxError(src, err)
		return Node{}, false
	case root.Kind != yaml.DocumentNode || len(root.Content) == 0:
		return fail(none, "the file holds no YAML document")
	}
	c := nodeChecker{doc: d}
	if !c.check(root.Content[0], 0, false) {
		return Node{}, false
	}
	return Node{root.Content[0], d}, true
}

// withoutDirective replaces a %YAML line by spaces, because yaml.v3 refuses versions from 1.2 on. Line
// numbers stay the same.
func withoutDirective(src []byte) []byte {
	line, _, _ := bytes.Cut(bytes.TrimPrefix(src, []byte("\ufeff")), []byte("\n"))
	if !bytes.HasPrefix(line, []byte("%YAML 1.")) {
		return src
	}
	out := bytes.Clone(src)
	at := bytes.Index(out, line)
	copy(out[at:], bytes.Repeat([]byte("#"), len(bytes.TrimRight(line, "\r"))))
	return out
}

// decode parses the first document and refuses a second one. yaml.v3 turns most of its panics into errors,
// but not all.
func decode(src []byte) (root *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the parser gave up: %v", p)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(src))
	root = &yaml.Node{}
	if err := dec.Decode(root); err != nil {
		return nil, err
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, fmt.Errorf("yaml: line %d: a second document begins; one document a file", second.Line)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return root, nil
}

// nodeChecker finds what yaml.v3 accepts when it decodes to nodes. It runs before any accessor.
type nodeChecker struct {
	*doc
	aliased int
}

func (c *nodeChecker) check(n *yaml.Node, depth int, inAlias bool) bool {
	if inAlias {
		c.aliased++
	}
	switch {
	case depth > maxDepth:
		c.errorf(n, "make it flatter", "nested deeper than %d levels", maxDepth)
		return false
	case c.aliased > maxAliasNodes:
		c.errorf(n, "write the repeated part out, or share less of it", "aliases expand to more than %d values", maxAliasNodes)
		return false
	case n.Kind == yaml.AliasNode:
		return c.check(n.Alias, depth+1, true)
	case n.Kind == yaml.MappingNode && len(n.Content)/2 > maxKeys:
		c.errorf(n, "make several of it", "a mapping of %d keys; at most %d are read", len(n.Content)/2, maxKeys)
		return false
	case !plainTag(n):
		c.errorf(n, "remove the tag", "the YAML tag `%s` is not supported", n.Tag)
		return false
	}
	return !slices.ContainsFunc(n.Content, func(child *yaml.Node) bool { return !c.check(child, depth+1, inAlias) })
}

func plainTag(n *yaml.Node) bool {
	switch n.Tag {
	case "", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!merge", "!!timestamp":
		return true
	}
	return false
}

func (d *doc) pos(n *yaml.Node) diag.Pos {
	if d.at != nil {
		return *d.at
	}
	return diag.Pos{File: d.file, Line: n.Line, Col: n.Column}
}

func (d *doc) errorf(n *yaml.Node, hint, format string, args ...any) {
	d.diags.Errorf(d.pos(n), hint, format, args...)
}

// Patterns of syntax errors. They are compiled for an error only.
const (
	yamlLine   = `^yaml: (?:line (\d+): )?`
	anchorName = `unknown anchor '(.*)' referenced`
	badScalar  = "(?:^|[\\s\\[{,:-])([@`%&*!|>\t])"
	twoColons  = `:\s.*?(:)(?:\s|$)`
	quotedText = `"(?:\\.|[^"\\])*"|'[^']*'`
)

// syntaxError finds the position, because yaml.v3 reports the line wrongly or not at all.
func (d *doc) syntaxError(src []byte, err error) {
	message := strings.TrimSpace(regexp.MustCompile(yamlLine).ReplaceAllString(err.Error(), ""))
	line, text := faultyLine(src, err)
	at, hint := faultyByte(message, text)
	if at < 0 {
		at = len(text) - len(strings.TrimLeft(text, " "))
	}
	pos := diag.Pos{File: d.file, Line: line, Col: 1 + utf8.RuneCountInString(text[:at])}
	d.diags.Errorf(pos, hint, "not valid YAML: %s", message)
}

// unquoted replaces quoted text by spaces of the same length.
func unquoted(line string) string {
	return regexp.MustCompile(quotedText).ReplaceAllStringFunc(line, func(text string) string { return strings.Repeat(" ", len(text)) })
}

// faultyByte returns the column of an error, -1 if unknown, and a hint. It depends on the messages of
// yaml.v3.
func faultyByte(message, text string) (at int, hint string) {
	says := func(words string) bool { return strings.Contains(message, words) }
	switch {
	case strings.Contains(unquoted(text), "{{") && says("did not find"):
		return strings.Index(unquoted(text), "{{"), "quote a text that begins with {{"
	case says("mapping values are not allowed"):
		return groupIn(twoColons, text), "quote a text that holds a colon; or is the line indented too far?"
	case says("cannot start any token"):
		return groupIn(badScalar, text), "indent with spaces, not tabs; quote a text that begins with @, % or `"
	case says("unknown anchor"):
		return aliasIn(message, text), "quote a text that begins with *, or define the anchor before its use"
	case says("control characters"), says("UTF-8"):
		return firstBad(text), "save the file as UTF-8 text; in double quotes write \\x01 and the like"
	case says("expected ',' or"):
		return -1, "inside [ ] and { } quote a text that holds ?, :, a comma or a bracket; or is a bracket missing?"
	case says("expected key"), says("expected '-'"):
		return -1, "is this line indented like its neighbours?"
	}
	return -1, ""
}

func groupIn(pattern, text string) int {
	if m := regexp.MustCompile(pattern).FindStringSubmatchIndex(text); m != nil {
		return m[2]
	}
	return -1
}

// aliasIn returns the offset of an alias that the message says has no anchor.
func aliasIn(message, text string) int {
	if m := regexp.MustCompile(anchorName).FindStringSubmatch(message); m != nil {
		return strings.Index(text, "*"+m[1])
	}
	return -1
}

func firstBad(text string) int {
	for i, r := range text {
		if r == utf8.RuneError || r < ' ' && r != '\t' || r == 0x7f {
			return i
		}
	}
	return 0
}

// lineReader returns one line per Read. The lines that were read bound the position of the error from
// above.
type lineReader struct {
	lines [][]byte
	next  int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if r.next == len(r.lines) {
		return 0, io.EOF
	}
	n := copy(p, r.lines[r.next])
	if r.lines[r.next] = r.lines[r.next][n:]; len(r.lines[r.next]) == 0 {
		r.next++
	}
	return n, nil
}

// maxReparsed bounds the bytes that are parsed again to find a faulty line.
const maxReparsed = 8 << 20

// faultyLine returns the line of a syntax error, from 1, and its text. yaml.v3 reports the line at which
// the enclosing block began, or none. The lines that it had read bound the error from above. Between the
// two, the faulty line is the first one from which on every prefix of the file is faulty.
func faultyLine(src []byte, err error) (int, string) {
	reported := 1
	if m := regexp.MustCompile(yamlLine).FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		reported, _ = strconv.Atoi(m[1])
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	if n := len(lines); len(lines[n-1]) == 0 && n > 1 {
		lines = lines[:n-1]
	}
	r := &lineReader{lines: bytes.SplitAfter(src, []byte("\n"))}
	_ = yaml.NewDecoder(r).Decode(&yaml.Node{}) // fails as before, but sets r.next
	line := lastFaulty(src, lines, reported, min(max(r.next, reported, 1), len(lines)))
	return line, string(bytes.TrimRight(lines[line-1], "\r\n"))
}

// lastFaulty goes back until the lines before it can be parsed, or to the line that yaml.v3 reported.
func lastFaulty(src []byte, lines [][]byte, reported, line int) int {
	end := 0
	for _, l := range lines[:line] {
		end += len(l)
	}
	for spent := 0; line > reported && spent < maxReparsed; line-- {
		end -= len(lines[line-1])
		spent += end
		if _, err := decode(src[:end]); err == nil || errors.Is(err, io.EOF) {
			break
		}
	}
	return line
}
