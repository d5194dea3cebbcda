package evalrun

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
)

// NewExecutor returns an executor that makes the calls of a job in this process, while another process runs the same
// suites. Programs work in copies of their workspaces below dir. The returned function closes connections. The errors are
// those of a run that cannot begin, such as a missing key.
func NewExecutor(j *Job, dir string) (eval.Executor, func(), error) {
	o := &j.options
	executor, session, err := session.Executor(j.job, o.Version, dir, func(text string) { o.emit(Notice{text}) })
	if err != nil {
		return nil, nil, err
	}
	return executor, session.Close, nil
}
