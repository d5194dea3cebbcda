package suite

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
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
	if model.IsScalar() && j.Model.ID == "svc-pro-vision" && j.Model.Service.Speaks() == eval.Generative {
		model.Errorf(
			"such as svc-pro",
			"svc-pro-vision takes prompts with an image, and a judge (`%s`) is given text alone", j.Name,
		)
	}
	return j
}

// SameModel reports whether both judges have the same model and settings. Their prompts may differ.
func (j *Judge) SameModel(like *Judge) bool {
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

// FindJudge returns the judge with a name, or the only judge for "". When there is none, it returns a problem and a hint,
// unless a misspelled key, already reported, hides the judges.
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
	if l.diags.HasErrors() {
		return
	}
	for _, j := range l.Judges {
		if !j.used && !j.Prefers {
			l.diags.Warnf(j.pos, "name it by `judge` of a scorer, or remove it", "no scorer uses the judge `%s`", j.Name)
		}
	}
}
