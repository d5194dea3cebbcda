package suite

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Confinement is what a program may see and reach.
type Confinement struct {
	Kind    string   // SandboxNone, SandboxAuto, SandboxBwrap, or SandboxCommand
	Command []string // of SandboxCommand: templates, before the words of the program
	Stop    []string // runs at the end of each call, templates too
	Files   []string // of the project that the program sees, by their names in the suite's folder
	Bind    []string // folders of the machine that it sees
	Offline bool     // without a network
	// Home is HomeFresh, HomeInherit or a folder of the project that each trial gets a copy of.
	Home string
	// Inherits says that it gets the environment of evalrun without what is private.
	Inherits bool
	// At is the position of `sandbox`, for messages.
	At string
}

// Values of Confinement.Kind and Confinement.Home.
const (
	SandboxNone    = "none"
	SandboxAuto    = "auto"
	SandboxBwrap   = "bwrap"
	SandboxCommand = "command"

	HomeFresh   = "fresh"
	HomeInherit = "inherit"

	inheritWord = "inherit"
)

// Placed reports whether the program runs in a folder of its trial, and not in the suite's.
func (p *Program) Placed() bool { return p.Workspace != "" || p.Confined.Kind != SandboxNone }

var sandboxBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Need: []string{"command"}, Keys: []yaml.Key{key(
		"command", yaml.OneOrMore(yaml.Text),
		"A command to which the program's own is appended, with {{.workspace}} and {{.home}}, such as docker run.",
	)}}
})

var confinementKeys = sync.OnceValue(func() []yaml.Key {
	return []yaml.Key{
		key(
			"sandbox", yaml.Either(yaml.Word(SandboxNone, SandboxAuto, SandboxBwrap), sandboxBlock().Shape()),
			"What confines the program: none (the default without `models`), bwrap, auto (bwrap where it works), or a command of your own.",
		),
		key("stop", yaml.OneOrMore(yaml.Text), "A command that runs at the end of each call, whatever happened, such as docker rm -f."),
		key("files", yaml.OneOrList(yaml.Text), "Globs of files of the project that the program sees besides those of its command."),
		key("bind", yaml.OneOrList(yaml.Text), "Folders of the machine that a sandboxed program sees, such as /opt/node."),
		key("network", yaml.Word("full", "none"), "none: a sandboxed program has no network, and reaches its `models` alone."),
		key("home", yaml.Text, "fresh (the default): an empty HOME for each trial; inherit: yours; or a folder to copy."),
	}
})

func (l *loader) confine(p *Program, m yaml.Map) {
	c := &p.Confined
	c.Kind, c.Home = SandboxNone, HomeFresh
	if len(p.Models) > 0 {
		c.Kind, c.At = SandboxAuto, m.Key("models").Pos().String()
	}
	if n := m.Get("sandbox"); n.IsMapping() {
		c.Kind = SandboxCommand
		c.Command = templateWords(n.Map(sandboxBlock().Names()...).Need("command"))
		if len(p.Models) == 0 && slices.ContainsFunc(c.Command, func(w string) bool { return strings.Contains(w, "{{.proxy}}") }) {
			n.Errorf("add `models`", "`{{.proxy}}` is the address of the proxy for calls of models, and the program makes none")
		}
	} else if word := n.Word(SandboxNone, SandboxAuto, SandboxBwrap); word != "" {
		c.Kind = word
	}
	if n := m.Get("sandbox"); !n.IsZero() {
		c.At = n.Pos().String()
	}
	c.Stop = templateWords(m.Get("stop"))
	if len(c.Stop) > 0 && c.Kind != SandboxCommand {
		m.Key("stop").Errorf("write `sandbox: {command: [docker, run, ...]}`", "`stop` ends a sandbox of your own, and this is none")
	}
	c.Offline = m.Get("network").Word("full", "none") == "none"
	for _, key := range []string{"network", "bind"} {
		if m.Has(key) && c.Kind != SandboxAuto && c.Kind != SandboxBwrap {
			m.Key(key).Errorf("add `sandbox: bwrap`", "`%s` needs a sandbox", key)
		}
	}
	l.home(c, m.Get("home"))
	l.binds(c, m.Get("bind"))
	if m.Has("files") && !p.Placed() {
		m.Key("files").Errorf("add `workspace` or `sandbox: bwrap`", "without them the program sees the suite's folder")
	}
}

func templateWords(n yaml.Node) []string {
	if n.IsZero() {
		return nil
	}
	words, _ := commandWords(n, "command")
	for i, word := range words {
		rest := strings.NewReplacer("{{.workspace}}", "", "{{.home}}", "", "{{.files}}", "", "{{.proxy}}", "").Replace(word)
		if strings.Contains(rest, "{{") {
			n.Items()[i].Errorf("the names are {{.workspace}}, {{.home}}, {{.files}} and {{.proxy}}", "`%s` has another template", word)
		}
	}
	return words
}

func (l *loader) home(c *Confinement, n yaml.Node) {
	if n.IsZero() {
		return
	}
	if c.Home = n.Str(); c.Home == HomeFresh || c.Home == HomeInherit {
		return
	}
	c.Home = path.Clean(c.Home)
	if _, err := l.files.folder(c.Home); err != nil {
		n.Errorf("write fresh, inherit, or a folder of the project", "the home `%s` cannot be used: %s", n.Str(), err)
	}
}

