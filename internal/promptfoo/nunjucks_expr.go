package promptfoo

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// nunjucksExpr is a nunjucks expression. op is name, text, number, bool, member, index, filter, call, list,
// if, defined, an operator, and, or, not.
type nunjucksExpr struct {
	op   string
	name string // of names, members and filters; the value of literals
	args []*nunjucksExpr
}

// numeric reports whether the result is certainly a number.
func (e *nunjucksExpr) numeric() bool {
	return e.op == "number" || e.op == "member" && e.name == "length" ||
		e.op == "filter" && (e.name == "length" || e.name == "count")
}

// joined returns the operands of a concatenation that has a text; otherwise only the expression itself.
func (e *nunjucksExpr) joined() []*nunjucksExpr {
	if e.op != "~" && (e.op != "+" || !e.hasText()) {
		return []*nunjucksExpr{e}
	}
	return append(e.args[0].joined(), e.args[1].joined()...)
}

func (e *nunjucksExpr) hasText() bool {
	if e.op == "text" {
		return true
	}
	return e.op == "+" && slices.ContainsFunc(e.args, (*nunjucksExpr).hasText)
}

var nunjucksToken = pattern{expression: `^\s*("(?:\\.|[^"\\])*"|` +
	`'(?:\\.|[^'\\])*'|[0-9]+(?:\.[0-9]+)?|[A-Za-z_$][\w$]*|===|!==|==|!=|<=|>=|//|\*\*|[-+*/%~<>()\[\]{},:.|=])`}

const maxTokens = 2000

func tokens(text string) (out []string, err error) {
	for strings.TrimSpace(text) != "" {
		m := nunjucksToken.regexp().FindStringSubmatch(text)
		if m == nil || len(out) > maxTokens {
			return nil, fmt.Errorf("promptfoo cannot read `%s` as a template either", strings.TrimSpace(text))
		}
		out, text = append(out, m[1]), text[len(m[0]):]
	}
	return out, nil
}

func parseExpression(text string) (*nunjucksExpr, error) {
	in, err := tokens(text)
	if err != nil {
		return nil, err
	}
	p := &parser{in: in}
	e, err := p.choice()
	if err == nil && len(p.in) > 0 {
		err = fmt.Errorf("`%s` has no counterpart in a template", text)
	}
	return e, err
}

type parser struct {
	in    []string
	depth int
}

func (p *parser) peek() string {
	if len(p.in) == 0 {
		return ""
	}
	return p.in[0]
}

func (p *parser) take() string {
	out := p.peek()
	if out != "" {
		p.in = p.in[1:]
	}
	return out
}

func (p *parser) takes(words ...string) bool {
	if !slices.Contains(words, p.peek()) || len(p.in) == 0 {
		return false
	}
	p.in = p.in[1:]
	return true
}

var errNesting = errors.New("the template is nested too deep")

// choice parses `a if b else c`.
func (p *parser) choice() (*nunjucksExpr, error) {
	if p.depth++; p.depth > 50 {
		return nil, errNesting
	}
	defer func() { p.depth-- }()
	e, err := p.binary(0)
	if err != nil || !p.takes("if") {
		return e, err
	}
	out := &nunjucksExpr{op: "if", args: []*nunjucksExpr{e}}
	for more := true; more; more = p.takes("else") && len(out.args) < 3 {
		arg, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		out.args = append(out.args, arg)
	}
	return out, nil
}

// levels lists the operators from the weakest to the strongest.
var levels = [][]string{
	{
		"or",
	}, {"and"}, {"not"}, {"in", "is"}, {"==", "!=", "===", "!==", "<", "<=", ">", ">="}, {"~"}, {"+", "-"}, {"*", "/", "//", "%"},
}

