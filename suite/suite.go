// Package suite reads a suite file into a checked Suite: what is sent, to which targets, and what a good answer is.
// Load finds every problem at once, each with its position; a Suite that was loaded without errors can be run.
//
// Cases expand lazily: a Suite keeps what the file says, and Cases yields one expanded Case at a time. Files are opened
// through the fs.FS given to Load and nowhere else.
//
// The usual order: Load, then Arms, then Cases and, for each case and arm, Suite.Render. LoadPrices reads a price list.
package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Suite is a checked suite file.
type Suite struct {
	File        string // path as the user wrote it
	Name        string
	Description string
	Tags        []string // tags of every case, in addition to its own
	Service     UnnamedService
	Services    []*NamedService // in the order of the file
	Targets     []*Target
	Prompts     []*Prompt
	Limits      Limits
	Embedding   Embedding
	Judges      []*Judge         // in the order of the file
	Prices      *eval.PriceList  // nil without a price list
	PricesFile  string           // as shown to people
	Gate        *eval.GateConfig // nil without a gate block

	origin
	arms        []Arm
	table       caseTable
	metricNames metricNames
	acceptedAt  map[string]diag.Pos // by key and pattern
	needs       scorerNeeds
	outputs     outputs // of programs that write prompts
	unwritten   Unwritten
	repeats     map[string]int // by case, at least
	loading     *loading       // nil after Load
}

// origin is what Load was called with. It is needed afterwards too: a walk over the cases reads data files, applies
// options such as --var, and checks scorers whose arguments differ from case to case.
type origin struct {
	files *sourceFiles
	kinds Kinds
	opts  Options
}

// loading is what a walk over the cases needs during Load alone.
type loading struct {
	budget     expr.Budget // limits what templates render
	misspelled misspelled
}

// Embedding is the model that turns texts into vectors, for scorers that compare them.
type Embedding struct {
	Model      string
	APIVersion string        // "" means that of the run
	Service    *NamedService // nil means the unnamed service
	Pos        diag.Pos
}

// UnnamedService is the address of the unnamed service, and how to authenticate. Fields that the suite does not set are "".
type UnnamedService struct {
	BaseURL       string
	APIVersion    string
	HeaderPrefix  string
	Auth          eval.AuthKind
	Project       string
	AuthScopeBase string
	Batch         Choice // whether calls are answered in batches, if not as --batch says
}

// Choice is a yes, a no, or "" where nothing was chosen.
type Choice string

// The values of a Choice.
const (
	Yes Choice = "true"
	No  Choice = "false"
)

func choice(n yaml.Node) Choice {
	if n.IsZero() {
		return ""
	}
	return Choice(strconv.FormatBool(n.Bool()))
}

// Limits bound the calls of a run. Fields that are not set are zero.
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
	BatchWait         time.Duration // for the batches of a run, with --wait
	CountTokens       TokenCounting
	Models            []ModelLimits
	// Services are the limits of named services, by name. Settings of a run have them; a suite does not.
	Services map[string]Limits
	// SharedTokens says that a shared ledger limits tokens.
	SharedTokens bool
}

// TokensMatter reports whether a limit or a budget depends on how many tokens calls cost.
func (l *Limits) TokensMatter() bool {
	if l.BudgetTokens > 0 || l.TokensPerMinute > 0 || l.BudgetMoney > 0 || l.SharedTokens {
		return true
	}
	for _, service := range l.Services {
		if service.TokensPerMinute > 0 {
			return true
		}
	}
	return slices.ContainsFunc(l.Models, func(m ModelLimits) bool { return m.TokensPerMinute > 0 })
}

// ModelLimits limit the calls to one model, in addition to the limits of all calls.
type ModelLimits struct {
	Model             string
	RequestsPerMinute int
	TokensPerMinute   int
}

// TokenCounting says when the service counts the tokens of a prompt.
type TokenCounting string

// The values of Limits.CountTokens; "" is not set.
const (
	CountAlways TokenCounting = "always"
	CountAuto   TokenCounting = "auto" // where a limit depends on it
	CountNever  TokenCounting = "never"
)

// Arm is one target with one prompt.
type Arm struct {
	Target *Target
	Prompt *Prompt

	ref   string // git revision of the earlier version that the arm belongs to; "" for the suite itself
	name  string // target/prompt, with @ref if there is one; kept since every trial needs it
	plain string // target/prompt
}

