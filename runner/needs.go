package runner

import (
	"slices"
	"strconv"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// OutputLimit is the longest output in tokens that the trial may get, 0 when it is not
// known.
func (t *Planned) OutputLimit() int {
	limit := 0
	if t.Metadata != nil {
		limit = t.Metadata.OutputTokenLimit
	}
	if p, ok := wire.Named(t.Request.Protocol); ok && p.MaxOutput > 0 {
		limit = p.MaxOutput
	}
	if c := t.Request.GenerationConfig; c != nil && c.MaxOutputTokens != nil {
		limit = *c.MaxOutputTokens
	}
	return limit * t.candidates()
}

// candidates is how many answers a call requests.
func (t *Planned) candidates() int {
	if c := t.Request.GenerationConfig; c != nil {
		if n, err := strconv.Atoi(string(c.Extra["candidateCount"])); err == nil && n > 1 {
			return n
		}
	}
	return 1
}

// InputLimit is the longest prompt in tokens that the model takes, 0 when it is not known.
func (t *Planned) InputLimit() int {
	if t.Metadata == nil {
		return 0
	}
	return t.Metadata.InputTokenLimit
}

// References are the texts with whose embeddings the answer is compared.
func (t *Planned) References() []string {
	var out []string
	for _, s := range t.scorers {
		out = append(out, s.Needs().References...)
	}
	return out
}

// Judges are the judges of the answer, one for each call.
func (t *Planned) Judges() []suite.JudgeUse {
	var out []suite.JudgeUse
	for _, s := range t.scorers {
		out = append(out, s.Needs().Judges...)
	}
	return out
}

// ModelRef names a model of a service; "" is the unnamed one.
type ModelRef struct{ Service, Model string }

// Models returns what the trial calls: the model under test, judges, and the one for embeddings.
func (t *Planned) Models() []ModelRef {
	var out []ModelRef
	if t.to == nil {
		out = append(out, ModelRef{t.Request.Service, t.Request.Model})
	}
	for _, j := range t.Judges() {
		out = append(out, refOf(&j.Model))
	}
	if len(t.References()) > 0 {
		out = append(out, ModelRef{t.Embedding.Service, t.Embedding.Model})
	}
	return out
}

// CalledModels are the models that the plan calls, each once: those under test, unless only judges are called, judges,
// and those for embeddings.
func (p *Plan) CalledModels(underTest bool) []ModelRef {
	var out []ModelRef
	add := func(ref ModelRef) {
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	for _, t := range p.targets() {
		if m := t.Model(); m != nil && underTest {
			add(refOf(m))
		}
	}
	for _, s := range p.Suites {
		if !p.hasTrials(s) {
			continue
		}
		for _, version := range s.Versions() {
			for _, j := range version.CalledJudges() {
				add(refOf(&j.Model))
			}
			if version.Embeds() {
				name, _ := version.Embedding.Service.Identity()
				add(ModelRef{name, version.Embedding.Model})
			}
		}
	}
	return out
}

func refOf(m *suite.ConfiguredModel) ModelRef {
	name, _ := m.Service.Identity()
	return ModelRef{name, m.ID}
}

// ComparesSnapshots reports whether a scorer of the trial compares the answer with one that was accepted.
func (t *Planned) ComparesSnapshots() bool {
	return slices.ContainsFunc(t.scorers, func(s *scorers.Compiled) bool { return len(s.Needs().Snapshots) > 0 })
}

// SnapshotChecks are the parts of a recorded answer that snapshot scorers compare.
func (t *Planned) SnapshotChecks(earlier *eval.Result) ([]scorers.SnapshotCheck, error) {
	a := &scoring{trial: t, result: eval.Result{Trial: t.Trial}}
	a.recorded(earlier)
	for _, s := range t.scorers {
		if len(s.Needs().Snapshots) == 0 {
			continue
		}
		if _, err := s.Score(&a.answer); err != nil {
			return nil, err
		}
	}
	return a.answer.Context.SnapshotChecks, nil
}
