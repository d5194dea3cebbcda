package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/suite"
)

// modelKey names a model, or an application: two services, and two versions of the interface, may know two models by
// one name.
type modelKey struct {
	service, apiVersion, id string

	protocol eval.ProtocolName // that the service speaks
	app      suite.Application
}

func (p *Plan) keyOf(of *suite.NamedService, apiVersion, id string) modelKey {
	if of == nil {
		return modelKey{apiVersion: cmp.Or(apiVersion, p.APIVersion), id: id, protocol: eval.Generative}
	}
	key := modelKey{service: of.Name, id: id, protocol: of.Protocol}
	if of.HasVersions() {
		key.apiVersion = cmp.Or(apiVersion, wire.APIVersions[0])
	}
	return key
}

func (p *Plan) configuredKey(m *suite.ConfiguredModel) modelKey {
	return p.keyOf(m.Service, m.APIVersion, m.ID)
}

// named returns the specification's description of the model, nil if it has none.
func (k modelKey) named() *eval.Model {
	if k.app != nil || k.protocol != eval.Generative {
		return nil
	}
	return wire.NamedModel(k.id)
}

// served is Served of the model's service.
func (k modelKey) served() string { return Served(k.service) }

// Served is the name of a service in messages; "" is the unnamed service.
func Served(name string) string {
	if name == "" {
		return "the service"
	}
	return "the service `" + name + "`"
}

func (p *Plan) key(t *suite.Target) modelKey {
	if m := t.Model(); m != nil {
		return p.configuredKey(m)
	}
	return modelKey{app: t.App()}
}

func (p *Plan) targets() []*suite.Target {
	var out []*suite.Target
	for _, a := range p.arms {
		if !slices.Contains(out, a.Target) {
			out = append(out, a.Target)
		}
	}
	return out
}

// Targets are the targets of the plan, for the head of a run file.
func (p *Plan) Targets() []eval.RunTarget {
	var out []eval.RunTarget
	for _, t := range p.targets() {
		i := slices.IndexFunc(p.arms, func(a PlannedArm) bool { return a.Target == t })
		one := eval.RunTarget{Suite: p.arms[i].Suite, Name: t.Name, Stream: t.Stream}
		if m := t.Model(); m != nil {
			key := p.configuredKey(m)
			one.Service, one.Model, one.APIVersion = key.service, m.ID, key.apiVersion
			one.GenerationConfig, one.SafetySettings = m.GenerationConfig, m.SafetySettings
		} else {
			one.App = t.App().String()
		}
		out = append(out, one)
	}
	return out
}

type modelCheck struct {
	*Plan
	source ModelSource
	diags  *diag.List
	notice func(string)
}

// CheckModels requests the metadata of every model in the plan and checks the suites against
// it: problems go to diags. The error is an *eval.Error: the service refused
// or could not be reached. Where metadata cannot be had for another reason, the limits
// of the specification are taken, and notice reports it.
func (p *Plan) CheckModels(ctx context.Context, source ModelSource, diags *diag.List, notice func(string)) error {
	c := modelCheck{p, source, diags, notice}
	for _, t := range p.targets() {
		m := t.Model()
		if m == nil {
			continue
		}
		if err := c.generating(ctx, m, fmt.Sprintf("target `%s`", t.Name)); err != nil {
			return err
		}
	}
	for _, s := range p.Suites {
		if !p.hasTrials(s) {
			continue
		}
		for _, version := range s.Versions() {
			if err := c.helpers(ctx, version); err != nil {
				return err
			}
		}
	}
	return nil
}

// helpers checks the models that judge and embed the answers of a suite.
func (c *modelCheck) helpers(ctx context.Context, s *suite.Suite) error {
	for _, j := range s.CalledJudges() {
		if err := c.judge(ctx, j); err != nil {
			return err
		}
	}
	if s.Embeds() {
		return c.embedding(ctx, s)
	}
	return nil
}

func (p *Plan) hasTrials(s *suite.Suite) bool {
	return slices.ContainsFunc(p.arms, func(a PlannedArm) bool { return a.Suite == s.Name })
}

