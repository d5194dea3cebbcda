package promptfoo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	words "github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/internal/yaml"
)

// This file converts programs of the author that are targets.

// isScript reports whether an id names a program in JavaScript or Python.
func isScript(id string) bool {
	name, _ := scriptOf(id)
	return name != ""
}

// scriptOf splits an id such as file://provider.py:call_api or python:provider.py into file and function.
func scriptOf(id string) (file, function string) {
	rest := id
	for _, prefix := range []string{"file://", "python:", "javascript:"} {
		rest = strings.TrimPrefix(rest, prefix)
	}
	rest = strings.TrimPrefix(rest, "file://")
	file, function, _ = strings.Cut(rest, ":")
	if language(file) == "" || rest == id && !strings.Contains(id, "/") {
		return "", ""
	}
	return file, function
}

// Programs that run code.
const (
	javaScript = "node"
	python     = "python3"
)

// language returns the program that runs a file, "" if there is none.
func language(file string) string {
	switch ext := path.Ext(file); {
	case ext == ".py":
		return python
	case slices.Contains(scriptEndings, ext):
		return javaScript
	}
	return ""
}

// markedObjects means that the shim ends answers that were objects with a tab, because a text may be JSON
// too.
const markedObjects = "marked"

func (c *converter) script(t *target, id string) {
	file, function := scriptOf(id)
	name, ok := c.copyCode(t.at, file)
	if !ok {
		name = path.Join("code", path.Base(file))
		t.comments = append(t.comments, "TODO: put the program at "+name)
	}
	shim, options := shimProviderJS, []string{}
	if language(file) == python {
		shim = shimProviderPy
	}
	if function != "" {
		options = []string{"--function", function}
	}
	config, block, settings := t.at.get("config"), &mapping{}, ""
	if config.IsMapping() {
		at := "shims/" + t.name + ".config.json"
		c.files[at] = jsonOf(config)
		settings = string(c.files[at])
		options = append(options, "--config", at)
		config.ok("in " + at)
	}
	options = append(options, "--id", id)
	t.json = markedObjects
	if _, code, err := c.source.read(file); err == nil {
		t.reports = map[string]bool{"latencyMs": bytes.Contains(code, []byte("latencyMs")), "cost": bytes.Contains(code, []byte("cost"))}
	}
	command := append([]string{language(file), c.shims.use(shim), name}, options...)
	block.set("command", texts(command...))
	block.passes(settings)
	t.block.set("program", block.set("vars", literal("all")))
	t.at.differs("the author's code runs unchanged in a shim that needs %s", language(file))
}

// execProvider makes a target of a command line, which gets the prompt as its last argument.
func (c *converter) execProvider(t *target, command string) {
	words := splitCommand(command)
	for i, w := range words {
		if language(w) == "" && !strings.HasSuffix(w, ".sh") && !strings.HasPrefix(w, "./") {
			continue
		}
		if name, ok := c.copyCode(t.at, w); ok {
			words[i] = name
		} else {
			t.comments = append(t.comments, "TODO: put the program "+w+" into the suite's folder")
		}
	}
	t.at.hideWords(words)
	all := append([]string{python, c.shims.use(shimExec), "--"}, words...)
	block := new(mapping).set("command", texts(all...))
	block.passes(all...)
	t.block.set("program", block.set("vars", literal("all")))
	t.at.differs("a shim that needs python3 passes the prompt, the options and the context as arguments, as promptfoo does")
	c.restOfConfig(t, "goes to the program as its second argument in promptfoo, and is empty here")
}

// splitCommand splits a command line at spaces outside quotes.
func splitCommand(line string) (out []string) {
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if open || word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
		}
	}
	return out
}

// maxFile bounds each file, and maxMatches the files that a glob matches.
const (
	maxFile    = yaml.MaxFileBytes
	maxMatches = 10_000
)