func newArm(t *Target, p *Prompt, ref string) Arm {
	a := Arm{Target: t, Prompt: p, ref: ref, plain: t.Name + "/" + p.Name}
	if a.name = a.plain; ref != "" {
		a.name += "@" + ref // names of targets and prompts have none, so it marks the earlier version
	}
	return a
}

// Name is target/prompt, or target/prompt@version for an arm of an earlier version of the suite.
func (a Arm) Name() string { return a.name }

// Matches reports whether a glob matches the arm. A glob that matches an arm of the suite matches the arm of the same name
// in an earlier version too.
func (a Arm) Matches(globs eval.Patterns) bool {
	return globs.Match(a.plain) || a.ref != "" && globs.Match(a.Name())
}

// Options are the settings of a command that change how a suite is loaded.
type Options struct {
	// Shown is the path of the file as the user wrote it, for messages; "" means the path given to Load.
	Shown   string
	Vars    map[string]string // --var: override the variables of cases
	Repeats int               // --repeats: overrides the repeats of the suite; 0 means not given
	// DefaultRepeats is used when neither Repeats nor the suite sets repeats; 0 means once.
	DefaultRepeats int
	// MaxTrials is the most trials that the suite may have; 0 means eval.DefaultMaxTrials.
	MaxTrials int
	Getenv    func(string) string // resolves ${env:EVALRUN_...} in service; nil means an empty environment
	// BaseURL is where a flag, a variable or the project file puts the unnamed service. With one, a model id is never split at
	// a vendor's name.
	BaseURL string
	// Dir is the absolute folder of the suite, in which its programs run. Optional: without it no program runs.
	Dir string
	// Untrusted says that the suite comes from an author who must not choose where the key goes.
	Untrusted bool
	// Allow lists permissions of an untrusted suite, in the form of --allow: `program`, `http=HOST`, `services=HOST:KEYENV`.
	// CheckAllow checks a value.
	Allow []string
	// AllowEnv names environment variables that may hold keys although they match neither EVALRUN_* nor *_API_KEY.
	AllowEnv []string
	// Services are the named services of a project file, which targets can use too. A service of the same name in the
	// suite wins.
	Services []*NamedService
	// Can reports whether a protocol of named services has one of the methods in internal/clients/wire, such as countTokens.
	// Optional: without it every protocol has all of them.
	Can func(protocol eval.ProtocolName, method string) bool
	// OwnBaseline says that the user chose a baseline, or --no-baseline. The baseline of an untrusted suite, which could
	// be any file, is then not used.
	OwnBaseline bool
	// Programs says where the output of programs that write prompts comes from.
	Programs Programs
	// Race says that the arms race. A race excludes a comparison with a baseline.
	Race bool
	// Expected holds the files of expected answers, for example among the copies of a run. Optional: without it they are
	// read from the suite's folder.
	Expected fs.FS
	// Base is an earlier version of the suite. It runs next to this one, with its own cases, on the arms of the same names.
	// Cases that are in both have the scorers of this one, unless each version is to have its OwnScorers. Optional.
	Base       *Suite
	OwnScorers bool
	// Ref is the git revision of an earlier version, as the user wrote it; "" for the suite itself.
	Ref string
	// Now decides which quarantines have ended; zero means time.Now.
	Now time.Time
}

// Kinds is the table of scorer kinds. Load uses it to check the arguments of scorers, so that these problems are reported
// together with all others.
type Kinds interface {
	// Names lists all kinds.
	Names() []string
	// Has reports whether a kind exists.
	Has(kind string) bool
	// Check reports problems with the arguments of a scorer at their nodes, and compiles it.
	Check(s *Scorer) CheckedScorer
}

