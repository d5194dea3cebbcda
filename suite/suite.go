// Package suite reads a suite file into a checked Suite: what is sent, to which targets, and what a good answer is.
// Load finds every problem at once, each with its position; a Suite that was loaded without errors can be run.
//
// Cases expand lazily: a Suite keeps what the file says, and Cases yields one expanded Case at a time. Files are opened
// through the fs.FS given to Load and nowhere else.
//
// The usual order: Load, then Arms, then Cases and, for each case and arm, Suite.Render. LoadPrices reads a price list, which a suite or a
// flag names.
package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/internal/tmpl"
	"github.com/evalrun/evalrun/pricing"
	"github.com/evalrun/evalrun/variable"
)

// Suite is a checked suite file.
type Suite struct {
	File        string // as the user named it
	Name        string
	Description string
	Tags        []string // of every case
	Service     Service
	Services    []*NamedService // in the order of the file
	Targets     []*Target
	Prompts     []*Prompt
	Limits      Limits
	Embedding   Embedding
	Judges      []*Judge         // in the order of the file
	Prices      *pricing.List    // nil: the file names no price list
	Gate        *eval.GateConfig // nil: the file has no gate block

	arms       []Arm
	defaults   caseDef
	cases      []keptCase
	usual      *expansion  // of a definition that has no scorers and sets nothing
	scoreNames []string    // names of scorers, in the order of the file
	classes    []string    // of the classification; nil without one
	classified *scorerDef  // the scorer that it is
	unnamed    bool        // some names of scorers show only when a case is expanded
	count      int         // of cases
	numbered   bool        // some rows have a name that is taken
	trials     map[Arm]int // as Load has counted them; see Trials
	whole      bool        // Load has found no error
	files      *files
	opts       Options
	kinds      Kinds
	embeds     bool
	labelled   bool
	budget     *tmpl.Budget        // of templates while the suite is loaded, nil afterwards
	costs      map[string]diag.Pos // scorers of what answers cost, by the arms that they judge
	derived    []*Metric
	pairing    *pairing // the names of both versions; nil without an earlier one
	misspelled misspelled
}

// Embedding is the model that turns texts into vectors, for scorers that compare them.
type Embedding struct {
	Model      string
	APIVersion string        // "" for the run's
	Service    *NamedService // nil: the unnamed one
	Pos        diag.Pos
}

// Service says where the service is. Empty fields were not given.
type Service struct {
	BaseURL       string
	APIVersion    string
	HeaderPrefix  string
	Auth          string
	Project       string
	AuthScopeBase string
}

// Limits bound a run. Zero fields were not given.
type Limits struct {
	Concurrency       int
	RequestsPerMinute int
	TokensPerMinute   int
	BudgetTokens      int
	BudgetCalls       int
	BudgetMoney       float64 // in the currency of the price list
	BudgetTime        time.Duration
	Timeout           time.Duration
	Attempts          int
	CountTokens       string
	Models            []ModelLimits
	// Services are the limits of named services, by their names, where a run has settled them.
	Services map[string]Limits
	// SharedTokens says that the ledger of the team limits tokens.
	SharedTokens bool
}

// TokensMatter reports whether a limit or a budget depends on how many tokens calls cost.
func (l *Limits) TokensMatter() bool {
	if l.BudgetTokens > 0 || l.TokensPerMinute > 0 || l.BudgetMoney > 0 || l.SharedTokens {
		return true
	}
	for _, of := range l.Services {
		if of.TokensPerMinute > 0 {
			return true
		}
	}
	return slices.ContainsFunc(l.Models, func(m ModelLimits) bool { return m.TokensPerMinute > 0 })
}

// ModelLimits are limits of the calls to one model, in addition to those of all calls.
type ModelLimits struct {
	Model             string
	RequestsPerMinute int
	TokensPerMinute   int
}

// CountTokens modes of Limits.
const (
	CountAlways = "always"
	CountAuto   = "auto"
	CountNever  = "never"
)

// Target is a model with its configuration: a thing under test.
type Target struct {
	Name             string
	Model            string
	APIVersion       string // "" for the run's
	Stream           bool   // answers come in chunks
	GenerationConfig *eval.GenerationConfig
	SafetySettings   []eval.SafetySetting
	Extra            eval.Extra    // fields at the top level of its requests
	Service          *NamedService // nil: the unnamed one
	App              *Application  // nil: it is a model
	Attempts         int           // of a call at most; 0: those of the run
	ModelPos         diag.Pos
	MaxOutputPos     diag.Pos // of maxOutputTokens, when given
}

// Arm is one target with one prompt.
type Arm struct {
	Target *Target
	Prompt *Prompt

	ref         string // how the earlier version of the suite is called that the arm is of; "" for the suite's own
	name, plain string // Name, and the same without the version, kept since every trial needs them
}