type configSource struct {
	config  []byte
	dir     string // of the configuration, absolute
	top     string // the folder whose files are read, absolute
	given   bool   // the user named top
	place   string // path from the suite to dir, if code of the author runs where it is; otherwise ""
	root    *os.Root
	files   files.Within
	outside []string // references to files outside of top, in the order of the source
	// converted has the encodings of files that were not UTF-8, by name.
	converted map[string]string
	problems  *Problems
}

// Options say which files an import reads and writes.
type Options struct {
	// Root is the folder whose files are read; "" is that of the configuration, which must be in it.
	Root string
	// Out is the folder of the suite. Where it is in Root, or in the configuration's folder in a git checkout, code of the author
	// stays where it is, and finds what it imports.
	Out string
	// AllowFile are globs of hidden files and keys that may be read, relative to Root.
	AllowFile []string
	// MaxTrials is the most trials that the suite may have; 0 is eval.DefaultMaxTrials.
	MaxTrials int
	// Fetch gets an image and the ending of its file; nil fetches nothing.
	Fetch func(address string) (data []byte, ending string, err error)
}

func open(name string, o Options, problems *Problems) (*configSource, error) {
	if slices.Contains(scriptEndings, path.Ext(name)) {
		return nil, eval.BadInput(
			"%s is a program, and an import runs nothing; print it as JSON and import that: %s",
			diag.CleanLine(name),
			`node -e "import('./`+filepath.Base(
				name,
			)+`').then(m => console.log(JSON.stringify(m.default)))" > promptfooconfig.json`,
		)
	}
	data, err := files.ReadFile(name, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, eval.BadInput("%s: no such file; name the configuration: evalrun import promptfoo FILE", diag.CleanLine(name))
	case errors.Is(err, files.ErrTooLarge):
		return nil, eval.BadInput(
			"%s has more than %d MiB; keep the tests in a file of their own",
			diag.CleanLine(name),
			maxFile>>20,
		)
	case err != nil:
		return nil, eval.BadInput("the configuration cannot be read: %w", err)
	}
	s := &configSource{problems: problems}
	s.config = s.decoded(filepath.Base(name), data)
	return s, s.within(filepath.Dir(name), o)
}

// within opens the folder whose files are read. dir is that of the configuration.
func (s *configSource) within(dir string, o Options) (err error) {
	if s.dir, err = filepath.Abs(dir); err != nil {
		return eval.BadInput("the configuration's folder cannot be read: %w", err)
	}
	s.top = s.dir
	of := "the configuration's folder"
	if s.given = o.Root != ""; s.given {
		of = diag.CleanLine(o.Root)
		if s.top, err = filepath.Abs(o.Root); err != nil {
			return eval.BadInput("--root %s cannot be read: %w", of, err)
		}
	}
	at, ok := relative(s.top, s.dir)
	if !ok {
		return eval.BadInput("--root %s does not have the configuration in it", of)
	}
	if s.root, err = os.OpenRoot(s.top); err != nil {
		return eval.BadInput("the folder whose files are read cannot be opened: %w", err)
	}
	s.files = files.Within{Project: files.FS(s.root), At: at, Of: of}
	if len(o.AllowFile) > 0 {
		s.files.Allow = eval.NewPatterns(o.AllowFile).Match
	}
	if out, err := filepath.Abs(o.Out); err == nil && o.Out != "" && (s.given || isProject(s.dir)) {
		if _, inside := relative(s.top, out); inside {
			place, err := filepath.Rel(out, s.dir)
			if err == nil {
				s.place = filepath.ToSlash(place)
			}
		}
	}
	return nil
}

// isProject reports whether suites in a folder may read what is above them in a git checkout, whose top is not the home folder.
func isProject(dir string) bool {
	top, home := files.Checkout(dir), ""
	if at, err := os.UserHomeDir(); err == nil {
		home = at
	}
	return top != "" && top != home
}

