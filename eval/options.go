package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// Options are the choices of a command for a run, in addition to its suites. The header of a run file
// records them; none is a secret. A zero value was not given.
type Options struct {
	ServiceOptions
	LimitOptions
	SelectionOptions
	SourceOptions
	GateOptions

	Emulator  string            `json:"-"`                 // the file of a script, or DemoScript; written with ServiceOptions
	Out       string            `json:"out,omitempty"`     // the run directory
	Reports   []string          `json:"reports,omitempty"` // FORMAT or FORMAT=PATH
	Vars      map[string]string `json:"vars,omitempty"`
	Seed      uint64            `json:"seed,omitempty"`
	Untrusted bool              `json:"untrusted,omitempty"` // the suites are
	Allow     []string          `json:"allow,omitempty"`     // what they may do nevertheless: program, http=HOST
	// AllowFile are globs of hidden files and keys that suites may read, relative to the project.
	AllowFile []string `json:"allowFile,omitempty"`
	NoContent bool     `json:"noContent,omitempty"` // prompts and answers stay out of all files

	// Batch has calls answered in batches, within hours and at a lower price.
	Batch bool `json:"batch,omitempty"`
	// Wait has this session wait for the batches, and Live has it send at once what has no answer yet.
	Wait bool `json:"-"`
	Live bool `json:"-"`

	// Name and Labels of the run are in its header.
	Name   string            `json:"-"`
	Labels map[string]string `json:"-"`
}

// RunOptions are the options in the header of a run file. Whatever another program wrote there, the run itself stays readable.
type RunOptions struct {
	Options
	// Unreadable is why the options could not be read in full; nil when they could. Reports do without them, resuming does
	// not.
	Unreadable error `json:"-"`
}

// WithDefaults are options with those of a project file, which apply where the others, variables and suites set nothing. The
// run directory has a copy of the file.
type WithDefaults struct {
	Options
	Defaults Options // zero without a project file
}

// ServiceOptions say where requests are sent.
type ServiceOptions struct {
	BaseURL      string   `json:"baseUrl,omitempty"`
	APIVersion   string   `json:"apiVersion,omitempty"`
	HeaderPrefix string   `json:"headerPrefix,omitempty"`
	Auth         AuthKind `json:"auth,omitempty"`
	Project      string   `json:"project,omitempty"`
	ScopeBase    string   `json:"authScopeBase,omitempty"`
	// Services are base URLs of named services, by name. They replace the suites' URLs.
	Services map[string]string `json:"services,omitempty"`
	// AllowEnv are variables of the environment that may hold keys although their names are neither EVALRUN_* nor
	// *_API_KEY.
	AllowEnv []string `json:"allowEnv,omitempty"`
}

// DemoScript is the value of Options.Emulator for the built-in script.
const DemoScript = "demo"

// LimitOptions bound the calls of a run and what it spends.
type LimitOptions struct {
	Concurrency  int           `json:"concurrency,omitempty"`
	RPM          int           `json:"rpm,omitempty"` // requests per minute
	TPM          int           `json:"tpm,omitempty"` // tokens per minute
	BudgetTokens int           `json:"budgetTokens,omitempty"`
	BudgetCalls  int           `json:"budgetCalls,omitempty"`
	BudgetMoney  float64       `json:"budgetMoney,omitempty"`
	BudgetTime   time.Duration `json:"budgetTimeNs,omitempty"`
	Prices       string        `json:"prices,omitempty"` // a file
	Attempts     int           `json:"attempts,omitempty"`
	Timeout      time.Duration `json:"timeoutNs,omitempty"`
	MaxFailures  int           `json:"maxFailures,omitempty"`
}

// SelectionOptions select trials of the suites.
type SelectionOptions struct {
	Repeats      int      `json:"repeats,omitempty"`
	MaxTrials    int      `json:"maxTrials,omitempty"` // 0: DefaultMaxTrials
	Cases        []string `json:"cases,omitempty"`     // globs, as the next two
	Tags         []string `json:"tags,omitempty"`
	Arms         []string `json:"arms,omitempty"`
	FailedIn     string   `json:"failedIn,omitempty"`     // a run: only trials that failed in it
	ChangedSince string   `json:"changedSince,omitempty"` // a run: only trials that are not in it in their current form
	Sample       int      `json:"sample,omitempty"`       // cases of each suite
	Selected     *Places  `json:"selected,omitempty"`     // the trials that FailedIn, ChangedSince and Sample select
	Shard        Shard    `json:"shard,omitzero"`
	AllowEmpty   bool     `json:"allowEmpty,omitempty"`
}

// GateOptions are rules of the gate that replace the suites' rules.
type GateOptions struct {
	Baseline   BaselineOption `json:"-"`                    // written as baseline or noBaseline
	Interleave string         `json:"interleave,omitempty"` // SUITE@REF
	// GateOf is a run, a suite file or @REF, a version in git, whose gate counts where it is the stricter one.
	GateOf string `json:"gateOf,omitempty"`
	// AcceptSuiteChanges lets the baseline file, the `accepted` lists and new suites of a change count under GateOf.
	AcceptSuiteChanges bool `json:"acceptSuiteChanges,omitempty"`

	Rule        RuleOptions `json:"rule,omitzero"`
	Race        string      `json:"race,omitempty"` // the metric on which the arms race; "" for no race
	MinPassRate *float64    `json:"minPassRate,omitempty"`
	// PassRateBound goes with MinPassRate. Only project files state it.
	PassRateBound *BoundRule `json:"passRateBound,omitempty"`
	MaxErrors     *float64   `json:"maxErrors,omitempty"`
	MaxBlocked    *float64   `json:"maxBlocked,omitempty"`
}

