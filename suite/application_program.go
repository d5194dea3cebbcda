package suite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Program is an application that is a program, which runs once for each call.
type Program struct {
	Command []string // as written in the suite
	Args    []string
	Dir     string   // working directory: the suite's folder
	Env     []string // names of private variables to pass to it
	// Workspace is a folder below the suite's folder. Each trial runs in a fresh copy of it, or in Dir when it is "".
	Workspace string
	// WorkspaceDigest identifies the content of Workspace when the suite was loaded; see package workspace.
	WorkspaceDigest string
	keep            keptCopies
	// Timeout is the time limit of one call.
	Timeout time.Duration
	// Concurrency limits the calls in progress at once; 0 means the lower of the limit for models and the number of processors.
	Concurrency int

	files    map[string]string // digests of files that the command names, by name
	identity string            // the command with these digests
	path     string
	missing  error
}

// Path returns the path of the program's file; "" when the suite is in no folder on this machine. The error names a
// program that is missing, with its position in the suite.
func (p *Program) Path() (string, error) { return p.path, p.missing }

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

func programBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"command"},
		Keys: []yaml.Key{
			key("command", yaml.OneOrMore(yaml.Text), "The program and its arguments, plain texts. There is no shell."),
			key(
				"workspace", yaml.Text,
				"A folder of the suite's folder. Each trial runs in a fresh copy of it; without one the program runs in the suite's "+
					"folder.",
			),
			key(
				"keep", yaml.WordShape(keepNone, keepFailed, keepAll),
				"Which copies are kept in the run directory: none when not given, failed (of trials that did not pass), or all.",
			),
			key("timeout", yaml.Duration, "How long one call may take: 120s when not given, 24h at most."),
			key(
				"env", yaml.OneOrList(yaml.Text),
				"Names of variables that the program gets although it gets none that hold keys or begin with EVALRUN_.",
			),
			key(
				"concurrency", yaml.Int(1, MaxConcurrency),
				"How many calls may be under way at once: `limits.concurrency`, but no more than there are processors, when not given.",
			),
		},
	}
}

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
	l.workspace(p, m)
	if v := m.Get("timeout"); !v.IsZero() {
		if p.Timeout = v.Duration(); p.Timeout > programLongest {
			v.Errorf("shorten it", "a program may take %s at most", programLongest)
		}
	}
	p.Env = l.PassedVariables(m.Get("env"))
	return p
}

func (l *loader) command(p *Program, n yaml.Node) {
	if n.IsZero() {
		return
	}
	words, ok := commandWords(n, "command")
	if !ok {
		return
	}
	for i, item := range n.Items() {
		if at := strings.Index(words[i], "{{"); at >= 0 {
			item.ErrorfAt(
				at, "the prompt and the case's variables are on the program's standard input",
				"`command` takes plain texts, not templates",
			)
		}
		if strings.ContainsRune(words[i], 0) {
			item.Errorf("remove it", "an argument cannot hold a zero byte")
		}
	}
	p.Command, p.identity = words, l.commandIdentity(words)
	p.Args, p.files = slices.Clone(words[1:]), l.filesOf(words)
	l.find(p, n.Items()[0], words[0])
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
	p.Workspace = path.Clean(n.Str())
	var err error
	if p.WorkspaceDigest, err = l.files.folder(p.Workspace); err != nil {
		n.Errorf(
			"name a folder below the suite's folder, such as fixtures/repo",
			"the workspace `%s` cannot be used: %s", n.Str(), err,
		)
	}
	for i, word := range p.Args { // files are relative to the suite's folder, wherever the program runs
		if l.inFolder(word) {
			p.Args[i] = filepath.Join(l.opts.Dir, filepath.FromSlash(path.Clean(word)))
		}
	}
}

// inFolder reports whether a word of a command names a file below the suite's folder, or with a slash, a folder below it.
func (l *loader) inFolder(word string) bool {
	if l.Digest(word) != "" {
		return true
	}
	clean := path.Clean(word)
	if !strings.Contains(word, "/") || !fs.ValidPath(clean) {
		return false
	}
	info, err := fs.Stat(l.files.fsys, clean)
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
	return &eval.Rendered{Payload: &eval.ProgramRun{
		Command: p.Command, Files: p.files, Input: json.RawMessage(input), Workspace: p.WorkspaceDigest,
	}}, nil
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
