package suite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Prompt is a template for the contents of a request.
type Prompt struct {
	Name    string
	Targets eval.Patterns
	Pos     diag.Pos // position of the name
	Live    bool     // a chat that lists the user's turns only; the model's replies go in between
	// Tools are the functions that the model may call, ToolChoice says whether it must call one, and Results are the
	// suite's answers to the calls. Each is nil when absent.
	Tools      []eval.Declaration
	ToolChoice *eval.Choice
	Results    *ToolResults

	system    *source // nil without a system text
	turns     []turn
	generator *generator // writes turns, system and tools; nil when they are in the suite
	toolsPos  diag.Pos
}

type turn struct {
	role  string
	parts []part
}

// source is a template and its position: in a scalar of the suite, or in a separate file.
type source struct {
	t    *expr.Template
	node yaml.Node
	file string // name for messages; "" for the suite itself
	text string
}

func (p *Prompt) hasImage() bool {
	for one := range p.eachPart {
		if _, image := one.(imageInTurn); image {
			return true
		}
	}
	return false
}

func (p *Prompt) isChat() bool { return len(p.turns) > 1 }

func (l *loader) prompts() {
	names := map[string]diag.Pos{}
	targets := make([]string, len(l.Targets))
	for i, t := range l.Targets {
		targets[i] = t.Name
	}
	for m := range l.items("prompts", promptBlock(), "there are no prompts", "write at least one") {
		name := m.Need("name")
		before := l.diags.Len()
		p := &Prompt{
			Name:    nameOf(name),
			Targets: globs(m.Get("targets"), "target", targets),
			Pos:     name.Pos(),
			Live:    m.Get("live").Bool(),
			system:  l.system(m.Get("system")),
			turns:   l.turns(m),
		}
		if m.Has("program") {
			p.generator = l.generator(m)
		}
		l.tooling(m, p)
		if l.diags.Len() > before {
			l.broken = append(l.broken, p)
		}
		if unique(names, name, "prompt") {
			l.Prompts = append(l.Prompts, p)
		}
	}
}

func promptForms() []string { return []string{"text", "file", "turns", "parts", "program"} }

func (l *loader) turns(m yaml.Map) []turn {
	form := formOf(m)
	if form == "" {
		return nil
	}
	body := m.Get(form)
	live := m.Get("live").Bool()
	if live && form != "turns" {
		m.Key("live").Errorf(
			"list the user's turns under `turns`",
			"`live` is for a prompt with turns, and this one has %s", form,
		)
	}
	switch form {
	case "file":
		return single(l.filePart(body))
	case "turns":
		return l.chat(body, live)
	case "parts":
		return single(l.parts(body)...)
	case "program":
		return nil
	}
	return single(l.textPart(body))
}

func formOf(m yaml.Map) string {
	given := slices.DeleteFunc(promptForms(), func(form string) bool { return !m.Has(form) })
	switch len(given) {
	case 0:
		if m.Misspells(promptForms()...) {
			return ""
		}
		m.Errorf("such as `text: \"Answer {{.question}}\"`", "a prompt needs one of text, file, turns, parts and program")
		return ""
	case 1:
		return given[0]
	}
	m.Key(given[1]).Errorf(
		"keep one of them", "a prompt has one of text, file, turns, parts and program; this one has %s", strings.Join(given, " and "),
	)
	return ""
}

func single(parts ...part) []turn { return []turn{{eval.RoleUser, parts}} }

func (l *loader) textPart(n yaml.Node) part { return textInTurn{l.ownBraces(l.template(n))} }

func (l *loader) template(n yaml.Node) source {
	s := source{node: n, text: n.Str()}
	if l.verbatim {
		s.t = expr.Literal(s.text)
	} else {
		s.t = parse(s, l.diags)
	}
	return s
}

