package promptfoo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/evalrun/evalrun/eval"
)

type dialect struct {
	// functions maps promptfoo's own variables to functions of evalrun: {{prompt}} in the body of a request
	// is the function prompt.
	functions map[string]string
	// given maps variables that come with the template to evalrun's names.
	given map[string]string
	// env writes a variable of the environment, and reports whether the place allows it. Optional.
	env func(t *translator, name string) bool
	// json is set inside a text of JSON, where what actions write is escaped.
	json bool
	// typed has the variables that may be numbers or booleans, which are texts in evalrun's templates.
	typed map[string]bool
}

type template struct {
	text  string
	uses  []string // sorted variables
	notes []string // differences from promptfoo
}

// translate converts a nunjucks template. Its error says what has no counterpart.
func (d dialect) translate(text string) (*template, error) {
	pieces, err := split(text)
	if err != nil {
		return nil, err
	}
	if d.json { // white space of the text is escaped, so that tags cannot trim it later
		trimAtTags(pieces)
	}
	t := &translator{dialect: d, uses: map[string]bool{}}
	for _, p := range pieces {
		if err := t.piece(p); err != nil {
			return nil, err
		}
	}
	if len(t.open) > 0 {
		return nil, fmt.Errorf("`{%% %s %%}` is not closed", t.open[len(t.open)-1].word)
	}
	return &template{text: t.out.String(), uses: slices.Sorted(maps.Keys(t.uses)), notes: t.notes}, nil
}

// trimAtTags removes the white space that tags trim.
func trimAtTags(pieces []templatePiece) {
	for i := range pieces {
		p := &pieces[i]
		if p.left && i > 0 && pieces[i-1].kind == 0 {
			pieces[i-1].text = strings.TrimRightFunc(pieces[i-1].text, unicode.IsSpace)
		}
		if p.right && i+1 < len(pieces) && pieces[i+1].kind == 0 {
			pieces[i+1].text = strings.TrimLeftFunc(pieces[i+1].text, unicode.IsSpace)
		}
		p.left, p.right = false, false
	}
}

type templatePiece struct {
	kind        byte // 0 for text, otherwise the second character of the delimiter
	text        string
	left, right bool // whether the tag trims white space before and after it
}

var rawBlock = pattern{expression: `(?s)^\{%-?\s*(raw|verbatim)\s*-?%\}(.*?)\{%-?\s*end(?:raw|verbatim)\s*-?%\}`}

// split splits a template into pieces. An unclosed tag makes all of it text, as in promptfoo.
func split(text string) (out []templatePiece, err error) {
	rest := text
	for rest != "" {
		at := strings.Index(rest, "{")
		if at < 0 || at+1 == len(rest) {
			return append(out, templatePiece{text: rest}), nil
		}
		if !strings.ContainsRune("{%#", rune(rest[at+1])) {
			out, rest = append(out, templatePiece{text: rest[:at+1]}), rest[at+1:]
			continue
		}
		if at > 0 {
			out, rest = append(out, templatePiece{text: rest[:at]}), rest[at:]
		}
		if m := rawBlock.regexp().FindStringSubmatch(rest); m != nil {
			out, rest = append(out, templatePiece{text: m[2]}), rest[len(m[0]):]
			continue
		}
		p, n := tag(rest)
		switch {
		case n < 0 && p.kind == '#':
			return nil, errors.New("promptfoo cannot read this template either: `{#` begins a comment that never ends")
		case n < 0:
			return []templatePiece{{text: text}}, nil
		}
		out, rest = append(out, p), rest[n:]
	}
	return out, nil
}

// tag reads a tag at the beginning of a text and returns its length; -1 if it is not closed.
func tag(text string) (p templatePiece, n int) {
	p.kind = text[1]
	shut := map[byte]string{'{': "}}", '%': "%}", '#': "#}"}[p.kind]
	n = closing(text[2:], shut, p.kind != '#')
	if n < 0 {
		return p, -1
	}
	body := text[2 : 2+n]
	p.left, p.right = strings.HasPrefix(body, "-"), strings.HasSuffix(body, "-")
	p.text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(body, "-"), "-"))
	return p, n + 4
}

