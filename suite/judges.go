package suite

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/yamlnode"
	"github.com/evalrun/evalrun/variable"
)

// Judge is a model that gives verdicts on answers for scorers. It is not under test.
type Judge struct {
	Name             string
	Model            string
	APIVersion       string // "" for the run's
	GenerationConfig *eval.GenerationConfig
	SafetySettings   []eval.SafetySetting
	Extra            eval.Extra    // fields at the top level of its requests
	Service          *NamedService // nil: the unnamed one
	ModelPos         diag.Pos
	MaxOutputPos     diag.Pos   // of maxOutputTokens, when given
	Chooses          bool       // it is meant to choose between answers that are compared
	Criteria         string     // by which it does; "" for none in particular
	Own              *ownPrompt // nil: evalrun writes the prompt

	pos  diag.Pos
	used bool // by a scorer
}

// JudgeUse is how a scorer uses a judge.
type JudgeUse struct {
	*Judge
	Bytes int  // of its prompt, without the answer and the last turn of the user
	Turn  bool // its prompt has that turn too
	// Conversation says that it is shown all of the conversation.
	Conversation bool
	// Prompt is what the judge is sent about an answer to a request, for a look at it.
	Prompt func(r *eval.Request, vars variable.Dict, answer string) string
	// EachCandidate and EachTurn say that every one is an answer to be judged.
	EachCandidate, EachTurn bool
}

// judges reads the judges of all files.
func (l *loader) judges() {
	names := map[string]diag.Pos{}
	for _, root := range l.roots {
		l.misspelled.judges = l.misspelled.judges || root.Misspells("judges")
		l.judgesOf(root.Get("judges"), names)
	}
}

func (l *loader) judgesOf(n yamlnode.Node, names map[string]diag.Pos) {
	for _, item := range n.Seq() {
		m := item.Map(judgeBlock().Names()...)
		l.misspelled.judges = l.misspelled.judges || m.Misspells("name")
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

func (l *loader) judgeOf(m yamlnode.Map) *Judge {
	name, model := m.Need("name"), m.Need("model")
	j := &Judge{
		Name: nameOf(name), Model: model.Str(), APIVersion: apiVersion(m.Get("apiVersion")),
		GenerationConfig: l.generationConfig(m.Get("generationConfig")), SafetySettings: safetySettings(m.Get("safetySettings")),
		ModelPos: model.Pos(), pos: name.Pos(), Service: l.serviceOf(m.Get("service")),
	}
	if config := m.Get("generationConfig"); config.IsMapping() {
		j.MaxOutputPos = config.Map().Get("maxOutputTokens").Pos()
	}
	j.Own = l.judgePrompt(m)
	if choose := m.Get("choose"); !choose.IsZero() {
		criteria := choose.Map(chooseBlock().Names()...).Get("criteria")
		if j.Chooses, j.Criteria = true, criteria.Str(); !criteria.IsZero() && criteria.IsScalar() && strings.TrimSpace(j.Criteria) == "" {
			criteria.Errorf("say by what answers are chosen, or leave the key out", "the text is empty")
		}
	}
	checkModel(model, j.Service)
	l.checkVersion(m, j.Service)
	j.Extra = extraFields(m.Get("extra"), "judge", j.Service)
	checkWords(m, j.Service, j.GenerationConfig, j.SafetySettings)
	if model.IsScalar() && j.Model == "svc-pro-vision" && j.Service.Speaks() == service.Generative {
		model.Errorf("such as svc-pro", "svc-pro-vision takes prompts with an image, and a judge (`%s`) is given text alone", j.Name)
	}
	return j
}

// SameModel reports whether both judges have the same model and settings. Their prompts may differ.
func (j *Judge) SameModel(like *Judge) bool {
	plain := func(j *Judge) Judge {
		one := *j
		one.Name = ""
		one.ModelPos = diag.Pos{}
		one.MaxOutputPos = diag.Pos{}
		one.pos = diag.Pos{}
		one.Chooses = false
		one.Criteria = ""
		one.Own = nil
		one.used = false
		return one
	}
	return reflect.DeepEqual(plain(j), plain(like))
}

// FindPanel finds the judges that a scorer names together. The problem is of the name at a place.
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

// unfit says why a judge cannot join a panel, "" when it can.
func (j *Judge) unfit(panel []*Judge) (problem, hint string) {
	for _, other := range panel {
		switch {
		case other == j:
			return fmt.Sprintf("the judge `%s` is in the panel twice", j.Name), "`repeats` calls one judge several times"
		case other.SameModel(j) && other.Own.Text() == j.Own.Text():
			return fmt.Sprintf("the judges `%s` and `%s` are the same model with the same settings", other.Name, j.Name),
				"one call would serve for both: give one another model, or use `repeats`"
		case (other.Own == nil) != (j.Own == nil) || j.Own != nil && !slices.Equal(j.Own.Choices, other.Own.Choices):
			return fmt.Sprintf("the judges `%s` and `%s` have different questions", other.Name, j.Name),
				"all judges of a panel have the same question: with `template`, the same `choices`"
		}
	}
	return "", ""
}

// FindJudge is the judge of a name, or the only one for "". Without a judge there is a problem, and a hint. There is neither a judge
// nor a problem where a key of the judges is misspelled, which was reported.
func (s *Suite) FindJudge(name string) (j *Judge, problem, hint string) {
	var judges []*Judge
	if s != nil {
		judges = s.Judges
	}
	var names []string
	for _, j := range judges {
		names = append(names, j.Name)
	}
	switch i := slices.Index(names, name); {
	case i >= 0:
		return judges[i], "", ""
	case s != nil && s.misspelled.judges:
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

// CalledJudges are the judges that scorers of the suite use.
func (s *Suite) CalledJudges() []*Judge {
	return slices.DeleteFunc(slices.Clone(s.Judges), func(j *Judge) bool { return !j.used })
}

// checkJudges warns of judges that are not used.
func (l *loader) checkJudges() {
	if l.diags.HasErrors() {
		return
	}
	for _, j := range l.Judges {
		if !j.used && !j.Chooses {
			l.diags.Warnf(j.pos, "", "no scorer uses the judge `%s`", j.Name)
		}
	}
}
