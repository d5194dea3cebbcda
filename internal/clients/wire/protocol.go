package wire

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// Protocol writes the requests of one protocol.
type Protocol struct {
	// Name is the value of `protocol` in suites.
	Name eval.ProtocolName

	// MaxOutput is the limit of output tokens if the suite sets none; 0 leaves it to the model.
	MaxOutput int

	ofPrompt  map[string]string
	owned     map[string]string
	published []string
	check     func(*checking)
	write     func(*members, *eval.Request, options)
}

// options are deviations of a service from its protocol.
type options struct {
	// MaxTokensField is the field for maxOutputTokens in chat completions. Optional, default
	// max_completion_tokens.
	MaxTokensField string
	// Resend says which thoughts of the model go back in a conversation of chat completions.
	Resend string
}

// Which thoughts of the model go back in a conversation.
const (
	ResendAlways = ""
	ResendNever  = "never"
	resendInLoop = "inLoop" // those of the tool calls since the user last spoke
)

// all is made once, because every case looks up its protocol.
var all = sync.OnceValue(func() []Protocol { return []Protocol{OpenAI(), Responses(), Anthropic()} })

// Named returns the protocol with a name; false if there is none.
func Named(name eval.ProtocolName) (Protocol, bool) {
	i := slices.IndexFunc(all(), func(p Protocol) bool { return p.Name == name })
	if i < 0 {
		return Protocol{}, false
	}
	return all()[i], true
}

// Owned maps the fields that evalrun writes itself to advice on the keys of suites that set them: the fields that make up the
// prompt, and the others.
func (p Protocol) Owned() (ofPrompt, others map[string]string) {
	return maps.Clone(p.ofPrompt), maps.Clone(p.owned)
}

// Published lists the other known fields of a request.
func (p Protocol) Published() []string { return slices.Clip(p.published) }

// Body returns the body of a request. It omits what Check refuses.
func (p Protocol) Body(r *eval.Request, o options) []byte {
	m := newMembers(r)
	p.write(m, r, o)
	return m.body()
}

// Check returns Refusals with everything that the protocol cannot express, nil if there is nothing.
func (p Protocol) Check(r *eval.Request) error {
	c := checking{protocol: p.Name, request: r, config: decodeSettings(r.GenerationConfig)}
	p.check(&c)
	if len(c.found) == 0 {
		return nil
	}
	return c.found
}

// Refusals lists everything in a request that a protocol cannot express.
type Refusals []inexpressible

// inexpressible is a key of a suite that a protocol cannot express.
type inexpressible struct {
	// Key is its path in the suite, such as generationConfig.topK; image, data and raw are parts of
	// prompts.
	Key string
	Why string
	// Fix is what to do, "" if the only way is to remove the key.
	Fix string
}

func (r inexpressible) String() string {
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

// clients says how the vendors' own libraries of a protocol find a service.
type clients struct {
	AddressEnv string   // the variable with its address
	Base       string   // the path that this ends in
	KeyEnv     []string // variables with the key
}

// ClientsOf are the libraries of a protocol.
func ClientsOf(p eval.ProtocolName) clients {
	switch p {
	case eval.OpenAI, eval.Responses:
		return clients{"OPENAI_BASE_URL", "/v1", []string{"OPENAI_API_KEY"}}
	case eval.Anthropic:
		return clients{"ANTHROPIC_BASE_URL", "", []string{"ANTHROPIC_API_KEY"}}
	case eval.Generative:
	}
	return clients{"GOOGLE_GEMINI_BASE_URL", "", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}}
}