func newArm(t *Target, p *Prompt, ref string) Arm {
	a := Arm{Target: t, Prompt: p, ref: ref, plain: t.Name + "/" + p.Name}
	if a.name = a.plain; ref != "" {
		a.name += "@" + ref // see eval.IsEarlier
	}
	return a
}

// Name is target/prompt, and, of an arm of an earlier version of the suite, target/prompt@version.
func (a Arm) Name() string { return a.name }

// Matches reports whether globs name the arm. Those of an earlier version are named along with the suite's own.
func (a Arm) Matches(globs glob.Patterns) bool {
	return globs.Match(a.plain) || a.ref != "" && globs.Match(a.Name())
}

// Options are the choices of a command that change what a suite means.
type Options struct {
	// Shown is how the user named the file, for messages; "" is its path.
	Shown   string
	Vars    map[string]string // --var: win over the variables of cases
	Repeats int               // --repeats: wins over the suite's; 0 leaves it
	// DefaultRepeats is how often cases run where neither Repeats nor the suite says it; 0 is once.
	DefaultRepeats int
	Getenv         func(string) string // for ${env:EVALRUN_...} in service; nil: nothing is set
	// Dir is the folder of the suite on this machine, in which its programs run. Optional: without it none do.
	Dir string
	// Untrusted says that the suite comes from an author who must not choose where the key goes.
	Untrusted bool
	// Allow lifts what an untrusted suite may not do, as --allow takes it: `program`, `http=HOST`,
	// `services=HOST`. CheckAllow checks a value.
	Allow []string
	// AllowEnv are variables of the environment that may hold keys although their names are neither EVALRUN_* nor
	// *_API_KEY.
	AllowEnv []string
	// Services are those of a project file, for what names a service that the suite does not have.
	Services []*NamedService
	// Can reports whether a protocol of named services has one of the methods in package service, such as countTokens.
	// Optional: without it every protocol has all of them.
	Can func(protocol, method string) bool
	// OwnBaseline says that the user named a baseline, or none. The baseline of an untrusted suite, which could be any
	// file, is then not used.
	OwnBaseline bool
	// Race says that the arms race, which does not go with a comparison.
	Race bool
	// Expected are the files of expected answers as they were at another time. Optional: those of the suite's folder.
	Expected fs.FS
	// Base is an earlier version of the suite, which runs next to it with its own cases and scorers on the arms of the same name. Optional.
	Base *Suite
	// Ref is how the version is called, for an earlier version of a suite.
	Ref string
	// Now is the time by which quarantines end; zero: the time there is.
	Now time.Time
}

// Kinds is what a suite needs to know about scorers, so that a wrong argument is found together with all other
// problems.
type Kinds interface {
	// Names lists the kinds there are, and Has reports whether there is one.
	Names() []string
	Has(kind string) bool
	// Check reports what is wrong with the arguments of a scorer, at their nodes, and gives what it needs.
	Check(s *Scorer) Needs
}

// Case is one set of variables with what the answer must satisfy, expanded.
type Case struct {
	Name      string
	ID        string // VarsHash, or the case's own id
	VarsHash  string // hash of variables and image bytes
	Tags      []string
	Cluster   string
	Repeats   int
	Threshold *float64
	// Quarantine keeps the case out of the gate; nil for most.
	Quarantine *eval.Quarantine
	Arms       []Arm // in the suite's order
	Scorers    []*Scorer
	Pos        diag.Pos

	vars   variable.Dict
	row    *row         // nil: no data file
	budget *tmpl.Budget // of templates; nil: no end
	many   bool         // one of several that a definition makes
	vague  bool         // it may have more variables, under a key that is misspelled
}

// armNames are the names that globs of arms can match.
func (s *Suite) armNames() []string {
	var out []string
	for _, a := range s.arms {
		out = append(out, a.plain)
	}
	return out
}

// Embeds reports whether a scorer of the suite compares embeddings.
func (s *Suite) Embeds() bool { return s.embeds }

// TakesLabels reports whether a scorer takes what people say of answers.
func (s *Suite) TakesLabels() bool { return s.labelled }

// CaseCount is the number of cases.
func (s *Suite) CaseCount() int { return s.count }

// Cases yields the cases in the order of the file, each expanded as it is yielded. Scorers without templates are the
// same pointers from case to case. When Err is not nil afterwards, some are missing.
func (s *Suite) Cases() iter.Seq[*Case] { return s.each((*expansion).expand) }

// Outlines is Cases without scorers, and without an ID where the suite gives none: quicker, for callers that only count
// and choose.
func (s *Suite) Outlines() iter.Seq[*Case] { return s.each((*expansion).outline) }

