package harness

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/record"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/option"
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

// openRecorder opens the folder in which answers are kept, if there is to be one.
func (s *Session) openRecorder(from option.FromService) (recorder, error) {
	if from.Record == "" {
		return unrecorded{}, nil
	}
	store, err := openStore(from.Record)
	if err != nil {
		return nil, err
	}
	if err := store.Check(); err != nil {
		return nil, exit.BadInput("answers cannot be recorded: %w", err)
	}
	if !from.Reuse { // recorded answers are replaced
		store.Forget()
	}
	return &recording{store, from.Record, s.Notice}, nil
}

func openStore(dir string) (*record.Recordings, error) {
	store, err := record.Open(dir)
	if err != nil {
		return nil, exit.BadInput("the recorded answers cannot be read: %w", err)
	}
	return store, nil
}

// recordedAnswers opens the folder of --replay.
func recordedAnswers(dir string) (*record.Recordings, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	if err != nil {
		return nil, exit.BadInput("there are no recorded answers: %w; --record %s records them", err, dir)
	}
	return openStore(dir)
}

// offline reports whether every answer is there already, those of judges too, so that nothing is sent.
func (s *Session) offline() bool {
	switch s.Settings.Source.(type) {
	case option.FromRecords, option.FromFile:
		return true
	case option.FromService, option.FromRun:
	}
	return false
}

// Record keeps the answers of a run in the folder that the options name for it. It does nothing when they name none.
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
