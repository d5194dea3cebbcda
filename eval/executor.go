package eval

import "context"

// Executor makes single attempts of calls, in this process or in others. Retries, limits and budgets are above it. Its errors
// are of type *Error. It is safe for concurrent use.
type Executor interface {
	// Enter waits until there is room for a call, and returns the context to make it with. Calls with such a context share its
	// room, as all calls of one trial do. Call leave to give the room back once the answer of the trial is written down. Enter
	// returns at once when stop is closed or ctx is done.
	Enter(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func())
	// Generate calls the model call.Model of the service call.Service, or the application call.To. It fills in call.Timing.
	Generate(ctx context.Context, call *Call) (*Response, error)
	// CountTokens counts the tokens of a prompt.
	CountTokens(ctx context.Context, call *Call) (int, error)
	// Embed returns one vector for each text, in the order of the texts.
	Embed(ctx context.Context, call *EmbedCall) ([][]float64, error)
	// Model and Models describe models of a named service; "" is the unnamed one.
	Model(ctx context.Context, service, apiVersion, id string) (*Model, error)
	Models(ctx context.Context, service, apiVersion string) ([]Model, error)
	// Emulated reports whether an emulator answers.
	Emulated() bool
}
