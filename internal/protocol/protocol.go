// Package protocol is the requests of the protocols that other vendors speak: how they are written, and what they
// cannot express. The service's own protocol is in package payload.
package protocol

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// Protocol is how the requests of one protocol are written.
type Protocol struct {
	// Name is the word of the suite.
	Name string

	// MaxOutput is the most tokens that an answer has where the suite sets no limit; 0: what the model has.
	MaxOutput int

	owned     map[string]string
	published []string
	check     func(*checking)
	write     func(*members, *eval.Request, Options)
}

// Options are what a service wants other than its protocol.
type Options struct {
	// MaxTokensField is the field of openai for maxOutputTokens. Optional, default max_completion_tokens.
	MaxTokensField string
}

// all are the protocols other than the service's own. Every case needs them, so their tables are made once.
var all = sync.OnceValue(func() []Protocol { return []Protocol{OpenAI(), Responses(), Anthropic()} })

// Named is the protocol with a name; false where there is none.
func Named(name string) (Protocol, bool) {
	i := slices.IndexFunc(all(), func(p Protocol) bool { return p.Name == name })
	if i < 0 {
		return Protocol{}, false
	}
	return all()[i], true
}

// Owned are the fields of a request that evalrun writes itself, each with the key of a suite for it.
func (p Protocol) Owned() map[string]string { return maps.Clone(p.owned) }

// Published are the other fields of a request that the protocol is known to have.
func (p Protocol) Published() []string { return slices.Clip(p.published) }

// Body is what a request sends. What the protocol cannot express, which Check finds, is not in it.
func (p Protocol) Body(r *eval.Request, o Options) []byte {
	m := newMembers(r)
	p.write(m, r, o)
	return m.body()
}

// Check finds what the protocol cannot express of a request. The error is Refusals.
func (p Protocol) Check(r *eval.Request) error {
	c := checking{protocol: p.Name, request: r, config: read(r.GenerationConfig)}
	p.check(&c)
	if len(c.found) == 0 {
		return nil
	}
	return c.found
}

// Refusals are all that a protocol cannot express of a request.
type Refusals []Inexpressible

// Inexpressible is a key of a suite that a protocol cannot express.
type Inexpressible struct {
	// Key is where it is in a suite, as generationConfig.topK; image, data and raw are parts of prompts.
	Key string
	Why string
	// Fix is what to do, "" where nothing can be done but to remove the key.
	Fix string
}

func (r Inexpressible) String() string {
	if r.Fix == "" {
		return r.Why
	}
	return r.Why + ": " + r.Fix
}

func (all Refusals) Error() string {
	lines := make([]string, len(all))
	for i, r := range all {
		lines[i] = r.String()
	}
	return strings.Join(lines, "; ")
}