// relative returns the path of a file in a folder, with slashes; false if it is outside.
func relative(folder, name string) (string, bool) {
	rel, err := filepath.Rel(folder, name)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

func (s *configSource) close() { _ = s.root.Close() } // only read

// scriptEndings are extensions of files that only a program can read.
var scriptEndings = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"}

func (s *configSource) parse(name string, data []byte) (yaml.Node, bool) {
	if s.problems.Sources == nil {
		s.problems.Sources = map[string][]byte{}
	}
	s.problems.Sources[name] = data
	return yaml.Parse(name, plainJSON(data), &s.problems.Diags)
}

// parseLine parses a line of JSON, and moves its problems to that line.
func (s *configSource) parseLine(name string, line int, file, text []byte) (yaml.Node, bool) {
	var found diag.List
	node, ok := yaml.Parse(name, plainJSON(text), &found)
	for _, problem := range found.Sorted() {
		problem.Pos.Line = line
		s.problems.Diags.Add(problem)
	}
	if len(found.Sorted()) > 0 {
		s.problems.Sources[name] = file
	}
	return node.WithDiags(&s.problems.Diags), ok
}

// plainJSON rewrites JSON that is not YAML: YAML allows neither tabs between values nor surrogate pairs of
// escapes. Lines stay the same.
func plainJSON(data []byte) []byte {
	if !json.Valid(data) {
		return data
	}
	data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	return surrogates.regexp().ReplaceAllFunc(data, func(m []byte) []byte {
		if m[1] == '\\' { // an escaped backslash
			return m
		}
		var text string
		if json.Unmarshal(append(append([]byte{'"'}, m...), '"'), &text) != nil {
			return m
		}
		return []byte(text)
	})
}

var surrogates = pattern{expression: `\\\\|\\u[dD][89a-fA-F][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?`}

// clean returns a reference as a path from the configuration's folder, which may begin with `../`.
func (s *configSource) clean(ref string) (string, error) {
	name := path.Clean(strings.ReplaceAll(strings.TrimPrefix(ref, "file://"), `\`, "/"))
	to := filepath.FromSlash(name)
	absolute := filepath.IsAbs(to) || path.IsAbs(name)
	if !absolute {
		to = filepath.Join(s.dir, to)
	}
	if _, inside := relative(s.top, to); !inside {
		if !absolute && !s.given && !slices.Contains(s.outside, name) {
			s.outside = append(s.outside, name)
		}
		return "", fmt.Errorf("%s is outside of %s; copy it below that folder and import again", ref, s.files.Of)
	}
	if absolute {
		rel, err := filepath.Rel(s.dir, to)
		return filepath.ToSlash(rel), err
	}
	return name, nil
}

// has reports whether a file that code may import exists.
func (s *configSource) has(name string) bool {
	info, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}

// copied returns the path of a copy in a folder of the suite: files are there as they are in the folder that is read.
func (s *configSource) copied(folder, name string) string { return path.Join(folder, s.files.At, name) }

// rootWanted returns an error if the configuration names files outside of its folder and the user has not said which may be read.
func (s *configSource) rootWanted(config string) error {
	if len(s.outside) == 0 {
		return nil
	}
	top := s.dir
	for _, name := range s.outside {
		for {
			if _, inside := relative(top, filepath.Join(s.dir, filepath.FromSlash(name))); inside || filepath.Dir(top) == top {
				break
			}
			top = filepath.Dir(top)
		}
	}
	shown := top
	if here, err := filepath.Abs("."); err == nil {
		if rel, err := filepath.Rel(here, top); err == nil {
			shown = rel
		}
	}
	return eval.BadInput(
		"%s names files outside of its folder: %s; say which folder may be read, such as --root %s", diag.CleanLine(config),
		diag.CleanLine(words.SomeNames(s.outside, mostNamed)), diag.CleanLine(words.ShellWords([]string{shown})),
	)
}

func (s *configSource) read(ref string) (name string, data []byte, err error) {
	if name, err = s.clean(ref); err != nil {
		return "", nil, err
	}
	info, err := fs.Stat(s.files, name)
	refusal, refused := errors.AsType[*files.Refusal](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if file, _, is := strings.Cut(name, ":"); is && language(file) != "" && s.has(file) {
			return "", nil, fmt.Errorf("code in %s computes it, and an import runs nothing", file)
		}
		return "", nil, fmt.Errorf("there is no file %s", name)
	case refused:
		return "", nil, fmt.Errorf("%s is not read: %w", name, refusal)
	case err != nil && strings.Contains(err.Error(), "escapes"): // as os.Root words it
		return "", nil, fmt.Errorf("%s cannot be read: a link leads out of the folder", name)
	case err != nil:
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return "", nil, fmt.Errorf("%s cannot be read: %w", name, err)
	case !info.Mode().IsRegular():
		return "", nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > maxFile:
		return "", nil, fmt.Errorf("%s has more than %d MiB", name, maxFile>>20)
	}
	if data, err = fs.ReadFile(s.files, name); err != nil {
		return "", nil, fmt.Errorf("%s cannot be read", name)
	}
	return name, data, nil
}

// match lists the files of a reference, which may be a glob, sorted.
func (s *configSource) match(ref string) ([]string, error) {
	name, err := s.clean(ref)
	if err == nil && name == "." {
		err = errors.New("the name of a file is missing")
	}
	if err != nil {
		return nil, err
	}
	if info, err := fs.Stat(s.files, name); err == nil && info.IsDir() {
		name = path.Join(name, "*")
	}
	if !strings.ContainsAny(name, "*?[{") {
		return []string{name}, nil
	}
	found, err := s.glob(name)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no file matches %s", name)
	}
	return found, err
}

// glob matches as promptfoo does: `**` crosses folders, `*` does not.
func (s *configSource) glob(pattern string) (found []string, err error) {
	fixed, _, _ := strings.Cut(pattern, "*")
	from := path.Dir(fixed + "x")
	matches, err := globPattern(pattern)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(s.files, from, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, files.ErrDeep):
			return fmt.Errorf("%s: %w", pattern, files.ErrDeep)
		case err != nil:
			return nil //nolint:nilerr // unreadable files do not match
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.Type().IsRegular() && matches.MatchString(name):
			found = append(found, name)
		}
		if len(found) > maxMatches {
			return fmt.Errorf("%s matches more than %d files", pattern, maxMatches)
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

func globPattern(pattern string) (*regexp.Regexp, error) {
	quoted := regexp.QuoteMeta(pattern)
	for _, r := range [][2]string{
		{`\*\*/`, "(?:.*/)?"},
		{`\*\*`, ".*"},
		{`\*`, "[^/]*"},
		{`\?`, "[^/]"},
		{`\{`, "(?:"},
		{`\}`, ")"},
		{",", "|"},
		{`\[`, "["},
		{`\]`, "]"},
	} {
		quoted = strings.ReplaceAll(quoted, r[0], r[1])
	}
	out, err := regexp.Compile("^" + quoted + "$")
	if err != nil {
		return nil, fmt.Errorf("the pattern %s cannot be read", pattern)
	}
	return out, nil
}

// jsText returns a scalar as JavaScript prints it: 1.0 is 1.
func jsText(n yaml.Node) string {
	written := n.Written()
	switch {
	case n.IsBool():
		return strings.ToLower(written)
	case !n.IsNumber():
		return written
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(written, "_", ""), 64)
	if whole, wrong := strconv.ParseInt(written, 0, 64); err != nil && wrong == nil { // 0x1f, 0o17, 0b11
		v, err = float64(whole), nil
	}
	switch {
	case err != nil && strings.HasSuffix(strings.ToLower(written), ".inf"):
		return strings.TrimSuffix(strings.Trim(written, "+.iInNfF"), ".") + "Infinity"
	case err != nil:
		return written
	case v == 0: // also -0
		return "0"
	}
	if v >= 1e21 || v <= -1e21 || v != 0 && v < 1e-6 && v > -1e-6 {
		return strings.Replace(strconv.FormatFloat(v, 'g', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
