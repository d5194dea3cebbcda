package eval

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// Trial is one run of one case on one arm. Together with Request it is fixed by the suite; nothing in it depends on
// what the service answers.
type Trial struct {
	N int `json:"n"` // place in the plan, from 0
	// ID is a hash of the request, the trial's place among equal requests, and the repeat.
	ID          string   `json:"id"`
	CaseID      string   `json:"caseId"`
	ScorersHash string   `json:"scorersHash"`
	Suite       string   `json:"suite"`
	Case        string   `json:"case"`
	Arm         string   `json:"arm"` // target/prompt
	Target      string   `json:"target"`
	Prompt      string   `json:"prompt"`
	Model       string   `json:"model"`
	Repeat      int      `json:"repeat"` // from 1
	Tags        []string `json:"tags,omitempty"`
	Cluster     string   `json:"cluster,omitempty"`
	Threshold   *float64 `json:"threshold"` // nil: every scorer must pass
	// Quarantine keeps the case out of the gate; nil for most.
	Quarantine *Quarantine `json:"quarantine,omitempty"`
	// At is the position of the case, as file:line:col or file:line. Older run files have none.
	At string `json:"at,omitempty"`
	// VarsHash is a hash of the variables and images of the case. RequestHash is a hash of the rendered request: cases that
	// send the same have the same hash. Older run files have neither.
	VarsHash    string `json:"varsHash,omitempty"`
	RequestHash string `json:"requestHash,omitempty"`
	// FoldedHash is a hash of the prompt without differences of white space, letter case and a number at the end; "" without
	// a prompt.
	FoldedHash string `json:"foldedHash,omitempty"`
}

// Quarantine says why a case is kept out of the gate, and for how long.
type Quarantine struct {
	Reason string `json:"reason"`
	Owner  string `json:"owner"`
	Until  string `json:"until"` // the last day, such as 2027-01-31
}

// Holds reports whether the quarantine still counts at a time (RFC 3339, as in run files).
func (q *Quarantine) Holds(at string) bool {
	return q != nil && len(at) >= len(q.Until) && at[:len(q.Until)] <= q.Until
}

// Result is a trial with its answer, scores and outcome: one line of the run file.
type Result struct {
	Trial
	// Vars has the beginnings of the case's variables, as texts, by name. Older runs and runs with --no-content have none.
	Vars map[string]string
	// Ending is how the trial ended; nil while it has not, and for an answer that is only recorded.
	Ending   Ending
	Scores   []Score // an error may come with scores
	Request  *Request
	Response *Response
	// Calls are the answered calls of a trial that takes several, such as a live chat. Request and Response are then those
	// of the last call; Usage and Timing cover all calls.
	Calls  []AnsweredCall
	Usage  *Usage
	Timing *Timing
	// TraceID is the W3C trace id, in hex, of the calls to an application.
	TraceID string
	// Workspace is the folder that a program worked in, if it was kept; "" otherwise.
	Workspace string
	// Changes is a diff of what a program changed in its workspace, "" for nothing; see package session for its bounds.
	Changes string
	// Judgements are the replies of judges, in the order of the questions.
	Judgements []Judgement
	// Metrics are the derived metrics that could be computed, by name.
	Metrics map[string]float64
}

// Run is the header of a run file: what was to run, and where.
type Run struct {
	Version   int        `json:"version"`
	ID        string     `json:"id"`
	Name      string     `json:"name,omitempty"` // given by the user
	StartedAt string     `json:"startedAt"`      // RFC 3339, UTC
	Suites    []RunSuite `json:"suites"`
	Service   RunService `json:"service"`
	// Services are the named services that the run was going to call.
	Services map[string]RunService `json:"services,omitempty"`
	Emulator bool                  `json:"emulator"`
	// Replay is the folder of recorded answers that replaced the service, "" when none did.
	Replay string `json:"replay,omitempty"`
	// RescoredFrom is the id of the run whose answers were scored again, "" when this run sent for its own.
	RescoredFrom string `json:"rescoredFrom,omitempty"`
	// ExtendedFrom are the ids of the runs whose results count in this one, the first run first; nil for a run of its own.
	ExtendedFrom []string `json:"extendedFrom,omitempty"`
	// Cache says that some answers may come from the cache of earlier runs.
	Cache  bool    `json:"cache,omitempty"`
	Models []Model `json:"models"`
	// Prices is the price list of the run, as internal/rates writes it; nil without one.
	Prices json.RawMessage `json:"prices,omitempty"`
	// Ledger is the ledger that granted the calls of the run; nil without one.
	Ledger *Ledger `json:"ledger,omitempty"`
	// CommandOptions are the options of the command, in an export those that selected the trials; nil in an export of
	// version 0.1. Options returns zero options then.
	CommandOptions *RunOptions       `json:"flags,omitempty"`
	Exported       bool              `json:"exported,omitempty"` // for comparisons, without prompts and answers
	RandomSeed     uint64            `json:"randomSeed"`
	Labels         map[string]string `json:"labels"` // a label without a value has the value ""
	Plan           RunPlan           `json:"plan"`
	Tool           string            `json:"tool,omitempty"` // the version of evalrun
	// Commit and Branch were checked out in the git repository of the suites; "" without one.
	Commit string `json:"commit,omitempty"`
	Branch string `json:"branch,omitempty"`
	// ProjectFile is the project file of the run, absolute, and ProjectHash its SHA-256 digest; "" without one.
	ProjectFile string `json:"projectFile,omitempty"`
	ProjectHash string `json:"projectHash,omitempty"`
	// Copies are the SHA-256 digests of the copies of the suites' files, by their paths inside the run directory.
	Copies map[string]string `json:"copies,omitempty"`
	// Signature proves who wrote the header; see package internal/rundir. Older runs have none.
	Signature string `json:"signature,omitempty"`
}

