package suite

import (
	"errors"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// ownPrompt is the suite's own prompt for a judge, with the suite's own labels.
type ownPrompt struct {
	Choices []ownChoice // empty when the judge replies with a number

	source source
}

// ownChoice is a word that a judge may choose, and its value from 0 to 1.
type ownChoice struct {
	Word  string
	Value float64
}

const maxJudgeChoices = 100

func (l *loader) judgePrompt(m yaml.Map) *ownPrompt {
	file := m.Get("template")
	if file.IsZero() {
		if m.Has("choices") {
			m.Key("choices").Errorf("add `template: FILE`, a prompt that says what the choices mean",
				"`choices` needs a `template`")
		}
		return nil
	}
	before := l.diags.Len()
	p := &ownPrompt{source: l.judgeTemplate(file), Choices: judgeChoices(m.Get("choices"))}
	if l.diags.Len() == before {
		l.checkJudgePrompt(p, file)
	}
	return p
}

// judgeTemplate reads the file as a template that fences data.
func (l *loader) judgeTemplate(n yaml.Node) source {
	s := l.fileTemplate(n)
	if s.text == "" {
		return s
	}
	var reported diag.List // which fileTemplate did
	s.t = parseIn(fencing(func(_, text string) string { return text }), s, &reported)
	return s
}

func fencing(fence func(name, text string) string) *expr.Dialect { return &expr.Dialect{Fence: fence} }

func (l *loader) checkJudgePrompt(p *ownPrompt, file yaml.Node) {
	s := &p.source
	switch i := strings.IndexByte(s.text, 0); {
	case i >= 0:
		l.diags.Errorf(s.pos(i), "save the file as text", "the template has a NUL character")
	case s.t.UsesAll():
		at := s.pos(max(0, strings.Index(s.text, "{{")))
		l.diags.Errorf(at, "name the variables, such as {{.answer}}", "the template takes all variables at once")
	case !slices.Contains(p.Names(), yaml.JudgeAnswer):
		file.Errorf("write {{.answer}} where the answer belongs", "the template %s does not show the judge the answer",
			s.file)
	}
}

// judgeChoices reads words with their values. It reports words that differ only in case, since replies are compared without
// case.
func judgeChoices(n yaml.Node) []ownChoice {
	if n.IsZero() {
		return nil
	}
	var out []ownChoice
	var places []diag.Pos // of the words
	m := n.Map()
	for e := range m.Entries() {
		word := e.Name()
		same := slices.IndexFunc(out, func(c ownChoice) bool { return strings.EqualFold(c.Word, word) })
		switch {
		case strings.TrimSpace(word) != word || word == "" || strings.ContainsAny(word, "\r\n"):
			e.Key.Errorf("one line without white space around it", "%q is not a word to choose", word)
		case same >= 0:
			first := places[same].SeenFrom(e.Key.Pos())
			e.Key.Errorf("case does not matter in a reply", "duplicate choice `%s`, first %s", word, first)
		default:
			places = append(places, e.Key.Pos())
			out = append(out, ownChoice{word, e.Value.Float(0, 1)})
		}
	}
	if n.IsMapping() && (m.Len() < 2 || m.Len() > maxJudgeChoices) {
		n.Errorf("such as {A: 1, B: 0.5, C: 0}", "`choices` takes from 2 to %d words", maxJudgeChoices)
	}
	return out
}

// Text returns the template as written; "" without one.
func (p *ownPrompt) Text() string {
	if p == nil {
		return ""
	}
	return p.source.text
}

// Names returns the variables that the template uses, each once.
func (p *ownPrompt) Names() []string {
	var out []string
	for _, f := range p.source.t.Fields() {
		if !slices.Contains(out, f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

// Uses returns the variables of the case that the template uses, with their positions. It leaves out the given names.
func (p *ownPrompt) Uses(given []string) []VariableUse {
	own := append([]string{yaml.JudgeAnswer, yaml.JudgeQuestion, yaml.JudgeConversation}, given...)
	var out []VariableUse
	for _, f := range p.source.t.Fields() {
		if !slices.Contains(own, f.Name) {
			out = append(out, VariableUse{Name: f.Name, Pos: p.source.pos(f.Offset), Known: own})
		}
	}
	return out
}

// Render renders the template. fence wraps the data of each variable, given its name. The error is worded for users.
func (p *ownPrompt) Render(vars eval.Dict, fence func(name, text string) string) (string, error) {
	t, err := fencing(fence).Parse(p.source.text)
	if err != nil {
		return "", err
	}
	text, err := t.Render(vars)
	var e *expr.TemplateError
	if errors.As(err, &e) {
		return "", errors.New(p.source.pos(e.Offset).String() + ": " + e.Message)
	}
	return text, err
}
