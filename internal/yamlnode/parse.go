// Package yamlnode walks YAML strictly and with positions: suites and emulator scripts are read through it. A Node is a
// view of a yaml.Node that knows its file. Every accessor says what it expects, reports what it finds instead, and
// continues with a zero value, so that one pass finds every error.
//
// It refuses what YAML allows and people do not mean: duplicate keys, custom tags, several documents in one file, octal
// numbers by a leading zero. It also refuses what people do not write by hand: alias bombs, mappings of 200,000 keys,
// nesting beyond 64.
//
// The usual order: Parse, then Node.Map with the known keys, then Map.Get and
// one of Str, Int, Float, Bool, Seq, Strings.
package yamlnode

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
	"github.com/evalrun/evalrun/internal/lazy"
)

// Bounds on a file, so that a hostile one ends in an error within a second.
const (
	MaxFileBytes  = 16 << 20
	MaxDepth      = 64
	MaxAliasNodes = 100_000 // nodes reached through aliases, all expansions added up
	MaxKeys       = 10_000  // keys of one mapping
	MaxEntries    = 190_000 // lines and commas of a file: a bound on its values before they are built
)

type doc struct {
	file   string
	src    []byte
	starts []int // of the lines; made when first needed
	diags  *diag.List
	at     *diag.Pos // where all of it is, see Node.At; nil: where it was read
	cut    *cut      // its long list; nil: all of it was parsed
}

// Parse reads one YAML document. Errors go to diags; the second result is false when the document cannot be walked at
// all.
func Parse(file string, src []byte, diags *diag.List) (Node, bool) {
	d := &doc{file: file, src: src, diags: diags}
	if src, ok := d.bounded(); ok {
		return d.parse(src)
	}
	return Node{}, false
}

// bounded is the source as it is parsed, false when it is too long.
func (d *doc) bounded() (src []byte, ok bool) {
	top := diag.Pos{File: d.file}
	if n := len(d.src); n > MaxFileBytes {
		d.diags.Errorf(top, "split it, or keep the cases in a data file", "the file has %d bytes; at most %d are read", n, MaxFileBytes)
		return nil, false
	}
	if n := bytes.Count(d.src, []byte("\n")) + bytes.Count(d.src, []byte(",")); n > MaxEntries {
		d.diags.Errorf(
			top, "split it, or keep the cases in a data file", "the file has %d lines and commas; at most %d are read",
			n, MaxEntries,
		)
		return nil, false
	}
	return withoutDirective(d.src), true
}

// parse parses all of a file.
func (d *doc) parse(src []byte) (Node, bool) {
	top := diag.Pos{File: d.file}
	root, err := decode(src)
	if errors.Is(err, io.EOF) {
		d.diags.Errorf(top, "`evalrun init` writes a first suite", "the file is empty")
		return Node{}, false
	}
	if err != nil {
		d.syntaxError(src, err)
		return Node{}, false
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
		d.diags.Errorf(top, "", "the file holds no YAML document")
		return Node{}, false
	}
	c := checker{doc: d}
	if !c.check(root.Content[0], 0, false) {
		return Node{}, false
	}
	return Node{root.Content[0], d}, true
}

// withoutDirective blanks out a %YAML line, which yaml.v3 refuses from version 1.2 on; the lines keep
// their numbers.
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

// decode parses the first document and makes sure that it is the only one.
// yaml.v3 recovers its own panics into errors, but not all of them.
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

// checker walks the raw tree once, before anybody else does, for what yaml.v3
// lets through when it decodes to nodes.
type checker struct {
	*doc
	aliased int
	cut     bool // it is a piece of a file, and no alias may lead out of it
	below   int  // the lines before it
}

