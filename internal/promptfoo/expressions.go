package promptfoo

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
)

var (
	unicodeEscape = pattern{expression: `\\\\|` +
		`\\u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})`}
	jsGroup = pattern{expression: `\(\?<([A-Za-z_]\w*)>`}
)

// toRE2 converts a JavaScript regular expression to RE2. ok is false for features that RE2 lacks, such as
// lookahead.
func toRE2(in string) (out, note string, ok bool) {
	out = convertEscapes(in)
	out = jsGroup.regexp().ReplaceAllString(out, "(?P<$1>")
	probe := strings.NewReplacer("{{", "", "}}", "").Replace(templateAction.regexp().ReplaceAllString(out, "x"))
	if _, err := regexp.Compile(probe); err != nil || readOtherwise.matches(in) {
		return "", "", false
	}
	if strings.HasPrefix(in, "(?i)") || strings.HasPrefix(in, "(?s)") || strings.HasPrefix(in, "(?m)") ||
		strings.HasPrefix(in, "(?is)") {
		note = "JavaScript refuses flags inside the expression, so that promptfoo fails here whatever the answer"
	}
	return out, note, true
}

// readOtherwise matches what RE2 takes, and JavaScript reads as something else: \p{L} is there the letters p{L}, \u{9} is nine u, []
// matches nothing.
var readOtherwise = pattern{expression: `(?:^|[^\\])(?:\\\\)*(?:\\(?:[pPAzQEa]|[ux]\{)|\(\?P<|\[\[:|\[\])`}

var templateAction = pattern{expression: `\{\{.*?\}\}`}

// convertEscapes converts escapes that RE2 writes differently.
func convertEscapes(in string) string {
	in = unicodeEscape.regexp().ReplaceAllStringFunc(in, func(m string) string {
		p := unicodeEscape.regexp().FindStringSubmatch(m)
		switch {
		case m == `\\`:
			return m
		case p[1] != "":
			hi, _ := strconv.ParseUint(p[1], 16, 32)
			lo, _ := strconv.ParseUint(p[2], 16, 32)
			return fmt.Sprintf(`\x{%x}`, 0x10000+(hi-0xd800)<<10+(lo-0xdc00))
		}
		return `\x{` + p[3] + `}`
	})
	in = strings.NewReplacer(`\\`, `\\`, `[^]`, `[\s\S]`, `\/`, `/`).Replace(in)
	return whiteSpace.regexp().ReplaceAllStringFunc(in, func(m string) string {
		const space = `\s\v\pZ\x{feff}`
		switch {
		case m == `\s`:
			return "[" + space + "]"
		case m == `\S`:
			return "[^" + space + "]"
		case strings.Contains(m, `\S`): // most often [\s\S], which is anything
			return m
		}
		return escaped.regexp().ReplaceAllStringFunc(m, func(e string) string { // in a class of characters
			if e == `\s` {
				return space
			}
			return e
		})
	})
}

// escaped finds a backslash and what it stands before.
var escaped = pattern{expression: `(?s)\\.`}

// whiteSpace finds \s, in or outside of a class. RE2 does not take non-breaking spaces for it, as JavaScript does.
var whiteSpace = pattern{expression: `(?s)\\.|\[(?:\\.|[^\]\\])*\]`}

// This file converts JavaScript that only picks a part of a value to jq.

var (
	arrow    = pattern{expression: `(?s)^\(?\s*(\w+)(?:\s*,\s*\w+)*\s*\)?\s*=>\s*(.+)$`}
	outputIn = pattern{expression: `(?s)^\(?\{\s*output:\s*([^,{}]+?)\s*(?:,[^{}]*)?\}\)?$`}
	pathStep = pattern{expression: `^(?:\?\.\s*|\.)?(?:([A-Za-z_$][\w$]*)|\[\s*(-?\d+|"[^"\\]*"|'[^'\\]*')\s*\])`}
	jqPlain  = pattern{expression: `^[A-Za-z_]\w*$`}
)

func responsePath(code string) (jq string, ok bool) {
	root := "json"
	code = strings.TrimSuffix(strings.TrimSpace(code), ";")
	if m := arrow.regexp().FindStringSubmatch(code); m != nil {
		root, code = m[1], strings.TrimSpace(m[2])
	}
	code = strings.TrimSpace(strings.TrimPrefix(code, "return "))
	if m := outputIn.regexp().FindStringSubmatch(code); m != nil {
		code = m[1]
	}
	jq, ok = alternatives(code, root)
	if jq == "." {
		return "", ok
	}
	return jq, ok
}

