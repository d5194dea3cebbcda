package suite

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Judge is a model that rules on answers for scorers. It is not under test.
type Judge struct {
	Name     string
	Model    ConfiguredModel
	Prefers  bool       // has `choose`: compare --choose may use it
	Criteria string     // criteria of `choose`; "" for none
	Own      *ownPrompt // the suite's prompt; nil means the prompt of evalrun

	pos  diag.Pos
	used bool // a scorer uses it
}

// JudgeUse is how a scorer uses a judge.
type JudgeUse struct {
	*Judge
	Bytes int  // size of the prompt, without the answer and the user's last turn
	Turn  bool // the prompt contains the user's last turn
	// Conversation says that the prompt contains the whole conversation.
	Conversation bool
	// Prompt makes the judge's prompt for an answer to a request, in order to show it.
	Prompt func(r *eval.Request, vars eval.Dict, answer string) string
	// EachCandidate and EachTurn say that the judge gets a call for every candidate, or for every turn.
	EachCandidate, EachTurn bool
}

func (l *loader) judges() {
	names := map[string]diag.Pos{}
	for _, root := range l.roots {
		l.loading.misspelled.judges = l.loading.misspelled.judges || root.Misspells("judges")
		l.judgesOf(root.Get("judges"), names)
	}
}

func (l *loader) judgesOf(n yaml.Node, names map[string]diag.Pos) {
	for _, item := range n.Seq() {
		m := item.Map(judgeBlock().Names()...)
		l.loading.misspelled.judges = l.loading.misspelled.judges || m.Misspells("name")
		if !item.IsMapping() {
			continue
		}
		if j := l.judgeOf(m); unique(names, m.Get("name"), "judge") {
			l.Judges = append(l.Judges, j)
		}
	}
	if n.IsSequence() && len(n.Seq()) == 0 {
		n.Errorf("name at least one model, or leave the key out", "there are no judges")
	}
}

func (l *loader) judgeOf(m yaml.Map) *Judge {
	name, model := m.Need("name"), m.Need("model")
	j := &Judge{Name: nameOf(name), Model: *l.configuredModel(m, model, "judge"), pos: name.Pos()}
	j.Own = l.judgePrompt(m)
	if choose := m.Get("choose"); !choose.IsZero() {
		criteria := choose.Map(chooseBlock().Names()...).Get("criteria")
		if j.Prefers, j.Criteria = true, criteria.Str(); !criteria.IsZero() && criteria.IsScalar() && strings.TrimSpace(j.Criteria) == "" {
			criteria.Errorf("say by what answers are chosen, or leave the key out", "the text is empty")
		}
	}
	if model.IsScalar() && j.Model.ID == "svc-pro-vision" && j.Model.Service.speaks() == eval.Generative {
		model.Errorf(
			"such as svc-pro",
			"svc-pro-vision takes prompts with an image, and a judge (`%s`) is given text alone", j.Name,
		)
	}
	return j
}

// sameModel reports whether both judges have the same model and settings. Their prompts may differ.
func (j *Judge) sameModel(like *Judge) bool {
	placeless := func(m ConfiguredModel) ConfiguredModel {
		m.Pos, m.MaxOutputPos = diag.Pos{}, diag.Pos{}
		return m
	}
	return reflect.DeepEqual(placeless(j.Model), placeless(like.Model))
}

// FindPanel finds the judges of a panel. A problem is about the name at index at.
func (s *Suite) FindPanel(names []string) (judges []*Judge, at int, problem, hint string) {
	for i, name := range names {
		j, problem, hint := s.FindJudge(name)
		if problem == "" && j != nil {
			problem, hint = j.unfit(judges)
		}
		if problem != "" {
			return nil, i, problem, hint
		}
		judges = append(judges, j)
	}
	return judges, 0, "", ""
}

// unfit returns the reason why a judge cannot join a panel; "" when it can.
func (j *Judge) unfit(panel []*Judge) (problem, hint string) {
	for _, other := range panel {
		switch {
		case other == j:
			return fmt.Sprintf("the judge `%s` is in the panel twice", j.Name), "`repeats` calls one judge several times"
		case other.sameModel(j) && other.Own.Text() == j.Own.Text():
			return fmt.Sprintf("the judges `%s` and `%s` are the same model with the same settings", other.Name, j.Name),
				"one call would serve for both: give one another model, or use `repeats`"
		case (other.Own == nil) != (j.Own == nil) || j.Own != nil && !slices.Equal(j.Own.Choices, other.Own.Choices):
			return fmt.Sprintf("the judges `%s` and `%s` have different questions", other.Name, j.Name),
				"all judges of a panel have the same question: with `template`, the same `choices`"
		}
	}
	return "", ""
}

// FindJudge returns the judge with a name, or the only judge for "". When there is none, it returns a problem and a hint,
// unless a misspelled key, already reported, hides the judges.
func (s *Suite) FindJudge(name string) (j *Judge, problem, hint string) {
	var judges []*Judge
	if s != nil {
		judges = s.Judges
	}
	if i := slices.IndexFunc(judges, func(j *Judge) bool { return j.Name == name }); i >= 0 { // before the names: suites have thousands
		return judges[i], "", ""
	}
	var names []string
	for _, j := range judges {
		names = append(names, j.Name)
	}
	switch {
	case s != nil && s.loading != nil && s.loading.misspelled.judges:
		return nil, "", ""
	case len(names) == 0:
		return nil, "there is no judge to ask", "add to the suite: `judges: [{name: judge, model: svc-pro}]`"
	case name == "" && len(names) == 1:
		return judges[0], "", ""
	case name == "":
		return nil, fmt.Sprintf(
			"the suite has %d judges, and the scorer names none", len(names),
		), "name one by `judge`: " + strings.Join(names, ", ")
	}
	return nil, fmt.Sprintf("there is no judge `%s`", name), diag.DidYouMean(name, names)
}

// CalledJudges returns the judges that scorers of the suite use.
func (s *Suite) CalledJudges() []*Judge {
	return slices.DeleteFunc(slices.Clone(s.Judges), func(j *Judge) bool { return !j.used })
}

func (l *loader) checkJudges() {
	if l.diags.HasErrors() || l.unwritten.Lists > 0 {
		return
	}
	for _, j := range l.Judges {
		if !j.used && !j.Prefers {
			l.diags.Warnf(j.pos, "name it by `judge` of a scorer, or remove it", "no scorer uses the judge `%s`", j.Name)
		}
	}
}

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