// closing finds the end of a tag, outside quotes.
func closing(text, shut string, quotes bool) int {
	quote := byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote && text[i-1] != '\\' {
				quote = 0
			}
		case quotes && (c == '"' || c == '\''):
			quote = c
		case strings.HasPrefix(text[i:], shut):
			return i
		}
	}
	return -1
}

type block struct {
	word  string
	names map[string]string // variables of a loop
	over  string            // the list of a loop
}

type translator struct {
	dialect
	out   strings.Builder
	open  []block
	uses  map[string]bool
	notes []string
	set   map[string]string // variables of {% set %}
}

func (t *translator) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if !slices.Contains(t.notes, n) {
		t.notes = append(t.notes, n)
	}
}

func (t *translator) piece(p templatePiece) error {
	switch p.kind {
	case '{':
		return t.print(p)
	case '%':
		return t.statement(p)
	case '#':
		if p.left || p.right {
			t.action(p, "/* */")
		}
		return nil
	}
	t.literal(p.text)
	return nil
}

// literal writes a text that is no template.
func (t *translator) literal(text string) {
	if t.json {
		text = jsonText(text)
	}
	t.out.WriteString(escapeText(text))
}

// jsonText escapes a text for a place between the quotes of a JSON text.
func jsonText(text string) string {
	out := eval.JSON(text)
	return out[1 : len(out)-1]
}

func escapeText(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }

func (t *translator) action(p templatePiece, inside string) {
	open, shut := "{{", "}}"
	if p.left {
		open = "{{- "
	}
	if p.right {
		shut = " -}}"
	}
	if inside == "/* */" {
		open, shut = strings.TrimSuffix(open, " ")+" ", " "+strings.TrimPrefix(shut, " ")
		open, shut = strings.Replace(open, "{{ ", "{{", 1), strings.Replace(shut, " }}", "}}", 1)
	}
	t.out.WriteString(open + inside + shut)
}

func (t *translator) print(p templatePiece) error {
	e, err := parseExpression(p.text)
	if err != nil {
		return err
	}
	if name, ok := envName(e); ok {
		if t.env == nil || !t.env(t, name) {
			return fmt.Errorf("`%s` reads the environment, which a suite does in addresses and headers only", p.text)
		}
		return nil
	}
	if e.op == "if" {
		return t.choice(p, e)
	}
	if parts := e.joined(); len(parts) > 1 {
		for _, part := range parts {
			if err := t.printed(templatePiece{}, part); err != nil {
				return err
			}
		}
		return nil
	}
	return t.printed(p, e)
}

func (t *translator) printed(p templatePiece, e *nunjucksExpr) error {
	if e.op == "text" && !p.left && !p.right {
		t.literal(e.name)
		return nil
	}
	out, err := t.expression(e)
	if err != nil {
		return err
	}
	t.action(p, t.escaped(unwrapped(out)))
	return nil
}

func (t *translator) escaped(action string) string {
	if t.json {
		return action + " | jsonText"
	}
	return action
}

// unwrapped removes parentheses around the whole expression.
func unwrapped(s string) string {
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		return s[1 : len(s)-1]
	}
	return s
}

func envName(e *nunjucksExpr) (string, bool) {
	switch {
	case e.op == "member" && isEnv(e.args[0]):
		return e.name, true
	case e.op == "index" && isEnv(e.args[0]) && e.args[1].op == "text":
		return e.args[1].name, true
	}
	return "", false
}

func isEnv(e *nunjucksExpr) bool { return e.op == "name" && e.name == "env" }

// choice translates {{ a if b else c }}.
func (t *translator) choice(p templatePiece, e *nunjucksExpr) error {
	test, err := t.truth(e.args[1])
	if err != nil {
		return err
	}
	t.action(templatePiece{left: p.left}, "if "+unwrapped(test))
	if err := t.printed(templatePiece{}, e.args[0]); err != nil {
		return err
	}
	if len(e.args) > 2 {
		t.action(templatePiece{}, "else")
		if err := t.printed(templatePiece{}, e.args[2]); err != nil {
			return err
		}
	}
	t.action(templatePiece{right: p.right}, "end")
	return nil
}