// alternatives converts paths joined by || or ?? to jq.
func alternatives(code, root string) (string, bool) {
	var out []string
	for _, part := range strings.Split(strings.ReplaceAll(code, "??", "||"), "||") {
		part = strings.TrimSpace(part)
		for strings.HasPrefix(part, "(") && strings.HasSuffix(part, ")") {
			part = strings.TrimSpace(part[1 : len(part)-1])
		}
		jq, ok := jqPath(part, root)
		if !ok {
			return "", false
		}
		out = append(out, jq)
	}
	return strings.Join(out, " // "), true
}

var stringified = pattern{expression: `^JSON\.stringify\(\s*(\w+)\s*(?:,[^()]*)?\)$`}

func jqPath(code, root string) (string, bool) {
	if m := stringified.regexp().FindStringSubmatch(code); m != nil {
		return ".", m[1] == root
	}
	if len(code) > 1 && (code[0] == '"' || code[0] == '\'') && strings.IndexByte(code[1:], code[0]) == len(code)-2 {
		return yaml.Quote(code[1 : len(code)-1]), true
	}
	rest, is := strings.CutPrefix(code, root)
	if !is {
		return "", false
	}
	out := ""
	for rest != "" {
		m := pathStep.regexp().FindStringSubmatch(rest)
		if m == nil || m[1] != "" && !strings.HasPrefix(strings.TrimPrefix(rest, "?"), ".") {
			return "", false
		}
		out += jqStep(m[1], m[2])
		rest = strings.TrimSpace(rest[len(m[0]):])
	}
	if out == "" {
		return ".", true
	}
	return out, true
}

func jqStep(name, key string) string {
	switch {
	case name != "" && jqPlain.matches(name):
		return "." + name
	case name != "":
		return "[" + yaml.Quote(name) + "]"
	case key[0] == '"' || key[0] == '\'':
		return "[" + yaml.Quote(key[1:len(key)-1]) + "]"
	}
	return "[" + key + "]"
}

var (
	trimmed = pattern{expression: `^(?:String\(output\)|output)\.trim\(\)$`}
	parsed  = pattern{expression: `^JSON\.parse\(\s*output(?:\.trim\(\))?\s*\)`}
)

// selection converts a transform that only picks a part of the answer to a `select`; nil if it does more.
func selection(code string) yamlValue {
	code = strings.TrimSuffix(strings.TrimSpace(code), ";")
	if trimmed.matches(code) {
		return one("regex", textValue(`(?s)^\s*(.*?)\s*$`))
	}
	if loc := parsed.regexp().FindStringIndex(code); loc != nil {
		if jq, ok := jqPath("output"+code[loc[1]:], "output"); ok {
			return one("jq", textValue(jq))
		}
		return nil
	}
	if jq, ok := jqPath(code, "output"); ok && jq != "." && !jsMethod.matches(code) {
		return one("jq", textValue(jq))
	}
	return nil
}

// removal matches a call that removes what a regular expression matches.
var removal = pattern{
	expression: `^\.replace(?:All)?\(\s*/((?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[])+)/([gims]*)\s*,\s*(?:''|""|` + "``" + `)\s*\)`,
}

// anchored matches an expression that ends in $, and not in an escaped one.
var anchored = pattern{expression: `(?:^|[^\\])(?:\\\\)*\$$`}

// removals converts a transform that only removes parts of the answer to a `select`; nil if it does more.
func removals(code string) yamlValue {
	rest, is := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(code), ";"), "output")
	steps := &sequence{}
	for is && rest != "" {
		if after, trims := strings.CutPrefix(rest, ".trim()"); trims {
			steps.add(selection("output.trim()"))
			rest = after
			continue
		}
		m := removal.regexp().FindStringSubmatch(rest)
		if m == nil {
			return nil
		}
		flags := strings.ReplaceAll(m[2], "g", "")
		once := strings.HasPrefix(m[1], "^") || anchored.matches(m[1]) // it matches once at most
		out, _, ok := toRE2(m[1])
		if !ok || flags == m[2] && (!once || strings.Contains(m[1], "|") || strings.Contains(flags, "m")) || strings.Contains(out, "{{") {
			return nil
		}
		if flags != "" {
			out = "(?" + flags + ")" + out
		}
		steps.add(one("without", textValue(out)))
		rest = strings.TrimSpace(rest[len(m[0]):])
	}
	if steps.empty() {
		return nil
	}
	return steps
}

var jsMethod = pattern{expression: `\.(length|trim|split|match|replace|slice|toString|toLowerCase|toUpperCase)\b`}

// variable returns evalrun's expression for a name: a variable of the case, of a loop, or of {% set %}.
func (t *translator) variable(name string) string {
	for _, b := range slices.Backward(t.open) {
		if v := b.names[name]; v != "" {
			return v
		}
	}
	if v := cmp.Or(t.set[name], t.functions[name]); v != "" {
		return v
	}
	if own := t.given[name]; own != "" {
		name = own
	} else {
		t.uses[name] = true
	}
	return t.reach(name)
}