// ask gets the metadata of a model, once; nil when there is none, or none worth checking against. A
// model that the service does not have, or that lacks the method for which it is named, is a
// problem at pos.
func (c *modelCheck) ask(ctx context.Context, key modelKey, pos diag.Pos, where, method string) (*eval.Model, error) {
	m, known := c.models[key]
	if !known {
		var err error
		source := c.sourceOf(key.service)
		m, err = source.Model(ctx, key.apiVersion, key.id)
		if e := eval.AsError(err); e != nil && e.NotFound() {
			missing := Missing(ctx, source, ModelUse{key.apiVersion, key.id, method}, e)
			switch {
			case missing.Listed != nil:
				m, err = missing.Listed, nil
			case missing.Unlisted:
			case key.service != "" && !missing.Named: // by a server that describes no single model
				err = nil
				c.notice(strings.TrimSuffix(fmt.Sprintf("%s does not list the model `%s` (%s); %s", key.served(), key.id, where, missing.Hint), "; "))
			default:
				c.diags.Errorf(pos, missing.Hint, "%s has no model `%s` (%s)%s", key.served(), key.id, where, missing.Words())
				return nil, nil
			}
		}
		if err != nil {
			if m, err = c.specified(key, eval.AsError(err)); err != nil {
				return nil, err
			}
		}
		c.keep(key, m)
	}
	if m != nil && !m.Supports(method) {
		c.diags.Errorf(
			pos, fmt.Sprintf("it supports %v", m.SupportedGenerationMethods), "the model `%s` (%s) does not support %s", key.id,
			where, method,
		)
	}
	return m, nil
}

func (c *modelCheck) sourceOf(name string) ModelSource {
	if all, ok := c.source.(ModelSources); ok && name != "" {
		return all.Of(name)
	}
	return c.source
}

// specified returns the specification's description of a model without metadata, or e if there is none.
func (c *modelCheck) specified(key modelKey, e *eval.Error) (*eval.Model, error) {
	id := key.id
	switch {
	case e.NotFound():
		c.notice(fmt.Sprintf(
			"%s reports no metadata of models; limits of %s are those of the specification, if it names the model", key.served(),
			id,
		))
	case e.Kind == eval.KindAuth || e.Kind == eval.KindTransport || e.Kind == eval.KindCanceled:
		if all, ok := c.source.(ModelSources); !ok || e.Kind == eval.KindCanceled || !all.Lost(key.service, e) {
			return nil, e
		}
	case e.Kind == eval.KindReplayMiss: // nothing was sent, or all is said
	default:
		who, fix := "", ""
		if key.service != "" {
			who, fix = key.served()+": ", "; `metadata: false` of the service skips this request"
		}
		c.notice(fmt.Sprintf(
			"%sno metadata of the model %s (%s); the limits in the specification are taken, as far as it names the model%s", who, id, e, fix,
		))
	}
	return key.named(), nil
}

// keep notes the metadata of a model for the plan and for the run file.
func (c *modelCheck) keep(key modelKey, m *eval.Model) {
	c.models[key] = m
	if m != nil {
		journaled := *m
		journaled.APIVersion, journaled.Service = key.apiVersion, key.service
		c.Models = append(c.Models, journaled)
	}
}

// MissingModel is the service's response about a model that it does not know.
type MissingModel struct {
	// Unlisted says that the service has no list of models either, so that nothing is known of the model.
	Unlisted bool
	Listed   *eval.Model // the model, which a server such as vLLM lists although it describes no single one
	Named    bool        // the service's own words name the model
	Message  string      // the service's own words
	Hint     string      // where the model is, or one like it
}

// Words are the service's own words after a colon, "" when there are none.
func (m *MissingModel) Words() string {
	if m.Message == "" {
		return ""
	}
	return ": " + m.Message
}

// ModelUse is a model and the method it is needed for, "" if none.
type ModelUse struct{ APIVersion, ID, Method string }

// Missing looks for a model that the service says it does not have, err being what it said.
func Missing(ctx context.Context, source ModelSource, w ModelUse, err *eval.Error) MissingModel {
	models, failed := source.Models(ctx, w.APIVersion)
	if e := eval.AsError(failed); e != nil && e.NotFound() {
		return MissingModel{Unlisted: true, Message: err.Message}
	}
	var ids []string
	for i := range models {
		if models[i].ID() == w.ID {
			return MissingModel{Listed: &models[i]}
		}
		if w.Method == "" || models[i].Supports(w.Method) {
			ids = append(ids, models[i].ID())
		}
	}
	missing := MissingModel{Named: names(err.Message, w.ID), Message: err.Message, Hint: diag.DidYouMean(w.ID, ids)}
	for _, version := range wire.APIVersions {
		if version == w.APIVersion || w.APIVersion == "" { // of another protocol
			continue
		}
		if _, err := source.Model(ctx, version, w.ID); err == nil {
			missing.Hint = fmt.Sprintf("version %s of the interface has it: set `apiVersion: %s`", version, version)
		}
	}
	return missing
}

