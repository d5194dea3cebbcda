package scorers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

// passMark is the value from which on an answer passes.
func (a args) passMark(m yaml.Map) float64 {
	switch {
	case m.Has("min") && a.Threshold != nil:
		m.Key("min").Errorf("keep one of them", "`min` and `threshold` are two rules for one score")
	case m.Has("min"):
		return m.Get("min").Float(0, 1)
	case a.Threshold != nil:
		return *a.Threshold
	}
	return passMark
}

// readQuestion reads the question to the judges: one of evalrun's, or that of the judges' templates.
func (j *judgeScorer) readQuestion(a args, m yaml.Map) (ok bool) {
	conversation := m.Get("sees").Word("answer", "conversation") == "conversation"
	if len(j.judges) == 0 && len(formsIn(m)) == 0 { // the missing judge may have had a template
		return false
	}
	if len(j.judges) == 0 || j.judges[0].Own == nil {
		j.questionForm, ok = readForm(m)
		if j.trajectory && m.Has("sees") && !conversation {
			m.Key("sees").Errorf("remove it", "`goal` is judged by all that was done")
		}
		j.conversation = j.conversation || conversation
		return ok
	}
	j.questionForm, ok = a.ownForm(m, j.judges)
	j.conversation = conversation
	return ok && j.ownConversation(m)
}

func (j *judgeScorer) need(needs *needs) {
	for _, judge := range j.judges {
		use := suite.JudgeUse{
			Judge: judge,
			Bytes: len(j.text(append(slices.Clone(j.parts), fencedText{"question", deref(j.question)}, fencedText{"answer", ""}), 1)),
			Turn:  j.question == nil, Conversation: j.conversation,
			Prompt: func(r *eval.Request, vars eval.Dict, answer string) string {
				return j.preview(judge, r, vars, answer)
			},
		}
		for range j.repeats {
			needs.Judges = append(needs.Judges, use)
		}
	}
}

// preview is the prompt to a judge about an answer, "" when it cannot be built.
func (j *judgeScorer) preview(judge *suite.Judge, r *eval.Request, vars eval.Dict, answer string) string {
	p, problem := j.pose(&Answer{
		Response: &eval.Response{}, Candidate: &eval.Candidate{Text: answer}, Request: r,
		Vars: vars,
	}, judge)
	if problem != "" {
		return ""
	}
	return eval.TextOf(p.contents[0].Parts[0])
}

// judges are the judges that a scorer names: one, or a panel.
func (a args) judges(m yaml.Map) []*suite.Judge {
	named, panel := m.Get("judge"), m.Get("panel")
	if panel.IsZero() {
		if j := a.judge(named); j != nil {
			return []*suite.Judge{j}
		}
		return nil
	}
	if !named.IsZero() {
		m.Key("panel").Errorf("keep one of them", "`judge` names one judge and `panel` several")
		return nil
	}
	names := panel.Strings()
	if !panel.IsSequence() || len(names) < 2 {
		panel.Errorf("such as [strict, kind, third]; one alone is named by `judge`",
			"a panel is a list of at least two judges")
		return nil
	}
	judges, at, problem, hint := a.Suite.FindPanel(names)
	if problem != "" {
		panel.Items()[at].Errorf(hint, "%s", problem)
	}
	return judges
}

// judge is the single judge that a scorer names.
func (a args) judge(n yaml.Node) *suite.Judge {
	j, problem, hint := a.Suite.FindJudge(n.Str())
	if problem == "" {
		return j
	}
	if n.IsZero() || a.Suite == nil || len(a.Suite.Judges) == 0 {
		n = a.Args
	}
	n.Errorf(hint, "%s", problem)
	return nil
}

