package promptfoo

import (
	"regexp"
	"strings"
)

// This file converts JavaScript that only picks a part of a value to jq.

var (
	arrow    = regexp.MustCompile(`(?s)^\(?\s*(\w+)(?:\s*,\s*\w+)*\s*\)?\s*=>\s*(.+)$`)
	outputIn = regexp.MustCompile(`(?s)^\(?\{\s*output:\s*([^,{}]+?)\s*(?:,[^{}]*)?\}\)?$`)
	pathStep = regexp.MustCompile(`^(?:\?\.\s*|\.)?(?:([A-Za-z_$][\w$]*)|\[\s*(-?\d+|"[^"\\]*"|'[^'\\]*')\s*\])`)
	jqPlain  = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

// responsePath converts a transform of a response to jq.
func responsePath(code string) (jq string, ok bool) {
	root := "json"
	code = strings.TrimSuffix(strings.TrimSpace(code), ";")
	if m := arrow.FindStringSubmatch(code); m != nil {
		root, code = m[1], strings.TrimSpace(m[2])
	}
	code = strings.TrimSpace(strings.TrimPrefix(code, "return "))
	if m := outputIn.FindStringSubmatch(code); m != nil {
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

var stringified = regexp.MustCompile(`^JSON\.stringify\(\s*(\w+)\s*(?:,[^()]*)?\)$`)

func jqPath(code, root string) (string, bool) {
	if m := stringified.FindStringSubmatch(code); m != nil {
		return ".", m[1] == root
	}
	if len(code) > 1 && (code[0] == '"' || code[0] == '\'') && strings.IndexByte(code[1:], code[0]) == len(code)-2 {
		return quoted(code[1 : len(code)-1]), true
	}
	rest, is := strings.CutPrefix(code, root)
	if !is {
		return "", false
	}
	out := ""
	for rest != "" {
		m := pathStep.FindStringSubmatch(rest)
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
	case name != "" && jqPlain.MatchString(name):
		return "." + name
	case name != "":
		return "[" + quoted(name) + "]"
	case key[0] == '"' || key[0] == '\'':
		return "[" + quoted(key[1:len(key)-1]) + "]"
	}
	return "[" + key + "]"
}

var (
	trimmed = regexp.MustCompile(`^(?:String\(output\)|output)\.trim\(\)$`)
	parsed  = regexp.MustCompile(`^JSON\.parse\(\s*output(?:\.trim\(\))?\s*\)`)
)

// selection converts a transform that only picks a part of the answer to a `select`; nil if it does more.
func selection(code string) yamlValue {
	code = strings.TrimSuffix(strings.TrimSpace(code), ";")
	if trimmed.MatchString(code) {
		return one("regex", textValue(`(?s)^\s*(.*?)\s*$`))
	}
	if loc := parsed.FindStringIndex(code); loc != nil {
		if jq, ok := jqPath("output"+code[loc[1]:], "output"); ok {
			return one("jq", textValue(jq))
		}
		return nil
	}
	if jq, ok := jqPath(code, "output"); ok && jq != "." && !jsMethod.MatchString(code) {
		return one("jq", textValue(jq))
	}
	return nil
}

var jsMethod = regexp.MustCompile(`\.(length|trim|split|match|replace|slice|toString|toLowerCase|toUpperCase)\b`)
