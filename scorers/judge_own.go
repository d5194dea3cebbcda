package scorers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

// givenOwn precedes a template of the suite.
const givenOwn = "You are a judge. " + givenAnswer + " The rest of this text says how.\n\n"

// ownForm is the form of judges with templates: the scorer's inputs and the suite's labels.
func (a args) ownForm(m yaml.Map, judges []*suite.Judge) (f questionForm, ok bool) {
	f.own = true
	if given := formsIn(m); len(given) > 0 {
		m.Key(given[0]).Errorf(
			"leave it out; `with` gives texts to the template",
			"the judge `%s` has its own template, and takes no `%s`", judges[0].Name,
			given[0],
		)
		return f, false
	}
	f.reply = ownReply(judges[0])
	read := fillIn{questionForm: &f, at: m.Get("with"), ok: true}
	read.scale(m)
	var names []string
	for e := range m.Get("with").Map().Entries() {
		names = append(names, e.Name())
		read.with(e, judges)
	}
	for _, j := range judges {
		a.needs.Variables = append(a.needs.Variables, j.Own.Uses(names)...)
	}
	return f, read.ok
}

// ownReply is a number, or one of the words that the judge of a template can choose.
func ownReply(j *suite.Judge) replyForm {
	if len(j.Own.Choices) == 0 {
		return scoreReply{low: 0, high: 1, verdict: true}
	}
	var words choiceReply
	for _, c := range j.Own.Choices {
		words = append(words, judgeWord{word: c.Word, value: c.Value})
	}
	return words
}

// with reads an input of the judges' templates.
func (r *fillIn) with(e yaml.Entry, judges []*suite.Judge) {
	var known []string
	for _, j := range judges {
		known = append(known, j.Own.Names()...)
	}
	switch name := e.Name(); {
	case name == yaml.JudgeAnswer || name == yaml.JudgeConversation:
		e.Key.Errorf("choose another name, in the template too", "`%s` is what the judge judges, and is not given", name)
	case len(known) == 0: // the broken template was already reported
	case !slices.Contains(known, name):
		e.Key.Errorf("use it there, or remove it here", "the template of the judge `%s` does not use `%s`", judges[0].Name, name)
	case name == yaml.JudgeQuestion:
		r.question = new(r.text(e.Value))
		return
	default:
		r.part(name, e.Value)
		return
	}
	r.ok = false
}

func (j *judgeScorer) ownConversation(m yaml.Map) bool {
	for _, one := range j.judges {
		if names := slices.Contains(one.Own.Names(), yaml.JudgeConversation); names != j.conversation {
			at := m.Node
			if m.Has("sees") {
				at = m.Key("sees")
			}
			at.Errorf(
				"`sees: conversation` and {{.conversation}} belong together",
				"the template of the judge `%s` %s the conversation, and the scorer %s it", one.Name,
				map[bool]string{true: "shows", false: "does not show"}[names],
				map[bool]string{true: "gives", false: "does not give"}[j.conversation],
			)
			return false
		}
	}
	return true
}

// ownText renders a judge's template. Data is inside fences, as in evalrun's own prompts.
func (f *questionForm) ownText(a *Answer, j *suite.Judge) (text, problem string) {
	vars := eval.Dict{}
	maps.Copy(vars, a.Vars)
	for _, p := range f.parts {
		vars[p.name] = p.text
	}
	vars[yaml.JudgeAnswer], vars[yaml.JudgeQuestion], vars[yaml.JudgeConversation] = a.Candidate.Text, f.questionFor(a),
		"shown"
	var fences [][]fencedText
	text, err := j.Own.Render(vars, func(name, text string) string {
		fence := []fencedText{{name, text}}
		switch name {
		case yaml.JudgeConversation:
			fence = conversationParts(a)
		case "":
			fence[0].name = "text"
		}
		fences = append(fences, fence)
		return "\x00" + strconv.Itoa(len(fences)-1) + "\x00"
	})
	if err != nil {
		return "", fmt.Sprintf("the prompt of the judge %s cannot be made: %s", j.Name, cutText(err.Error()))
	}
	all := slices.Concat(fences...)
	if tooLong(all) {
		return "", "the answer is too long for a judge"
	}
	code := fenceCode(all)
	return givenOwn + guard(code, "any of them", "A text") + "\n" + strings.TrimRight(insert(text, fences, code), "\n") +
		"\n\n" + f.how(0), ""
}

// insert replaces marks in a template by fences, each on its own lines. The template itself contains no mark:
// suites must not contain NUL.
func insert(text string, fences [][]fencedText, code string) string {
	var out strings.Builder
	begun := true // at the start of a line
	for i, piece := range strings.Split(text, "\x00") {
		if i%2 == 1 {
			n, _ := strconv.Atoi(piece)
			piece = fencedAll(fences[n], code)
		}
		if piece == "" { // between two fences, or an empty conversation
			continue
		}
		if i > 0 && !begun && !strings.HasPrefix(piece, "\n") {
			out.WriteByte('\n')
		}
		out.WriteString(piece)
		begun = strings.HasSuffix(piece, "\n")
	}
	return out.String()
}

func fencedAll(parts []fencedText, code string) string {
	all := make([]string, len(parts))
	for i, p := range parts {
		all[i] = p.fenced(code)
	}
	return strings.Join(all, "\n\n")
}

func (f *questionForm) reference() string {
	return f.parts[slices.IndexFunc(f.parts, func(p fencedText) bool { return p.name == "reference" })].text
}

// cosineOf is the cosine of answer and reference, nil when it does not count. lost says why it is missing, for now
// or for good.
func (f *questionForm) cosineOf(a *Answer) (alike *float64, lost *Finding) {
	if f.similarity == 0 {
		return nil, nil
	}
	vectors := &a.Context.Vectors
	got, want := vectors.of(a.Candidate.Text), vectors.of(f.reference())
	if got == nil || want == nil {
		return nil, new(vectors.missing())
	}
	c, ok := cosine(got, want)
	if !ok {
		return nil, new(Unscored(
			"the embeddings of the answer and the reference cannot be compared: one of them is zero, or they differ in length",
		))
	}
	return &c, nil
}
