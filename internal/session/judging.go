package session

import (
	"context"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// CheckJudge requests the judge's model, and looks for its price when there is a budget of money.
func (s *Session) CheckJudge(ctx context.Context, p *runner.Plan, j *suite.Judge) error {
	if err := p.CheckJudge(ctx, j, s.service, &s.Diags, s.Notice); err != nil {
		return s.Refused(err)
	}
	if err := s.Bad(); err != nil {
		return err
	}
	return s.priced(p)
}

// JudgeConfig is the configuration for sending questions to a judge.
func (s *Session) JudgeConfig() runner.Config {
	limits := &s.Settings.Limits
	return runner.Config{
		Services:    runner.Services{Generator: s.service, Counter: s.service, Concurrency: limits.Concurrency},
		Counting:    runner.CountingUnder(limits),
		Stop:        s.stop,
		EarlierRuns: runner.EarlierRuns{RepeatUseless: true},
	}
}

// KeepReply keeps a reply of a judge for --record.
func (s *Session) KeepReply(r *eval.Result) { s.recorder.keep(r) }

// FinishReplies writes the replies that were kept, with the models that gave them.
func (s *Session) FinishReplies(models []eval.Model) error {
	s.recorder.know(models)
	return s.recorder.finish()
}