// reach returns the expression for a variable of the case.
func (t *translator) reach(name string) string {
	if slices.ContainsFunc(t.open, func(b block) bool { return b.word == "for" }) {
		return "$." + name
	}
	return "." + name
}

// loopVariable translates loop.index and the like.
func (t *translator) loopVariable(field string) (string, error) {
	for _, b := range slices.Backward(t.open) {
		if b.word != "for" {
			continue
		}
		switch field {
		case "index0":
			return b.names["loop"], nil
		case "first":
			return "(eq " + b.names["loop"] + " 0)", nil
		case "length":
			return "(len " + b.over + ")", nil
		}
	}
	return "", fmt.Errorf("`loop.%s` has no counterpart", field)
}

var identifier = pattern{expression: `^[A-Za-z_]\w*$`}

// expression writes an expression in evalrun's syntax, with parentheses if it has several words.
func (t *translator) expression(e *nunjucksExpr) (string, error) {
	switch e.op {
	case "name":
		if !identifier.matches(e.name) {
			return "", fmt.Errorf("a variable named %q cannot be in a template", e.name)
		}
		return t.variable(e.name), nil
	case "text":
		return strconv.Quote(e.name), nil
	case "number", "bool":
		return e.name, nil
	case "member":
		return t.member(e)
	case "filter":
		return t.filter(e)
	case "if", "+", "~", "-", "*", "/", "in", "list", "call":
		return "", fmt.Errorf("`%s` has no counterpart in a template here", e.op)
	case "==", "!=", "<", "<=", ">", ">=":
		return t.comparison(e)
	}
	return t.prefixed(e, map[string]string{"index": "index", "and": "and", "or": "or", "not": "not", "defined": "or"}[e.op])
}

func (t *translator) member(e *nunjucksExpr) (string, error) {
	if e.args[0].op == "name" && e.args[0].name == "loop" {
		return t.loopVariable(e.name)
	}
	of, err := t.expression(e.args[0])
	switch {
	case err != nil:
		return "", err
	case e.name == "length":
		return "(len " + of + ")", nil
	}
	return of + "." + e.name, nil
}

func (t *translator) prefixed(e *nunjucksExpr, word string) (string, error) {
	if e.op == "defined" {
		t.note("`is defined` checks whether the variable has a value")
		return t.expression(e.args[0])
	}
	return e.call(word, t.expression)
}

// call writes a call of a function with translated arguments.
func (e *nunjucksExpr) call(word string, translate func(*nunjucksExpr) (string, error)) (string, error) {
	out := "(" + word
	for _, arg := range e.args {
		s, err := translate(arg)
		if err != nil {
			return "", err
		}
		out += " " + s
	}
	return out + ")", nil
}

// comparison compares texts, and numbers if both sides are, so that a length can be compared.
func (t *translator) comparison(e *nunjucksExpr) (string, error) {
	comparisons := map[string]string{"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

	for i, side := range e.args {
		other := e.args[1-i]
		if side.op != "number" && side.op != "bool" || other.numeric() {
			continue
		}
		if e.op != "==" && e.op != "!=" {
			return "", fmt.Errorf("a comparison of a variable with the number %s has no counterpart in a template", side.name)
		}
		e.args[i] = &nunjucksExpr{op: "text", name: side.name}
		t.note("a variable is compared with the text %q, not with a number", side.name)
	}
	return t.prefixed(e, comparisons[e.op])
}

// filters have counterparts that take the value as the last argument.
var filters = map[string]string{
	"upper": "upper", "lower": "lower", "trim": "trim", "dump": "json", "tojson": "json", "length": "len", "count": "len",
}

func (t *translator) filter(e *nunjucksExpr) (string, error) {
	value, err := t.expression(e.args[0])
	if err != nil {
		return "", err
	}
	if word := filters[e.name]; word != "" {
		return "(" + word + " " + value + ")", nil
	}
	var args []string
	for _, a := range e.args[1:] {
		s, err := t.expression(a)
		if err != nil {
			return "", err
		}
		args = append(args, s)
	}
	return t.filtered(e.name, value, args)
}

// filtered translates filters that need more than a function call.
func (t *translator) filtered(name, value string, args []string) (string, error) {
	switch takes := fmt.Sprint(name, len(args)); takes {
	case "safe0", "string0":
		return value, nil
	case "join0":
		return `(join "" ` + value + ")", nil
	case "join1", "split1", "replace2":
		return "(" + name + " " + strings.Join(args, " ") + " " + value + ")", nil
	case "first0":
		return "(index " + value + " 0)", nil
	case "default1", "default2", "d1", "d2":
		t.note("`default` takes the place of an empty value too")
		return "(or " + value + " " + args[0] + ")", nil
	}
	return "", fmt.Errorf("the filter `%s` has no counterpart", name)
}
