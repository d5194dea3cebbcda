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

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/internal/yamlnode"
	"github.com/evalrun/evalrun/variable"
)

// Program is an application that is a program, which runs once for each call.
type Program struct {
	Command []string // as the suite has it
	// Path is the program's file, "" when the suite does not come from a folder of this machine, or when the program is missing.
	Path string
	// Missing says that the program is not there, and where the suite names it; "" when it is.
	Missing string
	Args    []string
	Dir     string   // in which it runs: the suite's folder
	Env     []string // names of variables that it gets although they are private
	// Workspace is a folder of the suite's folder; each trial runs in a fresh copy of it. "": the program runs in Dir.
	Workspace string
	// WorkspaceDigest is that of the folder when the suite was read; see package workspace.
	WorkspaceDigest string
	Keep            string // which copies are kept: none, failed or all
	// Timeout is the longest that one call may take.
	Timeout time.Duration
	// Concurrency is how many calls may be under way at once; 0: as many as of a model, and as this machine has processors.
	Concurrency int

	files    map[string]string // digests of the files that the command names
	identity string            // of the command
}

// Which workspaces are kept.
const (
	keepNone   = "none"
	keepFailed = "failed" // of trials that did not pass: failures and errors
	keepAll    = "all"
)

// Keeps reports whether the workspace of a trial is kept that passed, or did not.
func (p *Program) Keeps(passed bool) bool {
	return p.Keep == keepAll || p.Keep == keepFailed && !passed
}

const (
	programTimeout = 2 * time.Minute
	programLongest = 24 * time.Hour
)

func programBlock() shape.Block {
	return shape.Block{
		Need: []string{"command"},
		Keys: []shape.Key{
			{Name: "command", Is: shape.OneOrMore(shape.Text), Doc: "The program and its arguments, plain texts. There is no shell."},
			{
				Name: "workspace",
				Is:   shape.Text,
				Doc:  "A folder of the suite's folder. Each trial runs in a fresh copy of it; without one the program runs in the suite's folder.",
			},
			{
				Name: "keep",
				Is:   shape.Word(keepNone, keepFailed, keepAll),
				Doc:  "Which copies are kept in the run directory: none when not given, failed (of trials that did not pass), or all.",
			},
			{Name: "timeout", Is: shape.Duration, Doc: "How long one call may take: 120s when not given, 24h at most."},
			{
				Name: "env",
				Is:   shape.OneOrList(shape.Text),
				Doc:  "Names of variables that the program gets although it gets none that hold keys or begin with EVALRUN_.",
			},
			{
				Name: "concurrency",
				Is:   shape.Int(1, MaxConcurrency),
				Doc:  "How many calls may be under way at once: `limits.concurrency`, but no more than there are processors, when not given.",
			},
		},
	}
}

// program reads the block of a program.
func (l *loader) program(n yamlnode.Node) *Program {
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
			v.Errorf("", "a program may take %s at most", programLongest)
		}
	}
	p.Env = l.PassedVariables(m.Get("env"))
	return p
}

// command reads what is started.
func (l *loader) command(p *Program, n yamlnode.Node) {
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
				at, "the prompt and the case's variables are on the program's standard input", "`command` takes plain texts, not templates",
			)
		}
		if strings.ContainsRune(words[i], 0) {
			item.Errorf("", "an argument cannot hold a zero byte")
		}
	}
	p.Command, p.identity = words, l.commandIdentity(words)
	p.Args, p.files = slices.Clone(words[1:]), l.filesOf(words)
	l.find(p, n.Items()[0], words[0])
}

// find finds the file of the program. One in PATH may be missing as long as nothing is run: recorded answers are used on machines that
// have none of the programs under test.
func (l *loader) find(p *Program, at yamlnode.Node, name string) {
	if strings.ContainsAny(name, `/\ `) || l.Digest(name) != "" {
		p.Path, _ = l.findProgram(at, name) // which reports what is wrong
		return
	}
	var err error
	if p.Path, err = l.Program(name); err != nil {
		p.Missing = fmt.Sprintf("%s (%s)", err, at.Pos())
		at.Warnf("it has to be there for a run", "%s", err)
	}
}

// workspace reads where the program works.
func (l *loader) workspace(p *Program, m yamlnode.Map) {
	p.Keep = cmp.Or(m.Get("keep").Word(keepNone, keepFailed, keepAll), keepNone)
	n := m.Get("workspace")
	if n.IsZero() {
		if m.Has("keep") {
			m.Key("keep").Errorf("name the folder: `workspace: fixtures/repo`", "`keep` is for copies of a `workspace`, and this program has none")
		}
		return
	}
	p.Workspace = path.Clean(n.Str())
	var err error
	if p.WorkspaceDigest, err = l.files.folder(p.Workspace); err != nil {
		n.Errorf("name a folder below the suite's folder, such as fixtures/repo", "the workspace `%s` cannot be used: %s", n.Str(), err)
	}
	for i, word := range p.Args { // which are found from the suite's folder, wherever the program runs
		if l.inFolder(word) {
			p.Args[i] = filepath.Join(l.opts.Dir, filepath.FromSlash(path.Clean(word)))
		}
	}
}

// inFolder reports whether a word of a command names a file of the suite's folder, or, written with a slash, a folder of it.
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

// programInput is what a program reads. Fields are only ever added, and the first two stay the first: a line of sed finds the prompt.
type programInput struct {
	Version  int           `json:"version"`
	Prompt   string        `json:"prompt"`
	Messages []app.Message `json:"messages"`
	System   string        `json:"system,omitempty"`
	Vars     variable.Dict `json:"vars"`
	Trial    string        `json:"trial,omitempty"`
	Attempt  int           `json:"attempt,omitempty"`
}

// render makes the run of the program for a case.
func (p *Program) render(in *app.Input) (*app.Request, error) {
	vars := in.Vars
	if vars == nil {
		vars = variable.Dict{}
	}
	input, err := wirejson.Marshal(programInput{1, in.Prompt(), in.Messages, in.System, vars, in.Trial, in.Attempt})
	if err != nil { // only checked values come here
		return nil, fmt.Errorf("the input cannot be written: %w", err)
	}
	return &app.Request{Program: &app.Program{
		Command: p.Command, Files: p.files, Input: json.RawMessage(input), Workspace: p.WorkspaceDigest,
	}}, nil
}

// Workers is how many calls may be under way at once, for a model's limit and a machine's number of processors.
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
