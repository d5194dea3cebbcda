package harness

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/answers"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/record"
	"github.com/evalrun/evalrun/journal"
)

// openStore opens the folder of recorded answers that the flags name, if any.
func (s *Session) openStore() error {
	f := s.Flags
	if f.Answers != "" {
		given, err := answers.Read(f.Answers)
		if err != nil {
			return err
		}
		s.answers = given
		s.store, err = record.Open("") // what has no answer is missed
		return err
	}
	if err := f.checkRecorded(); err != nil {
		return err
	}
	dir := cmp.Or(f.Record, f.Replay, f.ReplayOr)
	if dir == "" {
		return nil
	}
	if _, err := os.Stat(dir); err != nil && f.Replay != "" {
		return exit.BadInput("there are no recorded answers: %w", err)
	}
	store, err := record.Open(dir)
	if err != nil {
		return exit.BadInput("the recorded answers cannot be read: %w", err)
	}
	if f.Replay == "" {
		if err := store.Check(); err != nil {
			return exit.BadInput("answers cannot be recorded: %w", err)
		}
	}
	if f.Record != "" { // what is there is asked anew
		store.Forget()
	}
	s.store = store
	return nil
}

// checkRecorded wants flags about recorded answers that go together.
func (f *Flags) checkRecorded() error {
	given := 0
	for _, dir := range []string{f.Record, f.Replay, f.ReplayOr} {
		if dir != "" {
			given++
		}
	}
	switch {
	case f.Cache && f.NoContent:
		return exit.BadInput("--no-content keeps answers out of files, and --cache is keeping them: choose one")
	case given > 1:
		return exit.BadInput("--record, --replay and --replay-or-record are three ways to use recorded answers: choose one")
	case given == 1 && f.NoContent && f.Replay == "":
		return exit.BadInput("--no-content keeps answers out of files, and recording is keeping them: choose one")
	}
	return nil
}

// offline reports whether nobody is asked.
func (s *Session) offline() bool { return s.Flags.Replay != "" || s.Flags.Answers != "" }

// Record keeps the answers of a run in the folder that the flags name for it. It does nothing when they name none.
func (s *Session) Record(runDir string) (err error) {
	if s.store == nil || s.offline() {
		return nil
	}
	d, err := journal.Open(runDir)
	if err != nil {
		return exit.Incomplete("the answers cannot be recorded: %w", err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	for r, err := range d.Trials() {
		if err != nil {
			return exit.Incomplete("the answers cannot be recorded: %w", err)
		}
		s.store.Put(r)
	}
	for _, m := range d.Run.Models {
		s.store.Models = slices.DeleteFunc(
			s.store.Models, func(old eval.Model) bool { return old.Name == m.Name && old.APIVersion == m.APIVersion },
		)
		s.store.Models = append(s.store.Models, m)
	}
	slices.SortFunc(s.store.Models, func(a, b eval.Model) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
	})
	if err := s.store.Save(); err != nil {
		return exit.Incomplete("the answers cannot be recorded: %w", err)
	}
	s.Notice(fmt.Sprintf("recorded: %s", cmp.Or(s.Flags.Record, s.Flags.ReplayOr)))
	return nil
}