// names reports whether a text has an id as a word.
func names(text, id string) bool {
	part := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:/-", r)
	}
	return slices.ContainsFunc(strings.FieldsFunc(text, part), func(word string) bool { return strings.Trim(word, ".:/") == id })
}

// generating checks a model that generates, and that it may give answers as long as the suite wants.
func (c *modelCheck) generating(ctx context.Context, of *suite.ConfiguredModel, user string) error {
	m, err := c.ask(ctx, c.configuredKey(of), of.Pos, user, wire.MethodGenerate)
	if err != nil || m == nil {
		return err
	}
	if g := of.GenerationConfig; g != nil && g.MaxOutputTokens != nil && m.OutputTokenLimit > 0 && *g.MaxOutputTokens > m.OutputTokenLimit {
		c.diags.Errorf(
			of.MaxOutputPos, "lower it", "maxOutputTokens %d is above the outputTokenLimit %d of %s", *g.MaxOutputTokens,
			m.OutputTokenLimit, of.ID,
		)
	}
	return nil
}

func (c *modelCheck) embedding(ctx context.Context, s *suite.Suite) error {
	model := c.embeddings[s]
	key := c.keyOf(s.Embedding.Service, s.Embedding.APIVersion, s.Embedding.Model)
	m, err := c.ask(ctx, key, s.Embedding.Pos, "for embeddings", wire.MethodEmbed)
	if err != nil || m == nil {
		return err
	}
	model.Limit = m.InputTokenLimit
	c.references(s, model)
	return nil
}

// references reports the references of scorers that the embedding model does not take, each once.
func (c *modelCheck) references(s *suite.Suite, model *EmbeddingModel) {
	reported := map[string]bool{}
	for one := range s.Cases() {
		for _, spec := range one.Scorers {
			for _, text := range spec.Needs.References {
				if e := eval.AsError(model.check(text)); e != nil && !reported[text] {
					reported[text] = true
					c.diags.Errorf(spec.Pos(), "", "%s", e.Message)
				}
			}
		}
	}
}

// newEmbedding is the embedding model of a suite, with the limit that the specification gives.
func (p *Plan) newEmbedding(s *suite.Suite) *EmbeddingModel {
	key := p.keyOf(s.Embedding.Service, s.Embedding.APIVersion, s.Embedding.Model)
	m := &EmbeddingModel{Model: key.id, APIVersion: key.apiVersion, Service: key.service}
	if known := key.named(); known != nil {
		m.Limit = known.InputTokenLimit
	}
	return m
}

// model is the metadata of the target's model from the service or else the specification; nil when unknown.
func (p *Plan) model(t *suite.Target) *eval.Model { return p.modelOf(p.key(t)) }

func (p *Plan) modelOf(key modelKey) *eval.Model {
	if m, known := p.models[key]; known {
		return m
	}
	return key.named()
}

// CheckLimits reports targets whose answers have no known bound although a limit on tokens is set. What a call may
// cost has to be known before it is sent. CheckModels comes before.
func (p *Plan) CheckLimits(limits *suite.Limits, diags *diag.List) {
	for _, t := range p.targets() {
		m := t.Model()
		if m == nil {
			continue
		}
		name := tokenLimit(limits, m)
		metadata, known := p.models[p.configuredKey(m)] // one that the service does not have was reported
		_, speaks := m.Service.Identity()
		one := Planned{Request: eval.Request{GenerationConfig: m.GenerationConfig, Protocol: speaks}, Metadata: metadata}
		if name == "" || !known || one.OutputLimit() > 0 {
			continue
		}
		diags.Errorf(
			m.Pos, "set `maxOutputTokens` in its `generationConfig`, or remove the limit",
			"`%s` is set, and answers of target `%s` have no known bound: the model `%s` does not say one", name, t.Name, m.ID,
		)
	}
}

// tokenLimit is a limit on tokens that calls of a model are under, "" when there is none.
func tokenLimit(l *suite.Limits, m *suite.ConfiguredModel) string {
	switch {
	case l.TokensPerMinute > 0:
		return "tokensPerMinute"
	case l.BudgetTokens > 0:
		return "budget.tokens"
	case m.Service != nil && l.Services[m.Service.Name].TokensPerMinute > 0:
		return "tokensPerMinute"
	case slices.ContainsFunc(l.Models, func(own suite.ModelLimits) bool { return own.Model == m.ID && own.TokensPerMinute > 0 }):
		return "tokensPerMinute"
	case l.SharedTokens:
		return "--ledger"
	}
	return ""
}