func (s *Suite) each(expand func(*expansion, variant, *diag.List) *Case) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		names := newCaseNames()
		for _, kept := range s.cases {
			def := kept.thaw(s)
			var ignored diag.List // Load has reported everything
			x := s.expansion(def)
			for v := range s.variants(def, &ignored) {
				c := expand(x, v, &ignored)
				if s.numbered {
					names.number(c)
				}
				if !yield(c) {
					return
				}
			}
		}
	}
}

// ReadFile is a text file of the suite's folder. It counts as a part of the suite from then on: it goes into the snapshot and
// the hash. The error is for people.
func (s *Suite) ReadFile(name string) ([]byte, error) { return s.files.text(name) }

// Untrusted reports whether the suite comes from an author who must not choose what runs here and where the key goes.
func (s *Suite) Untrusted() bool { return s.opts.Untrusted }

// Vars are the variables of the case, those of the command line included. They are not to be changed.
func (c *Case) Vars() variable.Dict { return c.vars }

// Render makes the contents and the system text of the request of arm for this case. The error is a *diag.ListError;
// after a Load without errors it means that a file has changed since.
func (s *Suite) Render(c *Case, arm Arm) (eval.Request, error) {
	var diags diag.List
	out, _ := arm.Prompt.rendered(c, s.files, &diags, true)
	return out, diags.Err()
}

// ScorersFor lists the scorers of the case that apply to the arm.
func (c *Case) ScorersFor(arm Arm) []*Scorer {
	if !slices.ContainsFunc(c.Scorers, func(sc *Scorer) bool { return !arm.Matches(sc.Arms) }) {
		return c.Scorers
	}
	var out []*Scorer
	for _, sc := range c.Scorers {
		if arm.Matches(sc.Arms) {
			out = append(out, sc)
		}
	}
	return out
}

// Sources yields the text files that make up the suite, by their names in the suite's
// folder, the suite file first: what a snapshot holds.
func (s *Suite) Sources() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if !yield(s.files.suite, s.files.texts[s.files.suite]) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(s.files.texts)) {
			if name != s.files.suite && !yield(name, s.files.texts[name]) {
				return
			}
		}
	}
}

// Base is the name of the suite file in its folder.
func (s *Suite) Base() string { return s.files.suite }

// Shown is how a file of the suite's folder is named in messages.
func (s *Suite) Shown(name string) string { return shownWith(s.File, name) }

// shownWith names a file that is next to another in messages.
func shownWith(other, name string) string {
	return other[:strings.LastIndexByte(other, '/')+1] + name
}

// Hash is the SHA-256 of the suite file and the prompt files it names.
func (s *Suite) Hash() string {
	h := sha256.New()
	for name, text := range s.Sources() {
		h.Write([]byte(name + "\x00"))
		h.Write(text)
		h.Write([]byte{0})
	}
	s.files.data.digest(h)
	return hex.EncodeToString(h.Sum(nil))
}

// Templates are bounded over a whole load, since a matrix of a few hundred bytes makes many cases. The bound is a base,
// and an amount for each case on each arm. The content of data files is added to it.
const (
	templateBase    = 64 << 20
	templatePerCase = 4 << 10
	templatePerByte = 4
)

// Load reads and checks the suite file path in fsys. Errors and warnings go to diags; the Suite is not to be run when
// diags has errors.
func Load(fsys fs.FS, path string, kinds Kinds, opts Options, diags *diag.List) *Suite {
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	s := &Suite{File: cmp.Or(opts.Shown, path), files: newFiles(fsys, path), opts: opts, kinds: kinds}
	return s.loadBy(lean(), diags)
}

// loadBy reads and checks the suite with thrift, and again with less when that is needed.
func (s *Suite) loadBy(how thrift, diags *diag.List) *Suite {
	own := diags.Clone() // other suites may have left errors in it
	one := &Suite{File: s.File, files: newFiles(s.files.fsys, s.files.suite), opts: s.opts, kinds: s.kinds}
	if less, reload := one.load(how, &own); reload {
		return s.loadBy(less, diags)
	}
	*diags = own
	return one
}

// load reads and checks the suite. reload says that it must be loaded once more, with less.
func (s *Suite) load(how thrift, diags *diag.List) (less thrift, reload bool) {
	src, err := s.files.text(s.files.suite)
	if err != nil {
		diags.Errorf(diag.Pos{File: s.File}, "", "%s", err)
		return less, false
	}
	root, ok := how.cutting.Parse(s.File, src, diags)
	if !ok {
		return less, false
	}
	l := loader{Suite: s, diags: diags, thrift: how}
	s.budget = &tmpl.Budget{}
	s.budget.Grow(templateBase)
	l.load(root)
	s.budget, s.whole = nil, !diags.HasErrors()
	s.files.freeze()
	if less, reload = l.less(); reload {
		return less, true
	}
	if s.opts.Base != nil && !diags.HasErrors() {
		s.pairing = newPairing(s)
	}
	return less, false
}