// RuleOptions decide a comparison.
type RuleOptions struct {
	Margin         float64        `json:"margin,omitempty"`
	Alpha          float64        `json:"alpha,omitempty"`
	OnInconclusive OnInconclusive `json:"onInconclusive,omitempty"`
	Metrics        []string       `json:"metrics,omitempty"` // NAME or NAME=MARGIN
	StopEarly      bool           `json:"stopEarly,omitempty"`
	Estimand       Estimand       `json:"estimand,omitempty"`
	MinPaired      *float64       `json:"minPaired,omitempty"`
	AllowRemoved   []string       `json:"allowRemoved,omitempty"` // globs of suites and arms
}

// Interleaved is the suite file of Interleave, and the version of it, as git names it, whose arms run next to the suite's own.
func (o *GateOptions) Interleaved() (file, ref string, err error) {
	if o.Interleave == "" {
		return "", "", nil
	}
	at := strings.LastIndexByte(o.Interleave, '@')
	if at <= 0 || !plainRef.MatchString(o.Interleave[at+1:]) {
		return "", "", fmt.Errorf("--interleave takes SUITE@REF, such as suite.yaml@main, and not %s", o.Interleave)
	}
	return o.Interleave[:at], o.Interleave[at+1:], nil
}

// plainRef is a version that git cannot take for an option or a range.
var plainRef = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./~^-]*$`)

// Narrows reports whether a filter is given.
func (o *SelectionOptions) Narrows() bool {
	return len(o.Cases)+len(o.Tags)+len(o.Arms)+o.Sample > 0 || o.FailedIn+o.ChangedSince != "" || o.Shard != (Shard{}) ||
		o.Selected != nil
}

// Handpicked reports whether the user named the single trials, as `go test -run` does.
func (o *SelectionOptions) Handpicked() bool {
	return o.Selected != nil && o.Sample == 0 && o.FailedIn+o.ChangedSince == ""
}

// UnmarshalJSON reads what MarshalJSON wrote. In case of an error the options have what could be read.
func (o *Options) UnmarshalJSON(data []byte) error {
	type plain Options
	var p plain
	var apart struct {
		writtenBaseline
		Emulator string
	}
	err := cmp.Or(json.Unmarshal(data, &p), json.Unmarshal(data, &apart))
	*o = Options(p)
	o.Baseline, o.Emulator = apart.read(), apart.Emulator
	return err
}

// UnmarshalJSON reads as much of the options as it can.
func (o *RunOptions) UnmarshalJSON(data []byte) error {
	o.Unreadable = json.Unmarshal(data, &o.Options)
	return nil
}

// MarshalJSON spells times in nanoseconds, as every version has done, which wirejson.Append alone would not.
func (o Options) MarshalJSON() ([]byte, error) {
	type plain Options
	return wirejson.Marshal(struct {
		// These groups hide those of plain, which are deeper. So the baseline keeps its place after them.
		writtenService
		LimitOptions
		SelectionOptions
		SourceOptions
		writtenBaseline
		plain
	}{o.writtenService(), o.LimitOptions, o.SelectionOptions, o.SourceOptions, o.writtenBaseline(), plain(o)})
}

// writtenService are ServiceOptions in a run file, with the script of the emulator.
type writtenService struct {
	BaseURL      string            `json:"baseUrl,omitempty"`
	APIVersion   string            `json:"apiVersion,omitempty"`
	HeaderPrefix string            `json:"headerPrefix,omitempty"`
	Auth         AuthKind          `json:"auth,omitempty"`
	Project      string            `json:"project,omitempty"`
	ScopeBase    string            `json:"authScopeBase,omitempty"`
	Emulator     string            `json:"emulator,omitempty"`
	Services     map[string]string `json:"services,omitempty"`
	AllowEnv     []string          `json:"allowEnv,omitempty"`
}

func (o *Options) writtenService() writtenService {
	return writtenService{
		o.BaseURL, o.APIVersion, o.HeaderPrefix, o.Auth, o.Project, o.ScopeBase, o.Emulator, o.Services, o.AllowEnv,
	}
}

// DefaultMaxTrials is how many trials suites may have unless the user allows more.
const DefaultMaxTrials = 5_000_000

// TooManyTrials reports more trials than allowed, and what to do; "" when the number is fine. 0 allows DefaultMaxTrials.
func TooManyTrials(trials, most int) (problem, hint string) {
	if most = cmp.Or(most, DefaultMaxTrials); trials <= most {
		return "", ""
	}
	return fmt.Sprintf("more than %d trials", most), "narrow `matrix`, `repeats`, targets or prompts, or allow more with --max-trials N"
}