// Case is one expanded case: a set of variables, and the scorers that its answers must pass.
type Case struct {
	Name      string
	ID        string // the `id` of the case, or VarsHash without one
	VarsHash  string // hash of variables and image bytes
	Tags      []string
	Cluster   string
	Repeats   int
	Threshold *float64
	// Quarantine keeps the case out of the gate; nil for a case that counts.
	Quarantine *eval.Quarantine
	Arms       []Arm // in the order of the suite
	Scorers    []*Scorer
	Pos        diag.Pos

	vars   eval.Dict
	hidden map[string]bool // names of variables that only scorers see
	hides  map[string]bool // those that vars lacks because of that
	row    *row            // of the data file; nil without one
	budget *expr.Budget    // limit for rendering templates; nil means none
	many   bool            // the definition makes several cases
	vague  bool            // a misspelled key may hide variables, so undefined ones are not reported
}

func (s *Suite) armNames() []string {
	var names []string
	for _, a := range s.arms {
		names = append(names, a.plain)
	}
	return names
}

// ReadFile reads a text file of the project. From then on the file is part of the suite: it goes into the copy
// and the hash. The error is worded for users.
func (s *Suite) ReadFile(name string) ([]byte, error) { return s.files.text(name) }

// Folder returns the files of a folder of the project; see files.Digest for what identifies them. The error
// is worded for users.
func (s *Suite) Folder(name string) (fs.FS, error) {
	s.files.mu.Lock()
	s.files.commands[path.Clean(name)+"/"] = true
	s.files.mu.Unlock()
	return s.files.folder(name)
}

// Untrusted reports whether the suite comes from an author who must not choose what runs here and where the key goes.
func (s *Suite) Untrusted() bool { return s.opts.Untrusted }

// Vars returns the variables of the case, including those of the command line. The caller must not change them.
func (c *Case) Vars() eval.Dict { return c.vars }

// Render makes the request of a case for an arm: contents, system text and tools. The error is a *diag.ListError. After a Load
// without errors, it means that a file has changed since.
func (s *Suite) Render(c *Case, arm Arm) (eval.Request, error) {
	if arm.Prompt.generator != nil && !s.isWritten(c, arm) {
		return eval.Request{}, ErrUnwritten
	}
	var diags diag.List
	out, _ := s.rendered(c, arm, &diags, true)
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

// Sources yields the text files that make up the suite, by their names in the suite's folder. A copy holds these
// files. The suite file comes first.
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

// FileName returns the name of the suite file, without its folder.
func (s *Suite) FileName() string { return s.files.suite }

// Shown returns the name for messages of a file of the suite.
func (s *Suite) Shown(name string) string { return shownWith(s.File, name) }

func shownWith(other, name string) string {
	if strings.HasPrefix(name, "../") {
		return path.Join(path.Dir(other), name)
	}
	return other[:strings.LastIndexByte(other, '/')+1] + name
}

// Hash is the SHA-256 of the files in Sources, by name and content, and of the data files that Sources leaves out.
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

// Rendering templates is limited over a whole load, since a matrix of a few hundred bytes can make many cases. The limit
// grows with the suite; all figures are bytes.
const (
	templateBase    = 64 << 20
	templatePerCase = 4 << 10 // for each case on each arm
	templatePerByte = 4       // for each byte of a data file
)

// Load reads and checks a suite file in fsys. Errors and warnings go to diags. A Suite with errors must not be run.
func Load(fsys fs.FS, file string, kinds Kinds, opts Options, diags *diag.List) *Suite {
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	s := &Suite{File: cmp.Or(opts.Shown, file), origin: origin{files: newFiles(fsys, file), kinds: kinds, opts: opts}}
	src, err := s.files.text(s.files.suite)
	if err != nil {
		diags.Errorf(diag.Pos{File: s.File}, "", "%s", err)
		return s
	}
	if root, ok := yaml.Parse(s.File, src, diags); ok {
		s.load(root, diags)
	}
	return s
}

func (s *Suite) load(root yaml.Node, diags *diag.List) {
	s.loading = &loading{}
	s.loading.budget.Grow(templateBase)
	l := loader{Suite: s, diags: diags, equal: map[string]*Scorer{}}
	s.outputs.kept = s.opts.Programs.kept
	if err := s.opts.Programs.problem; err != nil {
		diags.Errorf(diag.Pos{File: s.File}, "", "%s", err)
	}
	l.load(root)
	l.writePrompts()
	s.loading = nil
	s.keepOutputs()
	s.files.freeze()
	if diags.HasErrors() {
		s.table.trials = nil
	} else if s.opts.Base != nil {
		s.table.pairing = newPairing(s)
	}
}