// warnOfRepeats warns that a judge at temperature 0 mostly repeats itself.
func (j *judgeScorer) warnOfRepeats(m yaml.Map) {
	if j.repeats < 2 {
		return
	}
	for _, judge := range j.judges {
		if g := judge.Model.GenerationConfig; g == nil || g.Temperature == nil {
			m.Key("repeats").Warnf(
				"set `generationConfig: {temperature: 0.8}` of the judge",
				"the judge `%s` judges %d times at temperature 0, the default of judges",
				judge.Name, j.repeats,
			)
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func readForm(m yaml.Map) (f questionForm, ok bool) {
	if m.Has("with") {
		m.Key("with").Errorf("set `template: FILE` of the judge", "`with` is for a judge with its own template")
		return f, false
	}
	given := formsIn(m)
	if len(given) == 0 && m.Misspells(formNames()...) {
		return f, false
	}
	if len(given) != 1 {
		found := "nothing of that"
		if len(given) > 1 {
			found = strings.Join(given, " and ")
		}
		m.Errorf("one scorer for each; `all:` joins several", "`judge` takes one of %s; found %s",
			strings.Join(formNames(), ", "), found)
		return f, false
	}
	f = forms()[given[0]]
	read := fillIn{questionForm: &f, at: m.Get(given[0]), ok: true}
	read.arguments(given[0])
	read.scale(m)
	return f, read.ok
}

// formsIn are the questions that a mapping names.
func formsIn(m yaml.Map) (given []string) {
	for _, name := range formNames() {
		if m.Has(name) {
			given = append(given, name)
		}
	}
	return given
}

type fillIn struct {
	*questionForm
	at yaml.Node
	ok bool
}

// arguments reads the value under the form's name.
func (r *fillIn) arguments(name string) {
	if isText(name) {
		r.part(name, r.at)
		return
	}
	m := r.at.Map(r.keys().Names()...)
	if r.ok = r.at.IsMapping(); !r.ok {
		return
	}
	if q := m.Get("question"); !q.IsZero() {
		r.question = new(r.text(q))
	}
	r.given(name, m)
	if v := m.Get("similarity"); !v.IsZero() {
		r.similarity = v.Float(0, 1)
	}
	// without a reference, contexts are judged by how they support the answer
	tally, _ := r.reply.(tallyReply)
	r.noAnswer = r.noAnswer || tally.eachOne && m.Has("reference")
	r.values(m.Get("values"))
}

func (r *fillIn) given(name string, m yaml.Map) {
	found := false
	for _, key := range slices.Concat(r.needs, r.also) {
		if v := m.Get(key); !v.IsZero() {
			r.texts(key, v)
			found = found || slices.Contains(r.needs, key)
		}
	}
	if len(r.needs) > 0 && !found {
		r.at.Errorf("", "`%s` needs `%s`", name, strings.Join(r.needs, "` or `"))
		r.ok = false
	}
}

// texts reads one text, or several if the key allows it.
func (r *fillIn) texts(name string, n yaml.Node) {
	if !slices.Contains(r.lists, name) {
		r.part(name, n)
		return
	}
	items := n.Items()
	if len(items) == 0 {
		n.Errorf("such as the passages that the answer may use", "`%s` needs at least one text", name)
		r.ok = false
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = r.text(item)
	}
	if name == contextPart {
		r.parts = append(r.parts, numbered(name, texts)...)
		return
	}
	for i := range texts { // numbered evaluation steps
		texts[i] = strconv.Itoa(i+1) + ". " + texts[i]
	}
	r.parts = append(r.parts, fencedText{name, strings.Join(texts, "\n")})
}

func (r *fillIn) part(name string, n yaml.Node) {
	r.parts = append(r.parts, fencedText{name, r.text(n)})
}

// text reads a non-empty text. Lists and mappings become JSON.
func (r *fillIn) text(n yaml.Node) string {
	if printed, ok := n.Printed(); ok {
		return printed
	}
	s := textOf(n)
	if n.IsScalar() && !n.IsNull() && strings.TrimSpace(s) == "" {
		n.Errorf("write what the judge shall look for", "the text is empty")
	}
	r.ok = r.ok && s != ""
	return s
}

func (r *fillIn) values(n yaml.Node) {
	words, choices := r.worth(), r.choices()
	for e := range n.Map(words.Names()...).Entries() {
		if i := slices.Index(words.Names(), e.Name()); i >= 0 {
			choices[i].value = e.Value.Float(0, 1)
		}
	}
}

func (r *fillIn) scale(m yaml.Map) {
	n := m.Get("scale")
	if n.IsZero() {
		return
	}
	ends := n.Seq()
	switch reply := r.reply.(type) {
	case choiceReply:
		m.Key("scale").Errorf("remove `scale`", "a scale is for numbers, and this is judged by a choice")
	case tallyReply:
		m.Key("scale").Errorf("remove `scale`", "a scale is for numbers of the judge, and this one evalrun counts")
	case scoreReply:
		if len(ends) != 2 {
			n.Errorf("such as [1, 5]", "`scale` takes the least and the largest number")
			break
		}
		reply.low, reply.high = ends[0].Float(-maxScale, maxScale), ends[1].Float(-maxScale, maxScale)
		if r.reply = reply; reply.low < reply.high {
			return
		}
		n.Errorf("such as [1, 5]", "the least number of a scale comes first, and the two differ")
	}
	r.ok = false
}

const maxScale = 1e6