func (p *parser) binary(level int) (*nunjucksExpr, error) {
	switch {
	case level == len(levels):
		return p.postfix()
	case levels[level][0] == "not":
		if p.takes("not") {
			arg, err := p.binary(level)
			return &nunjucksExpr{op: "not", args: []*nunjucksExpr{arg}}, err
		}
		return p.binary(level + 1)
	}
	left, err := p.binary(level + 1)
	for err == nil && slices.Contains(levels[level], p.peek()) {
		op := p.take()
		if op == "is" {
			left, err = p.is(left)
			continue
		}
		var right *nunjucksExpr
		right, err = p.binary(level + 1)
		left = &nunjucksExpr{
			op:   strings.Replace(strings.Replace(op, "===", "==", 1), "!==", "!=", 1),
			args: []*nunjucksExpr{left, right},
		}
	}
	return left, err
}

// is parses `is defined` and `is not defined`, the only tests with a counterpart.
func (p *parser) is(left *nunjucksExpr) (*nunjucksExpr, error) {
	not := p.takes("not")
	out := &nunjucksExpr{op: "defined", args: []*nunjucksExpr{left}}
	switch word := p.take(); word {
	case "defined":
	case "undefined", "none":
		not = !not
	default:
		return nil, fmt.Errorf("the test `is %s` has no counterpart", word)
	}
	if not {
		out = &nunjucksExpr{op: "not", args: []*nunjucksExpr{out}}
	}
	return out, nil
}

// postfix parses members, indexes, calls and filters after a value.
func (p *parser) postfix() (*nunjucksExpr, error) {
	e, err := p.primary()
	for err == nil {
		switch {
		case p.takes("."):
			e = &nunjucksExpr{op: "member", name: p.take(), args: []*nunjucksExpr{e}}
		case p.takes("["):
			var key *nunjucksExpr
			if key, err = p.choice(); err == nil && !p.takes("]") {
				err = errors.New("a bracket of the template is not closed")
			}
			e = &nunjucksExpr{op: "index", args: []*nunjucksExpr{e, key}}
		case p.takes("("):
			_, err = p.list(")")
			e = &nunjucksExpr{op: "call", args: []*nunjucksExpr{e}}
		case p.takes("|"):
			e, err = p.filter(e)
		default:
			return e, nil
		}
	}
	return nil, err
}

func (p *parser) filter(e *nunjucksExpr) (*nunjucksExpr, error) {
	out := &nunjucksExpr{op: "filter", name: p.take(), args: []*nunjucksExpr{e}}
	if !p.takes("(") {
		return out, nil
	}
	args, err := p.list(")")
	out.args = append(out.args, args...)
	return out, err
}

func (p *parser) list(shut string) (out []*nunjucksExpr, err error) {
	for !p.takes(shut) {
		if len(p.in) == 0 {
			return nil, errors.New("a bracket of the template is not closed")
		}
		e, err := p.choice()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		p.takes(",")
	}
	return out, nil
}

func (p *parser) primary() (*nunjucksExpr, error) {
	word := p.take()
	switch {
	case word == "":
		return nil, errors.New("promptfoo cannot read this template either: an expression is empty")
	case word == "(" || word == "[":
		return p.bracketed(word)
	case word[0] == '"' || word[0] == '\'':
		return &nunjucksExpr{op: "text", name: jsEscapes.Replace(word[1 : len(word)-1])}, nil
	case word[0] >= '0' && word[0] <= '9':
		return &nunjucksExpr{op: "number", name: word}, nil
	case word == "true" || word == "false":
		return &nunjucksExpr{op: "bool", name: word}, nil
	case word == "none" || word == "null" || word == "undefined":
		return &nunjucksExpr{op: "text"}, nil
	case identifier.matches(word):
		return &nunjucksExpr{op: "name", name: word}, nil
	}
	return nil, fmt.Errorf("`%s` has no counterpart in a template", word)
}

func (p *parser) bracketed(open string) (*nunjucksExpr, error) {
	if open == "[" {
		args, err := p.list("]")
		return &nunjucksExpr{op: "list", args: args}, err
	}
	e, err := p.choice()
	if err == nil && !p.takes(")") {
		err = errors.New("a parenthesis of the template is not closed")
	}
	return e, err
}

var jsEscapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\\`, `\`, `\"`, `"`, `\'`, "'", "\\`", "`")
