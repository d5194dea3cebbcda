package promptfoo

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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

var identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// expression writes an expression in evalrun's syntax, with parentheses if it has several words.
func (t *translator) expression(e *nunjucksExpr) (string, error) {
	switch e.op {
	case "name":
		if !identifier.MatchString(e.name) {
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
	out := "(" + word
	for _, arg := range e.args {
		s, err := t.expression(arg)
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