var (
	forLoop    = pattern{expression: `(?s)^for\s+(\w+)(?:\s*,\s*(\w+))?\s+in\s+(.+)$`}
	assignment = pattern{expression: `(?s)^set\s+(\w+)\s*=\s*(.+)$`}
)

func (t *translator) statement(p templatePiece) error {
	word, rest, _ := strings.Cut(p.text, " ")
	switch word = strings.TrimSpace(word); word {
	case "if":
		return t.begin(p, "if", rest)
	case "elif", "elseif", "elsif":
		test, err := t.test(rest)
		if err == nil {
			t.action(p, "else if "+test)
		}
		return err
	case "else":
		t.action(p, "else")
		return t.inside("if", "for")
	case "endif", "endfor":
		if err := t.inside(strings.TrimPrefix(word, "end")); err != nil {
			return err
		}
		t.open = t.open[:len(t.open)-1]
		t.action(p, "end")
		return nil
	case "for":
		return t.loop(p)
	case "set":
		return t.assign(p)
	}
	return fmt.Errorf("`{%% %s %%}` has no counterpart", word)
}

func (t *translator) inside(words ...string) error {
	if n := len(t.open); n == 0 || !slices.Contains(words, t.open[n-1].word) {
		return errors.New("the statements of the template do not match")
	}
	return nil
}

func (t *translator) begin(p templatePiece, word, rest string) error {
	test, err := t.test(rest)
	if err != nil {
		return err
	}
	t.open = append(t.open, block{word: word})
	t.action(p, word+" "+test)
	return nil
}

func (t *translator) test(text string) (string, error) {
	e, err := parseExpression(text)
	if err != nil {
		return "", err
	}
	out, err := t.truth(e)
	return unwrapped(out), err
}

// plainly translates an expression for its value.
func (t *translator) plainly(text string) (string, error) {
	e, err := parseExpression(text)
	if err != nil {
		return "", err
	}
	out, err := t.expression(e)
	return unwrapped(out), err
}

// truth translates a condition. In evalrun, the texts 0 and false are true, so it compares them.
func (t *translator) truth(e *nunjucksExpr) (string, error) {
	switch e.op {
	case "and", "or", "not":
		return e.call(e.op, t.truth)
	case "name":
		if t.typed[e.name] {
			v, err := t.expression(e)
			return fmt.Sprintf(`(and %s (ne %s "false") (ne %s "0"))`, v, v, v), err
		}
	}
	return t.expression(e)
}

// loop translates {% for x in list %} and {% for key, value in mapping %}.
func (t *translator) loop(p templatePiece) error {
	m := forLoop.regexp().FindStringSubmatch(p.text)
	if m == nil {
		return fmt.Errorf("`{%% %s %%}` has no counterpart", p.text)
	}
	over, err := t.plainly(m[3])
	if err != nil {
		return err
	}
	key, value := fmt.Sprintf("i%d", len(t.open)), m[1]
	if m[2] != "" {
		key, value = m[1], m[2]
	}
	t.open = append(
		t.open,
		block{word: "for", over: over, names: map[string]string{value: "$" + value, key: "$" + key, "loop": "$" + key}},
	)
	t.action(p, fmt.Sprintf("range $%s, $%s := %s", key, value, over))
	return nil
}

func (t *translator) assign(p templatePiece) error {
	m := assignment.regexp().FindStringSubmatch(p.text)
	if m == nil {
		return fmt.Errorf("`{%% %s %%}` has no counterpart", p.text)
	}
	value, err := t.plainly(m[2])
	if err != nil {
		return err
	}
	if t.set == nil {
		t.set = map[string]string{}
	}
	sign := ":="
	if t.set[m[1]] != "" {
		sign = "="
	}
	t.set[m[1]] = "$" + m[1]
	t.action(p, fmt.Sprintf("$%s %s %s", m[1], sign, value))
	return nil
}
