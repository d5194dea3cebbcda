package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Dir returns the folder of the suite on this machine; "" when it is in none.
func (s *Suite) Dir() string { return s.opts.Dir }

// Program finds the file of a program: a name with a slash is relative to the suite's folder, any other is looked up in
// PATH. It is "" for a suite that is in no folder on this machine. The error is worded for users.
func (s *Suite) Program(name string) (string, error) {
	switch {
	case s.opts.Dir == "":
		return "", nil
	case !strings.ContainsAny(name, `/\`):
		found, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("there is no program %s in PATH", name)
		}
		return found, nil
	}
	file, info, err := s.files.open(name)
	if err != nil {
		return "", err
	}
	file.Close() //nolint:errcheck // it was only looked at
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
		return "", fmt.Errorf("%s: %w", name, errNotExecutable)
	}
	return filepath.Join(s.opts.Dir, filepath.FromSlash(path.Clean(name))), nil
}

func (s *Suite) programHint(name string, err error) string {
	switch {
	case errors.Is(err, errNotExecutable):
		return "chmod +x makes it so; or name what runs it: [python3, check.py]"
	case strings.ContainsAny(name, " \t"):
		return "there is no shell: write a list, such as [./check.sh, --strict]"
	case s.Digest(name) != "":
		return "for the file of that name write ./" + name
	case strings.HasPrefix(name, "/"):
		return "write the name alone for a program in PATH"
	}
	return ""
}

// filesOf returns the digests of the project's files that a command names, by name.
func (s *Suite) filesOf(command []string) map[string]string {
	out := map[string]string{}
	for i, word := range command {
		if i == 0 && !strings.Contains(word, "/") { // a program in PATH
			continue
		}
		if digest := s.Digest(word); digest != "" {
			out[word] = digest
		}
	}
	return out
}

// errNotExecutable is wrapped by the error of Suite.Program for a file that cannot be executed.
var errNotExecutable = errors.New("the file is not executable")

// Digest returns the SHA-256 of a file of the project; "" when there is no such file. Each file is read once.
func (s *Suite) Digest(name string) string {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	if known, ok := s.files.digests[name]; ok {
		return known
	}
	digest := ""
	if file, _, err := s.files.unshown(name); err == nil {
		defer file.Close() //nolint:errcheck // it was only read
		h := sha256.New()
		if _, err := io.Copy(h, file); err == nil {
			digest = hex.EncodeToString(h.Sum(nil))
		}
	}
	s.files.digests[name] = digest
	return digest
}

// Program is an application that is a program, which runs once for each call.
type Program struct {
	Command []string // as written in the suite
	Args    []string
	// Reading says how to read the output; zero for the forms that every program may write.
	Reading eval.Reading
	Dir     string   // working directory: the suite's folder
	Env     []string // names of private variables to pass to it
	// Workspace is a folder of the project, relative to Dir. Each trial runs in a fresh copy of it, or in Dir when it is "".
	Workspace string
	// WorkspaceDigest identifies the content of Workspace when the suite was loaded; see files.Digest.
	WorkspaceDigest string
	folder          fs.FS // with the content of Workspace
	keep            keptCopies
	vars            passed
	Confined        Confinement
	// Named are the files and folders of the project that Command names, by their index there, if the program is Placed.
	Named map[int]string
	// Models are the services that the program may call by way of the proxy. AddressEnv are further variables with the address of one.
	Models     []*NamedService
	AddressEnv map[string]string
	Faults     []eval.ModelFault // what goes wrong on purpose with these calls
	// MostSteps, MostTokens and MostMoney limit the calls of models in a trial; 0 is unlimited.
	MostSteps, MostTokens int
	MostMoney             float64
	// ScoresLate says that what is there when the time is up is scored.
	ScoresLate bool
	// Timeout is the time limit of one call.
	Timeout time.Duration
	// Concurrency limits the calls in progress at once; 0 means the lower of the limit for models and the number of processors.
	Concurrency int

	templates map[int]source    // of arguments, by their index in Command
	files     map[string]string // digests of files that the command names, by name
	identity  string            // the command with these digests
	path      string
	missing   error
}

// Path returns the path of the program's file; "" when the suite is in no folder on this machine. The error names a
// program that is missing, with its position in the suite.
func (p *Program) Path() (string, error) { return p.path, p.missing }

// WorkspaceFiles returns the files of Workspace.
func (p *Program) WorkspaceFiles() fs.FS { return p.folder }

// keptCopies says which copies of a workspace are kept in the run directory.
type keptCopies string

// The values of `keep`.
const (
	keepNone   keptCopies = "none"
	keepFailed keptCopies = "failed" // copies of trials with a failure or an error
	keepAll    keptCopies = "all"
)

// Keeps reports whether to keep the workspace of a trial, depending on whether it passed.
func (p *Program) Keeps(passed bool) bool {
	return p.keep == keepAll || p.keep == keepFailed && !passed
}

const (
	programTimeout = 2 * time.Minute
	programLongest = 24 * time.Hour
)

var programBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"command"},
		Keys: slices.Concat(confinementKeys(), readingKeys("output", key(
			"stream", yaml.Word(streamLines), "The output is lines of JSON; `answer` is applied to each.",
		)), []yaml.Key{
			key(
				"command", yaml.OneOrMore(yaml.Text),
				"The program and its arguments. There is no shell: a template such as `{{prompt}}` fills one argument.",
			),
			key("onTimeout", yaml.Word("error", "score"), "score: what is there when the time is up is scored; error when not given."),
			key(
				"workspace", yaml.Text,
				"A folder of the project. Each trial runs in a fresh copy of it; without one the program runs in the suite's folder.",
			),
			key(
				"keep", yaml.WordShape(keepNone, keepFailed, keepAll),
				"Which copies are kept in the run directory: none when not given, failed (of trials that did not pass), or all.",
			),
			key("timeout", yaml.Duration, "How long one call may take: 120s when not given, 24h at most."),
			key(
				"env", yaml.OneOrList(yaml.Text),
				"Names of variables that the program gets besides PATH, language and proxies, or inherit: all but keys.",
			),
			key(
				"vars", passedShape(),
				"Variables that the program gets besides those that the prompt names, or all: never hidden ones.",
			),
			key(
				"models", yaml.OneOrList(yaml.Text),
				"Names of `services` or vendors that the program calls: it gets their addresses at evalrun's proxy, and a token as the key.",
			),
			key(
				"baseUrlEnv", yaml.MapShape(yaml.Text),
				"Further variables with the address of a service: {MY_BASE_URL: openai}.",
			),
			{Name: "limits", Is: programLimits().Shape(), Doc: "How much the program may call its `models` in a trial."},
			key(
				"concurrency", yaml.Int(1, MaxConcurrency),
				"How many calls may be under way at once: `limits.concurrency`, but no more than there are processors, when not given.",
			),
		}),
	}
})

var programLimits = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: []string{"steps", "tokens", "money"},
		Keys: []yaml.Key{
			key("steps", yaml.Int(1, math.MaxInt32), "Calls of models; further ones are refused."),
			key("tokens", yaml.Int(1, math.MaxInt32), "Tokens that they used; further calls are refused."),
			key("money", yaml.Number(0, math.MaxInt32), "What they cost by the price list; further calls are refused."),
		},
	}
})

func (l *loader) program(n yaml.Node) *Program {
	m := n.Map(programBlock().Names()...)
	p := &Program{Dir: l.opts.Dir, Timeout: programTimeout, Concurrency: m.Get("concurrency").Int(1, MaxConcurrency)}
	if !n.IsMapping() {
		return p
	}
	if l.refusesProgram(m.Key("command")) {
		return p
	}
	l.command(p, m.Need("command"))
	p.Workspace = cleanName(m.Get("workspace"))
	p.Reading = l.reading(m, streamLines)
	if m.Has("usage") && m.Has("models") {
		m.Key("usage").Errorf("remove it", "the tokens of a program with `models` are counted")
	}
	l.models(p, m)
	l.confine(p, m)
	l.workspace(p, m)
	p.ScoresLate = m.Get("onTimeout").Word("error", "score") == "score"
	l.programNodes = append(l.programNodes, programNode{p, m})
	if v := m.Get("timeout"); !v.IsZero() {
		if p.Timeout = v.Duration(); p.Timeout > programLongest {
			v.Errorf("shorten it", "a program may take %s at most", programLongest)
		}
	}
	if n := m.Get("env"); n.IsScalar() && n.Str() == inheritWord {
		p.Confined.Inherits = true
	} else {
		p.Env = l.PassedVariables(n)
	}
	if v := m.Get("vars"); !v.IsZero() {
		p.vars = readPassed(v)
	}
	return p
}

// models reads the services that the program calls. Its libraries find one service of each protocol; others need a variable.
func (l *loader) models(p *Program, m yaml.Map) {
	p.AddressEnv = map[string]string{}
	for e := range m.Get("baseUrlEnv").Map().Entries() {
		if !files.IsName(e.Name()) {
			e.Key.Errorf("letters, digits and `_` are allowed", "`%s` is not the name of an environment variable", e.Name())
		}
		p.AddressEnv[e.Name()] = e.Value.Str()
	}
	if limits := m.Get("limits"); !limits.IsZero() {
		of := limits.Map(programLimits().Names()...)
		p.MostSteps, p.MostTokens = of.Get("steps").Int(1, math.MaxInt32), of.Get("tokens").Int(1, math.MaxInt32)
		p.MostMoney = of.Get("money").Float(0, math.MaxInt32)
		if !m.Has("models") {
			m.Key("limits").Errorf("name what it calls: `models: [openai]`", "`limits` counts the calls of a program's `models`, and it has none")
		}
	}
	named := slices.Collect(maps.Values(p.AddressEnv))
	found := map[string]string{} // the service that a variable has
	for _, item := range m.Get("models").Items() {
		name := item.Str()
		known := slices.ContainsFunc(slices.Concat(l.Services, l.opts.Services), func(s *NamedService) bool { return s.Name == name })
		var one *NamedService
		if !known && wire.VendorNamed(name) != nil {
			one = l.vendorService(item, name)
		} else if one = l.serviceOf(item); one == nil {
			continue
		}
		p.Models = append(p.Models, one)
		variable := wire.ClientsOf(one.Protocol).AddressEnv
		if first := found[variable]; first != "" && !slices.Contains(named, name) {
			item.Errorf("name one more: `baseUrlEnv: {MY_BASE_URL: "+name+"}`",
				"the program cannot find `%s`: %s has the address of `%s`", name, variable, first)
		}
		found[variable] = cmp.Or(found[variable], name)
	}
	for e := range m.Get("baseUrlEnv").Map().Entries() {
		if !slices.ContainsFunc(p.Models, func(s *NamedService) bool { return s.Name == e.Value.Str() }) {
			e.Value.Errorf("add it to `models`", "`%s` is not among the `models` of the program", e.Value.Str())
		}
	}
}

func (l *loader) command(p *Program, n yaml.Node) {
	if n.IsZero() {
		return
	}
	words, ok := commandWords(n, "command")
	if !ok {
		return
	}
	if strings.Contains(words[0], "{{") {
		n.Items()[0].Errorf("its arguments may be templates", "the program itself is not a template")
		return
	}
	p.templates = map[int]source{}
	for i, item := range n.Items() {
		if strings.Contains(words[i], "{{") {
			l.argument(p, item, i, words)
		}
		if strings.ContainsRune(words[i], 0) {
			item.Errorf("remove it", "an argument cannot hold a zero byte")
		}
	}
	p.Command, p.identity = words, l.commandIdentity(words)
	p.Args, p.files = slices.Clone(words[1:]), l.filesOf(words)
	l.find(p, n.Items()[0], words[0])
	if p.Workspace == "" {
		l.warnOfScript(n.Items(), words)
	}
}

func (l *loader) argument(p *Program, n yaml.Node, i int, words []string) {
	if interpreter().MatchString(path.Base(words[0])) && isCode().MatchString(words[i-1]) {
		n.Errorf(
			"pass the value as an argument of its own: [sh, -c, 'tool \"$1\"', sh, \"{{prompt}}\"]",
			"a value in the code of `%s %s` would run as code", words[0], words[i-1],
		)
		return
	}
	p.templates[i] = l.in(&expr.Dialect{Functions: []string{"prompt", "system", "trial", "attempt"}}, n)
}

// isCode matches options after which interpreters take code.
var isCode = pattern(`^-[A-Za-z]*[ceEpr]$|^--(eval|print|command)$`)

var (
	interpreter = pattern(`^(python|pypy|node|deno|bun|ruby|perl|php|sh|bash|zsh|dash|Rscript|lua)[0-9.]*(\.exe)?$`)
	script      = pattern(`\.(py|js|mjs|cjs|ts|rb|pl|php|sh|R|lua)$`)
)

// warnOfScript warns of a script for an interpreter that is not there. A program that runs in another folder may find it there.
func (s *Suite) warnOfScript(items []yaml.Node, words []string) {
	if !interpreter().MatchString(path.Base(words[0])) {
		return
	}
	i := slices.IndexFunc(words[1:], func(word string) bool { return !strings.HasPrefix(word, "-") }) + 1
	if i == 0 || !script().MatchString(words[i]) || !files.Local(path.Clean(words[i])) {
		return
	}
	if _, err := fs.Stat(files.Unshown(s.files.fsys), path.Clean(words[i])); err != nil {
		items[i].Warnf("it has to be there for a run", "there is no file `%s` next to the suite", words[i])
	}
}

// find finds the file of the program. A program in PATH may be missing until a trial runs: machines that only use recorded
// answers need not have it.
func (l *loader) find(p *Program, at yaml.Node, name string) {
	if strings.ContainsAny(name, `/\ `) || l.Digest(name) != "" {
		p.path, _ = l.findProgram(at, name) // which reports what is wrong
		return
	}
	var err error
	if p.path, err = l.Program(name); err != nil {
		p.missing = fmt.Errorf("%w (%s)", err, at.Pos())
		at.Warnf("it has to be there for a run", "%s", err)
	}
}

func (l *loader) workspace(p *Program, m yaml.Map) {
	if p.Placed() {
		p.Named = l.namedFiles(p)
	}
	p.keep = cmp.Or(yaml.WordOf(m.Get("keep"), keepNone, keepFailed, keepAll), keepNone)
	n := m.Get("workspace")
	if n.IsZero() {
		if m.Has("keep") {
			m.Key("keep").Errorf(
				"name the folder: `workspace: fixtures/repo`",
				"`keep` is for copies of a `workspace`, and this program has none",
			)
		}
		return
	}
	var err error
	if p.folder, err = l.files.folder(p.Workspace); err == nil {
		p.WorkspaceDigest, err = files.Digest(p.folder)
	}
	if err != nil {
		n.Errorf(
			"name a folder of the project, such as fixtures/repo",
			"the workspace `%s` cannot be used: %s", n.Str(), err,
		)
	}
}

// inFolder reports whether a word of a command names a file of the project, or with a slash, a folder of it.
func (l *loader) inFolder(word string) bool {
	if l.Digest(word) != "" {
		return true
	}
	clean := path.Clean(word)
	if !strings.Contains(word, "/") || !files.Local(clean) {
		return false
	}
	info, err := fs.Stat(files.Unshown(l.files.fsys), clean)
	return err == nil && info.IsDir()
}

// programInput is the JSON on a program's standard input. Fields are only ever added, and the first two stay in front, so
// that one line of sed can extract the prompt.
type programInput struct {
	Version  int            `json:"version"`
	Prompt   string         `json:"prompt"`
	Messages []eval.Message `json:"messages"`
	System   string         `json:"system,omitempty"`
	Vars     eval.Dict      `json:"vars"`
	Trial    string         `json:"trial,omitempty"`
	Attempt  int            `json:"attempt,omitempty"`
}

// Render makes the input of the program for a case.
func (p *Program) Render(in *eval.Input) (*eval.Rendered, error) {
	vars := in.Vars
	if vars == nil {
		vars = eval.Dict{}
	}
	input, err := wirejson.Marshal(programInput{1, in.Prompt(), in.Messages, in.System, vars, in.Trial, in.Attempt})
	if err != nil { // impossible: all values were checked
		return nil, fmt.Errorf("the input cannot be written: %w", err)
	}
	var first error
	filled := renderedFor(in)
	filled.keepFirst(&first)
	return &eval.Rendered{Payload: &eval.ProgramRun{
		Command: p.Command, Args: p.fill(filled), Files: p.files, Input: json.RawMessage(input),
		Workspace: p.WorkspaceDigest, Models: p.modelNames(), Faults: p.Faults,
	}}, first
}

// maxArgument bounds an argument, in bytes, as Linux does.
const maxArgument = 128<<10 - 1

// fill returns the arguments with their templates filled; nil when there are no templates.
func (p *Program) fill(in *rendered) []string {
	if len(p.templates) == 0 {
		return nil
	}
	out := slices.Clone(p.Args)
	for i, s := range p.templates {
		text, fine := in.text(s)
		switch {
		case !fine:
		case strings.ContainsRune(text, 0):
			in.report(s, &expr.TemplateError{Message: "an argument cannot hold a zero byte"})
		case len(text) > maxArgument:
			in.report(s, &expr.TemplateError{Message: fmt.Sprintf(
				"an argument of %d bytes is too long, %d are allowed: standard input has the prompt too", len(text), maxArgument,
			)})
		}
		out[i-1] = text
	}
	return out
}

// calls are the services that a program calls by way of the proxy; nil for other targets.
func (t *Target) calls() []*NamedService {
	if p, ok := t.Of.(*Program); ok {
		return p.Models
	}
	return nil
}

// CallsModels reports whether a target is a model, or a program whose calls of models are seen.
func (t *Target) CallsModels() bool { return t.Model() != nil || len(t.calls()) > 0 }

func (p *Program) modelNames() (names []string) {
	for _, one := range p.Models {
		names = append(names, one.Name)
	}
	return names
}

// Workers returns how many calls may be in progress at once, given the limit for models and the number of processors.
func (p *Program) Workers(most, processors int) int {
	if p.Concurrency > 0 {
		return p.Concurrency
	}
	return max(1, min(most, processors))
}

func (p *Program) String() string {
	words := slices.Clone(p.Command)
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n\"'") {
			words[i] = fmt.Sprintf("%q", word)
		}
	}
	return strings.Join(words, " ")
}

// node is a value as it is written, which is a yaml.Node: other programs than this module have none.
type node interface{ Self() yaml.Node }

// Command is a program that a suite starts, with its arguments.
type Command struct {
	// Words are the program and its arguments, as written in the suite.
	Words []string
	// Path is the program's file. It is "" when the suite is in no folder on this machine.
	Path string
	// Gone is the reason why the program cannot be found; nil when it was found.
	Gone error
	// Dir is the working directory.
	Dir string
	// Identity is the words with the digests of the project's files that they name.
	Identity string
}

// Limits of the timeout of a program.
const (
	commandTime    = 10 * time.Second
	maxCommandTime = 10 * time.Minute
)

// CommandTime reads the timeout of a program: ten seconds when source, a node, is absent.
func CommandTime(source node) time.Duration {
	n := source.Self()
	if n.IsZero() {
		return commandTime
	}
	limit := n.Duration()
	if limit > maxCommandTime {
		n.Errorf("shorten it", "a program may take %s at most", maxCommandTime)
	}
	return limit
}

// NewCommand reads a command: a list of the program and its arguments, or the program alone. source is its node. Problems
// go to the node, and the result is nil without a program. With a nil suite, no file is searched.
func (s *Suite) NewCommand(source node, of string) *Command {
	n := source.Self()
	words, ok := commandWords(n, of)
	if !ok {
		return nil
	}
	c := &Command{Words: words, Identity: s.commandIdentity(words)}
	if s != nil {
		s.noteCommand(words)
		c.Dir = s.Dir()
		c.Path, c.Gone = s.findProgram(n.Items()[0], words[0])
		if of != "exec" { // which may run what an agent leaves
			s.warnOfScript(n.Items(), words)
		}
	}
	return c
}

// PassedVariables reads the names of private variables to pass to a program. source is the node of the list. The suite may
// be nil.
func (s *Suite) PassedVariables(source node) []string {
	n := source.Self()
	names := n.Strings()
	for i, item := range n.Items() {
		switch {
		case len(names) < len(n.Items()): // an invalid item was reported
		case !files.IsName(names[i]):
			item.Errorf("letters, digits and `_` are allowed", "`%s` is not the name of an environment variable", names[i])
		case s == nil:
		case s.opts.Untrusted && files.IsPrivate(names[i], nil):
			item.Errorf("leave it out", "an untrusted suite cannot read the environment")
		case s.opts.Getenv != nil && s.opts.Getenv(names[i]) == "":
			item.Warnf("", "the environment variable %s is not set", names[i])
		}
	}
	return names
}

func commandWords(n yaml.Node, of string) (words []string, ok bool) {
	items := n.Items()
	for _, item := range items {
		word, printed := item.Printed() // lists and mappings become JSON
		switch {
		case printed:
		case item.IsScalar() && !item.IsNull():
			word = item.Str()
		default:
			item.Errorf("put quotes around it", "expected a text, found %s", item.Describe())
		}
		words = append(words, word)
	}
	if len(words) > 0 && words[0] != "" {
		return words, true
	}
	if len(words) == 0 || items[0].IsScalar() {
		n.Errorf("such as [python3, check.py]", "`%s` needs a program", of)
	}
	return nil, false
}

func (s *Suite) findProgram(at yaml.Node, name string) (string, error) {
	path, err := s.Program(name)
	if err == nil {
		return path, nil
	}
	at.Errorf(s.programHint(name, err), "%s", err)
	return "", err
}

func (s *Suite) commandIdentity(words []string) string {
	var b strings.Builder
	for i, word := range words {
		fmt.Fprintf(&b, "%q", word)
		if s != nil && (i > 0 || strings.Contains(word, "/")) {
			b.WriteString(s.Digest(word))
		}
	}
	return b.String()
}