func (c *checker) check(n *yaml.Node, depth int, inAlias bool) bool {
	if inAlias {
		c.aliased++
	}
	n.Line += c.below
	switch {
	case c.cut && (n.Kind == yaml.AliasNode || n.Anchor != ""):
		return false
	case depth > MaxDepth:
		c.errorf(n, "", "nested deeper than %d levels", MaxDepth)
		return false
	case c.aliased > MaxAliasNodes:
		c.errorf(n, "write the repeated part out, or share less of it", "aliases expand to more than %d values", MaxAliasNodes)
		return false
	case n.Kind == yaml.AliasNode:
		return c.check(n.Alias, depth+1, true)
	case n.Kind == yaml.MappingNode && len(n.Content)/2 > MaxKeys:
		c.errorf(n, "", "a mapping of %d keys; at most %d are read", len(n.Content)/2, MaxKeys)
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

const (
	yamlLine   lazy.Pattern = `^yaml: (?:line (\d+): )?`
	anchorName lazy.Pattern = `unknown anchor '(.*)' referenced`
	badScalar  lazy.Pattern = "(?:^|[\\s\\[{,:-])([@`%&*!|>\t])"
	twoColons  lazy.Pattern = `:\s.*?(:)(?:\s|$)`
)

// syntaxError finds the line that yaml.v3 does not report, or reports wrongly.
func (d *doc) syntaxError(src []byte, err error) {
	message := strings.TrimSpace(yamlLine.Regexp().ReplaceAllString(err.Error(), ""))
	line, text := faultyLine(src, err)
	at, hint := faultyByte(message, text)
	if at < 0 {
		at = len(text) - len(strings.TrimLeft(text, " "))
	}
	pos := diag.Pos{File: d.file, Line: line, Col: 1 + utf8.RuneCountInString(text[:at])}
	d.diags.Errorf(pos, hint, "not valid YAML: %s", message)
}

const quotedText lazy.Pattern = `"(?:\\.|[^"\\])*"|'[^']*'`

// unquoted is a line with spaces for what is in quotes.
func unquoted(line string) string {
	return quotedText.Regexp().ReplaceAllStringFunc(line, func(text string) string { return strings.Repeat(" ", len(text)) })
}

// faultyByte is where in a line the library found the error, -1 if that is not known, and what to do about it.
func faultyByte(message, text string) (at int, hint string) {
	says := func(words string) bool { return strings.Contains(message, words) }
	switch {
	case strings.Contains(unquoted(text), "{{") && says("did not find"):
		return strings.Index(unquoted(text), "{{"), "quote a text that begins with {{"
	case says("mapping values are not allowed"):
		return groupIn(twoColons.Regexp(), text), "quote a text that holds a colon; or is the line indented too far?"
	case says("cannot start any token"):
		return groupIn(badScalar.Regexp(), text), "indent with spaces, not tabs; quote a text that begins with @, % or `"
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

// groupIn is where the first group of a pattern matches, -1 if it does not.
func groupIn(r *regexp.Regexp, text string) int {
	if m := r.FindStringSubmatchIndex(text); m != nil {
		return m[2]
	}
	return -1
}

// aliasIn is where a text uses the anchor that a message says is unknown.
func aliasIn(message, text string) int {
	if m := anchorName.Regexp().FindStringSubmatch(message); m != nil {
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

// lineReader hands out one line a Read, so that the number of lines handed out
// bounds from above where the parser stumbled.
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

// maxReparsed bounds the bytes parsed again to find a faulty line.
const maxReparsed = 8 << 20

// faultyLine returns the line of a syntax error, from 1, and its text. yaml.v3 may report the line where the enclosing
// block began, or none. How much it had read by then bounds the line from above. Between the two, the faulty line is
// the first one from which on every prefix of the file is faulty.
func faultyLine(src []byte, err error) (int, string) {
	reported := 1
	if m := yamlLine.Regexp().FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		reported, _ = strconv.Atoi(m[1])
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	if n := len(lines); len(lines[n-1]) == 0 && n > 1 {
		lines = lines[:n-1]
	}
	r := &lineReader{lines: bytes.SplitAfter(src, []byte("\n"))}
	_ = yaml.NewDecoder(r).Decode(&yaml.Node{}) // fails as before; r.next is what we are after
	line := lastFaulty(src, lines, reported, min(max(r.next, reported, 1), len(lines)))
	return line, string(bytes.TrimRight(lines[line-1], "\r\n"))
}

// lastFaulty goes back from a line until what is before it can be read, or to the line that the library reports.
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