// binds reads folders of the machine. One from which the project or the user's home can be reached would show the answers.
func (l *loader) binds(c *Confinement, n yaml.Node) {
	home, _ := os.UserHomeDir()
	for i, dir := range n.Strings() {
		real, err := filepath.EvalSymlinks(dir)
		switch at := n.Items()[i]; {
		case !filepath.IsAbs(dir):
			at.Errorf("such as /opt/node", "`%s` is not an absolute path", dir)
		case err != nil:
			at.Errorf("", "there is no folder `%s`", dir)
		case above(real, l.opts.Dir), above(l.opts.Dir, real), above(real, home):
			at.Errorf("name the folder of a tool, such as /opt/node", "`%s` shows the project, or your home", dir)
		default:
			c.Bind = append(c.Bind, dir)
		}
	}
}

// above reports whether a path is in a folder, or is the folder.
func above(dir, name string) bool {
	if dir == "" || name == "" {
		return false
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	rel, err := filepath.Rel(dir, name)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// shownFiles finds the files that programs see, when all files of the suite are known: it may not be one of these.
func (l *loader) shownFiles() {
	known := l.answers()
	for _, m := range l.programNodes {
		for i, glob := range m.node.Get("files").Strings() {
			at := m.node.Get("files").Items()[i]
			names, err := l.files.glob(eval.Pattern(glob))
			delete(l.files.data.globs, glob) // it selects no rows
			switch {
			case err != nil:
				at.Errorf("name files of the project, such as src/*.py", "%s", err)
				continue
			case len(names) == 0 && l.opts.Dir != "":
				at.Errorf("name files of the project, such as src/*.py", "no file matches `%s`", glob)
			}
			for _, name := range names {
				if why := l.shows(known, name); why != "" {
					at.Errorf("narrow the glob", "`%s` matches %s, %s", glob, name, why)
					break
				}
				m.of.Confined.Files = append(m.of.Confined.Files, name)
				if m.of.files != nil {
					m.of.files[name] = l.Digest(name)
				}
			}
		}
		if m.of.Confined.Kind != SandboxNone {
			l.shownFolders(m, known)
		}
	}
}

// shownFolders refuses answers in what a sandboxed program sees besides its `files`. It may share a file with a scorer.
func (l *loader) shownFolders(m programNode, known []answer) {
	known = slices.DeleteFunc(slices.Clone(known), func(one answer) bool { return one.shared })
	refuse := func(at yaml.Node, name string) {
		if why := l.shows(known, name); why != "" {
			at.Errorf("name what has no answers: a sandboxed program sees it", "`%s` is, or holds, %s", name, why)
		}
	}
	for i, at := range m.node.Get("command").Items() {
		if name := m.of.Named[i]; name != "" {
			refuse(at, name)
		}
	}
	if m.of.Workspace != "" {
		refuse(m.node.Get("workspace"), m.of.Workspace)
	}
	if home := m.of.Confined.Home; home != HomeFresh && home != HomeInherit {
		refuse(m.node.Get("home"), home)
	}
}

// answer is a file or a folder that may hold answers.
type answer struct {
	path, why string
	shared    bool // a program under test may have it too
}

// answers are those that are known, without links.
func (l *loader) answers() (out []answer) {
	add := func(name, why string, shared bool) { out = append(out, answer{l.located(name), why, shared}) }
	for _, name := range l.dataNames() {
		add(name, "a dataset", false)
	}
	for _, name := range slices.Sorted(maps.Keys(l.files.texts)) {
		add(name, "a file of the suite", false)
	}
	for _, name := range slices.Sorted(maps.Keys(l.files.commands)) {
		if strings.HasSuffix(name, "/") {
			add(name, "a file of a verifier", false)
		} else {
			add(name, "a file of a scorer", true)
		}
	}
	add(ExpectedDir, "an expected answer", false)
	return out
}

// located is where a file of the project is, without links.
func (l *loader) located(name string) string {
	at := filepath.Join(l.opts.Dir, filepath.FromSlash(name))
	if real, err := filepath.EvalSymlinks(at); err == nil && l.opts.Dir != "" {
		return real
	}
	return at
}

// shows returns why a file or a folder may hold answers, "" if it may not.
func (l *loader) shows(known []answer, name string) string {
	at := l.located(name)
	for _, one := range known {
		if above(one.path, at) || above(at, one.path) {
			return one.why
		}
	}
	if path.Base(name) == "run.jsonl" {
		return "a run file"
	}
	return ""
}

func (l *loader) dataNames() (out []string) {
	for _, def := range l.table.defs {
		if def.rows != nil {
			out = append(out, def.rows.files...)
		}
	}
	return out
}

type programNode struct {
	of   *Program
	node yaml.Map
}

func cleanName(n yaml.Node) string {
	if n.IsZero() {
		return ""
	}
	return path.Clean(n.Str())
}

// namedFiles are the files and folders of the project that the command names, by their index in Command.
func (l *loader) namedFiles(p *Program) map[int]string {
	out := map[int]string{}
	for i, word := range p.Command {
		clean := path.Clean(word)
		if (i > 0 || strings.Contains(word, "/")) && l.inFolder(word) && clean != "." && !strings.HasSuffix("/"+clean, "/..") {
			out[i] = clean
		}
	}
	return out
}

// noteCommand notes the files of the commands of scorers, tools and prompts, which a program under test does not see.
func (s *Suite) noteCommand(words []string) {
	names := s.filesOf(words)
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	for name := range names {
		s.files.commands[path.Clean(name)] = true
	}
}
