package eval

// AuthKind is a way to authenticate at the unnamed service.
type AuthKind string

// Ways to authenticate.
const (
	AuthKey      AuthKind = "apiKey"      // the key in a header; the default
	AuthKeyQuery AuthKind = "apiKeyQuery" // the key in the query
	AuthOAuth    AuthKind = "oauth"       // an access token of `evalrun auth login`
)

// AuthKinds lists the ways to authenticate, the default first.
func AuthKinds() []string { return []string{string(AuthKey), string(AuthKeyQuery), string(AuthOAuth)} }

// ProtocolName names a protocol that a named service may speak, as its `protocol` does.
type ProtocolName string

// Names of protocols.
const (
	Generative ProtocolName = "generative" // the default
	OpenAI     ProtocolName = "openai"     // chat completions
	Responses  ProtocolName = "responses"
	Anthropic  ProtocolName = "anthropic" // messages
)

// ProtocolNames lists the names of protocols, the default first.
func ProtocolNames() []ProtocolName { return []ProtocolName{Generative, OpenAI, Responses, Anthropic} }

// Ledger names a ledger in run files, without the token that it takes.
type Ledger struct {
	URL string `json:"url"`
	CA  string `json:"ca,omitempty"` // file of additional certificates to trust, absolute
}

// Flags are the flags that name the ledger; nil is none.
func (l *Ledger) Flags() []string {
	switch {
	case l == nil:
		return nil
	case l.CA == "":
		return []string{"--ledger", l.URL}
	}
	return []string{"--ledger", l.URL, "--ledger-ca", l.CA}
}
