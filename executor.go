package evalrun

import (
	"context"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
)

// Executor makes single attempts of calls. Retries, limits and budgets are above it. Errors are of type *eval.Error. It
// is safe for concurrent use.
type Executor interface {
	// Enter waits until there is room for a call, and returns the context to make it with. Calls with such a context share
	// its room, as all calls of one trial do. Call leave
	// to give the room back once the answer of the trial is written down. Enter returns at once when stop is closed or ctx is done.
	Enter(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func())
	// Generate calls the model call.Model of the service call.Service, or the application call.To. It fills in
	// call.Timing.
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
	// CountTokens counts the tokens of a prompt.
	CountTokens(ctx context.Context, call *eval.Call) (int, error)
	// Embed returns one vector for each text, in the order of the texts.
	Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error)
	// Model and Models describe models of a named service; "" is the unnamed one.
	Model(ctx context.Context, service, apiVersion, id string) (*eval.Model, error)
	Models(ctx context.Context, service, apiVersion string) ([]eval.Model, error)
	// Emulated reports whether an emulator answers.
	Emulated() bool
}

// NewExecutor returns an Executor that makes the calls of a job in this process, while another process runs the same
// suites. Programs work in copies of their workspaces below dir. The returned function closes connections. The errors are
// those of a run that cannot begin, such as a missing key.
func NewExecutor(j *Job, dir string) (Executor, func(), error) {
	o := &j.options
	executor, session, err := session.Executor(j.job, o.Version, dir, func(text string) { o.emit(Notice{text}) })
	if err != nil {
		return nil, nil, err
	}
	return executor, session.Close, nil
}