// otherVariable matches variables as other tools write them: a name alone in braces.
var otherVariable = pattern(`\$?\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// ownBraces warns of variables of other tools' templates, which are sent as they are written.
func (l *loader) ownBraces(s source) source {
	if l.verbatim {
		return s
	}
	for _, at := range otherVariable().FindAllStringSubmatchIndex(s.text, -1) {
		if strings.HasPrefix(s.text[at[1]:], "}") || at[0] > 0 && s.text[at[0]-1] == '{' {
			continue // of a template
		}
		l.diags.Warnf(
			s.pos(at[0]), fmt.Sprintf("a variable is written {{.%s}}", s.text[at[2]:at[3]]), "`%s` is sent as written", s.text[at[0]:at[1]],
		)
	}
	return s
}

func (l *loader) filePart(n yaml.Node) part { return textInTurn{l.ownBraces(l.fileTemplate(n))} }

// fileTemplate parses the template in the file that a scalar names.
func (l *loader) fileTemplate(n yaml.Node) source {
	name := n.Str()
	text, err := l.files.text(name)
	if err != nil {
		hint := ""
		if strings.ContainsAny(name, "{\n") {
			hint = "this is the name of a file: save the text as one, and write its name here"
		}
		n.Errorf(hint, "%s", err)
		return source{t: nothing(), node: n}
	}
	s := source{node: n, file: l.Shown(name), text: strings.TrimPrefix(string(text), "\ufeff")}
	if i := invalidUTF8(s.text); i >= 0 {
		problem := "the file is not UTF-8"
		if dataset.UTF16(text) != nil {
			problem = "the file is in UTF-16"
		}
		l.diags.Errorf(s.pos(i), "save the file as UTF-8 text", "%s", problem)
		return source{t: nothing(), node: n}
	}
	s.t = parse(s, l.diags)
	return s
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8; -1 when there is none.
func invalidUTF8(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// nothing is an empty template, in place of one that cannot be parsed.
func nothing() *expr.Template { return &expr.Template{} }

func parse(s source, diags *diag.List) *expr.Template { return parseIn(&expr.Dialect{}, s, diags) }

func parseIn(d *expr.Dialect, s source, diags *diag.List) *expr.Template {
	t, err := d.Parse(s.text)
	if err != nil {
		e := expr.AsTemplateError(err)
		hint := ""
		switch e.Slip {
		case expr.SlipNoDot:
			hint = fmt.Sprintf("a variable is written with a dot: {{.%s}}", e.Name)
			if near := diag.Nearest(e.Name, d.Functions, 1); len(near) > 0 {
				hint = fmt.Sprintf("did you mean `{{%s}}`?", near[0])
			}
		case expr.SlipOneBrace:
			hint = "a second } is missing"
		case expr.SlipDelimiter:
			hint = "to write {{ itself: {{\"{{\"}}"
		}
		diags.Errorf(s.pos(e.Offset), hint, "in the template: %s", e.Message)
		return nothing()
	}
	return t
}

func (s source) pos(offset int) diag.Pos {
	if s.file == "" {
		return s.node.Offset(offset)
	}
	before := s.text[:min(offset, len(s.text))]
	lineStart := strings.LastIndexByte(before, '\n') + 1
	return diag.Pos{File: s.file, Line: 1 + strings.Count(before, "\n"), Col: 1 + len([]rune(before[lineStart:]))}
}

func (s source) render(c *Case, diags *diag.List) (string, bool) {
	text, err := s.t.RenderWithin(c.vars, c.budget)
	if err == nil {
		return text, true
	}
	s.report(c, expr.AsTemplateError(err), diags)
	return "", false
}

// value evaluates the template for a case. A single action over a list, a mapping or an element of one keeps its type;
// anything else gives a text.
func (s source) value(c *Case, diags *diag.List) (eval.Value, bool) {
	v, err := s.evaluate(c)
	if err != nil {
		s.report(c, expr.AsTemplateError(err), diags)
		return "", false
	}
	return v, true
}

// evaluate is like value, and returns the problem as a *expr.TemplateError.
func (s source) evaluate(c *Case) (eval.Value, error) {
	v, err := s.t.Value(expr.Data{Vars: c.vars}, c.budget)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string, eval.Array, eval.Object, eval.Number, eval.Null:
		return v, nil
	case bool:
		return eval.Boolean(strconv.FormatBool(v)), nil
	}
	return fmt.Sprint(v), nil
}

func (s source) report(c *Case, e *expr.TemplateError, diags *diag.List) {
	switch {
	case errors.Is(e, expr.ErrBudget): // reported once for the suite
	case e.Missing != "" && !e.Inside:
		c.missing(e.Missing, s.pos(e.Offset), diags)
	default:
		diags.Errorf(s.pos(e.Offset), "", "case `%s`: in the template: %s", c.Name, e.Message)
	}
}

func (c *Case) missing(name string, at diag.Pos, diags *diag.List) {
	if c.vague {
		return
	}
	if c.hides[name] {
		c.hiddenError(name, at, diags)
		return
	}
	if c.row != nil {
		diags.PlacedErrorf(at, diag.DidYouMean(name, names(c.vars)), "%s", c.row.missing(name))
		return
	}
	hint := fmt.Sprintf("set it in `vars` of the case on line %d, or for all cases in `defaults`", c.Pos.Line)
	if near := diag.Nearest(name, names(c.vars), 1); len(near) > 0 {
		hint = fmt.Sprintf("did you mean `%s`, or is the name misspelled in the case on line %d?", near[0], c.Pos.Line)
	}
	diags.Errorf(at, hint, "case `%s` has no variable `%s`", c.Name, name)
}

func names[V any](vars map[string]V) []string { return slices.Sorted(maps.Keys(vars)) }

// render makes the contents for a case, and reports false after a problem. Without load, images are checked but their data
// is not kept; Image.Bytes still has their size.
func (p *Prompt) render(c *Case, files *sourceFiles, diags *diag.List, load bool) ([]eval.Content, bool) {
	out, fine := p.renderAt(c, files, diags, load, resizedBytes)
	if !fine || !p.resizes() || encodedSize(out) <= wire.MaxPromptBytes {
		return out, fine
	}
	var repeated diag.List // receives problems that were reported already
	if smaller, ok := p.renderAt(c, files, &repeated, load, p.share(out)); ok {
		return smaller, true
	}
	return out, true
}

func (p *Prompt) renderAt(c *Case, files *sourceFiles, diags *diag.List, load bool, limit int) ([]eval.Content, bool) {
	if len(p.turns) == 0 {
		return nil, true
	}
	out := make([]eval.Content, 0, len(p.turns))
	fine := true
	for _, t := range p.turns {
		content := eval.Content{Role: t.role, Parts: make([]eval.Part, 0, len(t.parts))}
		for _, one := range t.parts {
			if rendered, ok := one.render(c, files, diags, load, limit); ok {
				content.Parts = append(content.Parts, rendered)
			} else {
				fine = false
			}
		}
		out = append(out, content)
	}
	return out, fine
}

// resizedBytes is the most bytes of a single resized image. It leaves room for some text.
const resizedBytes = (wire.MaxPromptBytes - 64<<10) / 4 * 3

func (p *Prompt) resizes() bool {
	for one := range p.eachPart {
		if image, ok := one.(imageInTurn); ok && image.resize {
			return true
		}
	}
	return false
}

// share divides the room in a request among the images to resize. An image that needs less than its part leaves the rest
// to the others.
func (p *Prompt) share(contents []eval.Content) int {
	room := wire.MaxPromptBytes - encodedSize(contents)
	var sizes []int
	for i, t := range p.turns {
		for j, one := range t.parts {
			if image, ok := one.(imageInTurn); ok && image.resize {
				bytes := contents[i].Parts[j].File().Bytes
				sizes = append(sizes, bytes)
				room += (bytes + 2) / 3 * 4
			}
		}
	}
	slices.Sort(sizes)
	room = max(0, room/4*3-3*len(sizes)) // base64 makes 4 bytes of 3, rounded up for each image
	for i, size := range sizes {
		part := room / (len(sizes) - i)
		if size > part {
			return max(1, part)
		}
		room -= size
	}
	return resizedBytes
}

func (p *Prompt) eachPart(yield func(part) bool) {
	for _, t := range p.turns {
		for _, part := range t.parts {
			if !yield(part) {
				return
			}
		}
	}
}