// Options are the options of the command. An export keeps few of them.
func (r *Run) Options() *Options {
	if r.CommandOptions == nil {
		return &Options{}
	}
	return &r.CommandOptions.Options
}

// UnreadableOptions returns why Options are incomplete, nil if they are not.
func (r *Run) UnreadableOptions() error {
	if r.CommandOptions == nil {
		return nil
	}
	return r.CommandOptions.Unreadable
}

// AnswersOf is the id of the run that got the answers, or the first of them: its own, unless they were scored again.
func (r *Run) AnswersOf() string {
	if len(r.ExtendedFrom) > 0 && r.RescoredFrom == "" {
		return r.ExtendedFrom[0]
	}
	return cmp.Or(r.RescoredFrom, r.ID)
}

// Marks are the name, the branch and the labels of a run, for lists of runs.
func (r *Run) Marks() []string {
	marks := []string{}
	for _, text := range []string{r.Name, r.Branch} {
		if text != "" {
			marks = append(marks, text)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		if value := r.Labels[key]; value != "" {
			key += "=" + value
		}
		marks = append(marks, key)
	}
	return marks
}

// RunSuite names a suite of a run and the copy of it next to the run file.
type RunSuite struct {
	Name string `json:"name"`
	File string `json:"file"`
	Hash string `json:"hash"`
	Copy string `json:"snapshot"` // path inside the run directory
	// Dir is the folder of the suite, absolute: images are read from there again when the run is resumed.
	Dir string `json:"dir,omitempty"`
	// Gate are the suite's rules; nil when it has none.
	Gate *GateConfig `json:"gate,omitempty"`
	// GateOf is the gate that counts next to the suite's own, which Gate then is not; nil when none does.
	GateOf *GateOrigin `json:"gateOf,omitempty"`
	// Classes are the classes of the suite's classification, in its order; nil when it has none.
	Classes []string `json:"classes,omitempty"`
	// EarlierCommit is the commit of the earlier version that ran next to the suite, and EarlierHash the hash of that
	// version; "" without one.
	EarlierCommit string `json:"earlierCommit,omitempty"`
	EarlierHash   string `json:"earlierHash,omitempty"`
	// Looks number the comparisons of the suite's arms. Older runs have none.
	Looks []Look `json:"looks,omitempty"`
}

// Look is the comparison of an arm with its baseline. Each look at the same candidate is another chance to pass by luck.
type Look struct {
	Arm       string `json:"arm"`
	Candidate string `json:"candidate"` // hash of the arm's prompt, target and model
	Base      string `json:"base"`      // id of the baseline's run, or for an arm of the run itself its Candidate
	Nth       int    `json:"nth"`       // 1 for the first
}

// RunService is where a run was sent; it never holds a secret.
type RunService struct {
	BaseURL      string   `json:"baseUrl"`
	APIVersion   string   `json:"apiVersion"`
	HeaderPrefix string   `json:"headerPrefix"`
	Auth         AuthKind `json:"auth"`
	// Project is the cloud project that requests with OAuth belong to.
	Project       string `json:"project,omitempty"`
	AuthScopeBase string `json:"authScopeBase,omitempty"`
	// Protocol is the protocol of a named service, and KeyEnv the environment variable with its key; "" for the unnamed
	// service.
	Protocol ProtocolName `json:"protocol,omitempty"`
	KeyEnv   string       `json:"keyEnv,omitempty"`
	// Batch says whether the service answers in batches.
	Batch bool `json:"batch,omitempty"`
}

// RunPlan is the size of a run's plan.
type RunPlan struct {
	Trials int      `json:"trials"`
	Arms   []string `json:"arms"` // in the order of the suite
	// Targets are the targets of the trials. Older runs name none.
	Targets []RunTarget `json:"targets,omitempty"`
	// Shard is set when the run is only a part of a plan.
	Shard *ShardOf `json:"shard,omitempty"`
}

// EndReason says why a run ended.
type EndReason string

// Why a run ended.
const (
	EndCompleted   EndReason = "completed"
	EndInterrupted EndReason = "interrupted" // by a signal
	EndBudget      EndReason = "budget"
	EndMaxFailures EndReason = "maxFailures"
	EndStopped     EndReason = "stopped" // the service refused or could not be reached
	EndWaiting     EndReason = "waiting" // for the answers of batches
)

// End is the last line of a run file.
type End struct {
	FinishedAt string    `json:"finishedAt"`
	Reason     EndReason `json:"reason"`
	Message    string    `json:"message,omitempty"`
	Signal     string    `json:"signal,omitempty"`
	Counts     Counts    `json:"counts"`
	Spent      *Spent    `json:"spent,omitempty"`
}

// Completed reports whether no trial is left to run. A run without an end did not complete.
func (e *End) Completed() bool { return e != nil && e.Reason == EndCompleted }

// Waits reports whether the run waits for the answers of batches.
func (e *End) Waits() bool { return e != nil && e.Reason == EndWaiting }

// StopReason is why the run ended itself early; "" when it did not.
func (e *End) StopReason() string {
	if e == nil || e.Reason != EndStopped {
		return ""
	}
	return e.Message
}

// Spent is the cost of a run, next to its budgets. A budget of 0 means none.
type Spent struct {
	Attempts     int `json:"calls"` // HTTP attempts, except those for metadata
	Tokens       int `json:"tokens"`
	BudgetCalls  int `json:"budgetCalls,omitempty"`
	BudgetTokens int `json:"budgetTokens,omitempty"`
	// Money is the cost by the price list, in its currency; 0 without a price list.
	Money       float64 `json:"money,omitempty"`
	BudgetMoney float64 `json:"budgetMoney,omitempty"`
	Currency    string  `json:"currency,omitempty"`
}

// RunTarget is a target of a run, as its suite gave it.
type RunTarget struct {
	Suite            string            `json:"suite"`
	Name             string            `json:"name"`
	Model            string            `json:"model"`
	APIVersion       string            `json:"apiVersion"`
	Stream           bool              `json:"stream,omitempty"`
	GenerationConfig *GenerationConfig `json:"generationConfig,omitempty"`
	SafetySettings   []SafetySetting   `json:"safetySettings,omitempty"`
	// App describes an application for people: `POST http://127.0.0.1:8080/chat`, `python3 agent.py`,
	// `echo`. It is "" for a model.
	App string `json:"app,omitempty"`
	// Service is the name of the service that has the model, "" for the unnamed one.
	Service string `json:"service,omitempty"`
}

// Suite finds a suite; it is empty when the run has none of that name.
func (r *Run) Suite(name string) *RunSuite {
	for i := range r.Suites {
		if s := &r.Suites[i]; s.Name == name {
			return s
		}
	}
	return &RunSuite{}
}

// Target finds a target, nil in runs that name none.
func (r *Run) Target(suite, name string) *RunTarget {
	for i := range r.Plan.Targets {
		if t := &r.Plan.Targets[i]; t.Suite == suite && t.Name == name {
			return t
		}
	}
	return nil
}

// Model finds the metadata of the target's model, nil when there are none.
func (r *Run) Model(t *RunTarget) *Model {
	for i := range r.Models {
		if m := &r.Models[i]; m.ID() == t.Model && m.APIVersion == t.APIVersion && m.Service == t.Service {
			return m
		}
	}
	return nil
}

// Booking is a call as the ledger books it before it is sent. Where limits are set, the run file has a line for each:
// whatever kills the process, the next one knows what may have been spent, and when. A call that took more tokens than were
// reserved has a second line of the same time, with the rest.
type Booking struct {
	At    string `json:"at"` // RFC 3339, UTC
	Model string `json:"model"`
	// Service is the name of the service that is called, "" for the unnamed one.
	Service string `json:"service,omitempty"`
	Tokens  int    `json:"tokens"` // that are reserved for the call
	// Local says that it is a run of a program on this machine, to which no rate applies.
	Local bool `json:"local,omitempty"`
	// Spent are the totals with this call and all others that are under way, at what is reserved for them.
	Spent Spent `json:"spent"`
}
