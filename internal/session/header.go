package session

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// header is the first line of the run file: all that resume, rescore and reports must know without the suites and options. What the
// environment or a file of the machine could change later is written out.
func (s *Session) header(plan *runner.Plan, gates []*eval.GateConfig, origins []*eval.GateOrigin) *eval.Run {
	now := time.Now().UTC()
	run := &eval.Run{
		ID:             rundir.NewID(now),
		StartedAt:      now.Format(time.RFC3339Nano),
		Tool:           "evalrun " + s.Version,
		CommandOptions: s.KeptOptions(),
		RandomSeed:     cmp.Or(s.Options.Seed, randomSeed()),
		Plan:           planned(plan),
		Service:        s.Settings.Service,
		Services:       s.runServices(),
		Emulator:       s.Emulated(),
		Models:         plan.Models,
		Ledger:         s.shared.noted(),
		Prices:         s.keptPrices(),
		Cache:          s.Options.Caches() && !s.offline(),
	}
	if run.Models == nil {
		run.Models = []eval.Model{} // the run file has a list, not null
	}
	switch from := s.Settings.Source.(type) {
	case eval.FromFile:
		run.Replay = from.Path
	case eval.FromRecords:
		run.Replay = from.Dir
	case eval.FromService, eval.FromRun:
		if s.Options.Emulator != "" {
			run.Service.BaseURL = emulated // its address is another one each time
		}
	}
	s.Identify(run)
	if s.rescores != nil {
		s.rescores.recordSource(run)
	}
	if s.extends != nil {
		s.extends.record(run)
	}
	for i, one := range plan.Suites {
		run.Suites = append(run.Suites, s.runSuite(i, one, gates[i]))
		run.Suites[i].GateOf = origins[i]
	}
	return run
}

func (s *Session) keptPrices() json.RawMessage {
	if s.Settings.Prices == nil {
		return nil
	}
	prices, _ := json.Marshal(s.Settings.Prices) // names and finite numbers always encode
	return prices
}

func planned(plan *runner.Plan) eval.RunPlan {
	return eval.RunPlan{
		Trials:  plan.Size(),
		Arms:    plan.ArmNames(),
		Targets: plan.Targets(),
		Shard:   plan.Shard(),
	}
}

// runSuite is the suite at a place of the plan, as the run file names it.
func (s *Session) runSuite(i int, one *suite.Suite, gate *eval.GateConfig) eval.RunSuite {
	out := eval.RunSuite{
		Name:    one.Name,
		File:    one.File,
		Hash:    one.Hash(),
		Gate:    gate,
		Copy:    path.Join(rundir.CopyDir(i, false), s.copyAt(i, one), one.FileName()),
		Dir:     s.Dir(i),
		Classes: one.Classes(),
	}
	s.NoteEarlier(one, &out)
	if gate != nil && gate.Baseline != nil && !s.Options.NoBaseline() {
		out.Looks = looksAt(one, gate.Baseline.Against)
	}
	return out
}

// looksAt are the comparisons of a suite's arms with their base, which have no numbers yet.
func looksAt(one *suite.Suite, against eval.Base) (out []eval.Look) {
	run, _ := against.(eval.BaseRun)
	candidates := map[string]string{}
	for _, a := range one.Arms() {
		candidates[a.Name()] = a.Candidate()
	}
	for _, a := range one.Arms() {
		base := cmp.Or(run.ID, candidates[against.ArmFor(a.Name())])
		if base != "" && !against.Includes(a.Name()) {
			out = append(out, eval.Look{Arm: a.Name(), Candidate: candidates[a.Name()], Base: base})
		}
	}
	return out
}

// randomSeed orders the schedule of a run without a seed, so that nightly runs do not always begin with the same cases.
func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])                        // it never fails
	return binary.LittleEndian.Uint64(b[:]) >> 11 // JSON numbers are good for 53 bits
}

// KeptOptions are the options of a job as the run file keeps them.
func (j *Job) KeptOptions() *eval.RunOptions {
	kept := j.Options
	if kept.NoContent { // what variables hold is part of prompts
		kept.Vars = nil
	}
	kept.Absolute()
	if kept.Race != "" { // what the project file says is not in the header
		kept.Rule.Alpha = cmp.Or(kept.Rule.Alpha, kept.ByProject().Rule.Alpha)
	}
	if chosen := j.Settings.Selection; chosen != nil {
		kept.FailedIn = chosen.FailedIn
		kept.ChangedSince = chosen.ChangedSince
		kept.Sample = chosen.Sample
		kept.Selected = chosen.Places
	}
	return &eval.RunOptions{Options: kept.Options}
}

// Continues returns an error if a run did not begin with the suites and options of this job. Limits and reports may differ.
func (j *Job) Continues(run *eval.Run) error {
	if len(j.Suites) != len(run.Suites) {
		return eval.BadInput("it began with %s, and %d %s named", diag.Count(len(run.Suites), "suite"), len(j.Suites),
			diag.Verb(len(j.Suites), "is", "are"))
	}
	for i, s := range j.Suites {
		if s.Hash() != run.Suites[i].Hash {
			return eval.BadInput("the suite %s is not as it was when the run began", s.File)
		}
	}
	var now eval.Run
	j.Identify(&now)
	if now.ProjectHash != run.ProjectHash {
		return eval.BadInput("the project file is not as it was when the run began")
	}
	was := *run.Options()
	was.Name, was.Labels = run.Name, run.Labels
	flags := Differing(&j.KeptOptions().Options, &was)
	if len(flags) > 0 {
		return eval.BadInput("it began with other values of %s", strings.Join(flags, ", "))
	}
	return nil
}
