package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// recording is a folder in which answers are kept for a replay; nil keeps none.
type recording struct {
	*flow.Recordings
	dir    string
	notice func(string)

	mu   sync.Mutex    // guards the recordings
	next *time.Timer   // until the next writing; nil when nothing waits for it
	wait time.Duration // from an answer to that
}

// An answer waits for leastWait, or for waitShare times as long as the last writing took. That bounds the work, since the
// file of a case is written as a whole.
const (
	leastWait = 50 * time.Millisecond
	waitShare = 10
)

// openRecorder opens the folder in which answers are kept, if there is to be one.
func (s *Session) openRecorder(from eval.FromService) (*recording, error) {
	if from.Record == "" {
		return nil, nil //nolint:nilnil // nothing is recorded
	}
	store, err := openStore(from.Record)
	if err != nil {
		return nil, err
	}
	if err := store.Check(); err != nil {
		return nil, eval.BadInput("answers cannot be recorded: %w", err)
	}
	if !from.Reuse { // recorded answers are replaced
		store.Forget()
	}
	return &recording{Recordings: store, dir: from.Record, notice: s.Notice, wait: leastWait}, nil
}

func openStore(dir string) (*flow.Recordings, error) {
	store, err := flow.Open(dir)
	if err != nil {
		return nil, eval.BadInput("the recorded answers cannot be read: %w", err)
	}
	return store, nil
}

// recordedAnswers opens the folder of --replay.
func recordedAnswers(dir string) (*flow.Recordings, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, eval.BadInput("there is no folder %s with recorded answers; --record %s records them", dir, dir)
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%s is not a folder", dir)
	}
	if err != nil {
		return nil, eval.BadInput("there are no recorded answers: %w; --record names a folder for them", err)
	}
	return openStore(dir)
}

// offline reports whether every answer is there already, those of judges too, so that nothing is sent.
func (s *Session) offline() bool {
	switch s.Settings.Source.(type) {
	case eval.FromRecords, eval.FromFile:
		return true
	case eval.FromService, eval.FromRun:
	}
	return false
}

// Record keeps the answers of a run in the folder that the options name for it. It does nothing when they name none.
func (s *Session) Record(runDir string) (err error) { return s.recorder.keepRun(runDir) }

// around answers what is recorded, sends the rest to next, and records vectors on the way.
func (r *recording) around(next flow.Service, of string) flow.Service {
	if r == nil {
		return next
	}
	return flow.Replay(r.Recordings, next, of)
}

func (r *recording) know(models []eval.Model) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range models {
		r.Models = slices.DeleteFunc(r.Models, func(old eval.Model) bool { return sameModel(&old, &m) })
		r.Models = append(r.Models, m)
	}
	slices.SortFunc(r.Models, func(a, b eval.Model) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Service, b.Service))
	})
	r.writeSoon()
}

// keep keeps an answer, or a judge's reply, soon, so that it outlives the process.
func (r *recording) keep(t *eval.Result) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Put(t)
	r.writeSoon()
}

func (r *recording) writeSoon() {
	if r.next == nil {
		r.next = time.AfterFunc(r.wait, func() { _ = r.write() }) // keepRun and finish write again, and report errors
	}
}

func (r *recording) write() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		return nil
	}
	r.next.Stop()
	r.next = nil
	begun := time.Now()
	err := r.Save()
	r.wait = max(leastWait, waitShare*time.Since(begun))
	return err
}

func (r *recording) keepRun(dir string) error {
	if r == nil {
		return nil
	}
	d, err := journal.Open(dir)
	if err != nil {
		return eval.Incomplete("the answers cannot be recorded: %w", err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	for t, err := range d.Trials() {
		if err != nil {
			return eval.Incomplete("the answers cannot be recorded: %w", err)
		}
		r.keep(t)
	}
	r.know(d.Run.Models)
	if err := r.write(); err != nil {
		return eval.Incomplete("the answers cannot be recorded: %w", err)
	}
	r.notice("recorded: " + r.dir)
	return nil
}

// sameModel reports whether two records are of one model of one service.
func sameModel(a, b *eval.Model) bool {
	return a.Name == b.Name && a.APIVersion == b.APIVersion && a.Service == b.Service
}

func (r *recording) finish() error {
	if r == nil {
		return nil
	}
	if err := r.write(); err != nil {
		return eval.Incomplete("the replies of the judge cannot be recorded: %w", err)
	}
	return nil
}

// answerSource is where answers come from that need not be sent for: *givenAnswers or a *rescoredRun.
type answerSource interface {
	// Check compares the answers with the plan before anything is written.
	Check(plan *runner.Plan) error
	// Earlier returns the answer or result of a trial.
	Earlier(t *runner.Planned) runner.EarlierTrial
}

// known is what is there of a trial already; false says that the trial must be sent.
func (s *Session) known(t *runner.Planned) (runner.EarlierTrial, bool) {
	if s.extends != nil {
		known := s.extends.Earlier(t)
		return known, known != nil
	}
	if s.answers == nil {
		return nil, false
	}
	return s.answers.Earlier(t), true
}

// readAnswers takes the answers of a file, and returns records without any: what is not in the file is missed.
func (s *Session) readAnswers(path string) (*flow.Recordings, error) {
	given, err := readGivenAnswers(path)
	if err != nil {
		return nil, err
	}
	s.answers = given
	return flow.Open("")
}
