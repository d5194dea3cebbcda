package harness

import (
	"cmp"
	"os"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/job"
	"github.com/evalrun/evalrun/internal/record"
	"github.com/evalrun/evalrun/journal"
)

// recorder keeps answers for a replay: a *recording, or unrecorded for a session that keeps none.
type recorder interface {
	// around answers from records, and calls next, the service with the name, for the rest.
	around(next flow.Service, of string) flow.Service
	// keepRun keeps the answers of a run.
	keepRun(dir string) error
	// keepReply keeps the reply of a judge that chose between answers, until finish writes it.
	keepReply(r *eval.Result)
	finish(models []eval.Model) error
}

// unrecorded keeps nothing.
type unrecorded struct{}

func (unrecorded) around(next flow.Service, _ string) flow.Service { return next }
func (unrecorded) keepRun(string) error                            { return nil }
func (unrecorded) keepReply(*eval.Result)                          {}
func (unrecorded) finish([]eval.Model) error                       { return nil }

// recording is a folder in which answers are kept.
type recording struct {
	*record.Recordings
	dir    string
	notice func(string)
}

// openRecorder opens the folder in which answers are kept, if the flags name one.
func (s *Session) openRecorder() (recorder, error) {
	f := &s.Flags
	if err := checkRecorded(f); err != nil {
		return nil, err
	}
	dir := cmp.Or(f.Record, f.ReplayOr)
	if dir == "" {
		return unrecorded{}, nil
	}
	store, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	if err := store.Check(); err != nil {
		return nil, exit.BadInput("answers cannot be recorded: %w", err)
	}
	if f.Record != "" { // recorded answers are replaced
		store.Forget()
	}
	return &recording{store, dir, s.Notice}, nil
}

func openStore(dir string) (*record.Recordings, error) {
	store, err := record.Open(dir)
	if err != nil {
		return nil, exit.BadInput("the recorded answers cannot be read: %w", err)
	}
	return store, nil
}

// recordedAnswers opens the folder of --replay.
func (s *Session) recordedAnswers() (*record.Recordings, error) {
	f := &s.Flags
	if err := checkRecorded(f); err != nil {
		return nil, err
	}
	if _, err := os.Stat(f.Replay); err != nil {
		return nil, exit.BadInput("there are no recorded answers: %w; --record %s records them", err, f.Replay)
	}
	return openStore(f.Replay)
}

// checkRecorded wants flags about recorded answers that go together.
func checkRecorded(f *job.Flags) error {
	given := 0
	for _, dir := range []string{f.Record, f.Replay, f.ReplayOr} {
		if dir != "" {
			given++
		}
	}
	switch {
	case f.Cache && f.NoContent:
		return exit.BadInput("--no-content keeps answers out of files, and --cache keeps them: choose one")
	case given > 1:
		return exit.BadInput("--record, --replay and --replay-or-record are three ways to use recorded answers: choose one")
	case given == 1 && f.NoContent && f.Replay == "":
		return exit.BadInput("--no-content keeps answers out of files, and recording keeps them: choose one")
	}
	return nil
}

// offline reports whether the session sends no requests.
func (s *Session) offline() bool { return s.Flags.Replay != "" || s.Flags.Answers != "" }

// Record keeps the answers of a run in the folder that the flags name for it. It does nothing when they name none.
func (s *Session) Record(runDir string) (err error) { return s.recorder.keepRun(runDir) }

// around answers what is recorded, sends the rest to next, and records vectors on the way.
func (r *recording) around(next flow.Service, of string) flow.Service {
	return flow.Replay(r.Recordings, next, of)
}

func (r *recording) keepRun(dir string) error {
	d, err := journal.Open(dir)
	if err != nil {
		return exit.Incomplete("the answers cannot be recorded: %w", err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	for t, err := range d.Trials() {
		if err != nil {
			return exit.Incomplete("the answers cannot be recorded: %w", err)
		}
		r.Put(t)
	}
	for _, m := range d.Run.Models {
		r.Models = slices.DeleteFunc(r.Models, func(old eval.Model) bool { return sameModel(&old, &m) })
		r.Models = append(r.Models, m)
	}
	slices.SortFunc(r.Models, func(a, b eval.Model) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Service, b.Service))
	})
	if err := r.Save(); err != nil {
		return exit.Incomplete("the answers cannot be recorded: %w", err)
	}
	r.notice("recorded: " + r.dir)
	return nil
}

// sameModel reports whether two records are of one model of one service.
func sameModel(a, b *eval.Model) bool {
	return a.Name == b.Name && a.APIVersion == b.APIVersion && a.Service == b.Service
}

func (r *recording) keepReply(reply *eval.Result) { r.Put(reply) }

func (r *recording) finish(models []eval.Model) error {
	r.Models = models
	if err := r.Save(); err != nil {
		return exit.Incomplete("the replies of the judge cannot be recorded: %w", err)
	}
	return nil
}
