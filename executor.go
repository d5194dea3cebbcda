package evalrun

import (
	"context"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/harness"
)

// Executor makes single attempts of calls: what is left of a run below its plan, retries, limits and budgets. Errors are of type
// *eval.Error. It is safe for concurrent use.
type Executor interface {
	// Enter waits until there is room for a call, and gives the context with which it is made. Calls of a context that has room already share
	// that, as those of one trial do. leave gives the room back, once the answer of a trial is written down. When stop is closed or ctx is
	// done, Enter returns at once.
	Enter(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func())
	// Generate calls the model call.Model of the service call.Service, or the application call.Target, and fills in what call.Timing says of
	// the attempt.
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
	// CountTokens counts those of a prompt.
	CountTokens(ctx context.Context, call *eval.Call) (int, error)
	// Embed makes a vector of each text, in their order.
	Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error)
	// Model and Models describe models of a service by its name, "" being the unnamed one.
	Model(ctx context.Context, service, apiVersion, id string) (*eval.Model, error)
	Models(ctx context.Context, service, apiVersion string) ([]eval.Model, error)
	// Emulated reports whether an emulator answers.
	Emulated() bool
}

// NewExecutor makes the attempts of a job in this process, for a run of the same suites in another one. Programs run in copies of their
// workspaces below dir. The function ends its connections. Errors are those of a run that cannot begin, such as a missing key.
func NewExecutor(j *Job, dir string) (Executor, func(), error) {
	o := &j.options
	executor, session, err := harness.Executor(j.job, o.Version, dir, func(text string) { o.emit(Notice{text}) })
	if err != nil {
		return nil, nil, err
	}
	return executor, session.Close, nil
}
