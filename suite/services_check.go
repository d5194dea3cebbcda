package suite

import (
	"errors"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

func (s *NamedService) spoken() (wire.Protocol, bool) { return wire.Named(s.Speaks()) }

// refusals returns the parts of a request that the protocol of a service cannot express.
func (s *NamedService) refusals(r *eval.Request) wire.Refusals {
	p, other := s.spoken()
	if !other {
		return nil
	}
	var all wire.Refusals
	errors.As(p.Check(r), &all)
	return all
}

// checkWords reports the keys of a target or a judge that the protocol of its service cannot express.
func checkWords(m yaml.Map, model *ConfiguredModel) {
	written := eval.Request{GenerationConfig: model.GenerationConfig, SafetySettings: model.SafetySettings}
	for _, one := range model.Service.refusals(&written) {
		keyAt(m, one.Key).Errorf(one.Fix, "%s", one.Why)
	}
}

// keyAt returns the node of a key by its path, or of the longest part of the path that exists.
func keyAt(m yaml.Map, path string) yaml.Node {
	name, rest, deeper := strings.Cut(path, ".")
	key := m.Key(name)
	if key.IsZero() {
		extra := m.Get("extra").Map()
		if !extra.Has(name) {
			return m.Node
		}
		return keyAt(extra, path)
	}
	if value := m.Get(name); deeper && value.IsMapping() {
		if found := keyAt(value.Map(), rest); found != value {
			return found
		}
	}
	return key
}

// checkSpoken reports the parts of a prompt that the protocol of a target cannot express, once for each kind of part.
func (l *loader) checkSpoken(arm Arm, prompt eval.Request) {
	model := arm.Target.Model()
	if model == nil {
		return
	}
	for _, one := range model.Service.refusals(&eval.Request{
		Contents: prompt.Contents, System: prompt.System, Tools: arm.Prompt.Tools, ToolChoice: arm.Prompt.ToolChoice,
	}) {
		at := arm.Prompt.placeOf(one.Key)
		found := at.String() + " " + one.Why
		if slices.Contains(l.unspoken, found) {
			continue
		}
		l.unspoken = append(l.unspoken, found)
		hint := "narrow `targets` of the prompt"
		if one.Fix != "" {
			hint = one.Fix + ", or " + hint
		}
		l.diags.Errorf(at, hint, "%s (target `%s`)", one.Why, arm.Target.Name)
	}
}

// placeOf returns the position of the first part of a kind in a prompt, or else of the prompt.
func (p *Prompt) placeOf(kind string) diag.Pos {
	for one := range p.eachPart {
		if one.form() == kind {
			return one.written().node.Pos()
		}
	}
	return p.Pos
}

// checkCounting reports `countTokens: always` when no service can count tokens. at is the position of that key.
func (l *loader) checkCounting(at yaml.Node) {
	if l.Limits.CountTokens != CountAlways || l.opts.Can == nil {
		return
	}
	for _, s := range l.Services {
		if slices.Contains(l.usedServices(), s.Name) && !l.opts.Can(s.Protocol, wire.MethodCountTokens) {
			at.Errorf(
				"use auto, which estimates there", "the service `%s` cannot count tokens: its protocol, %s, has no way to", s.Name,
				s.Protocol,
			)
		}
	}
}

func (l *loader) checkEmbeds(n yaml.Node, of *NamedService) {
	if of == nil || of.Protocol == "" || l.opts.Can == nil || l.opts.Can(of.Protocol, wire.MethodEmbed) {
		return
	}
	n.Errorf(
		"name a service that does, such as one of the protocol openai",
		"the service `%s` makes no embeddings: its protocol, %s, has none",
		of.Name, of.Protocol,
	)
}
