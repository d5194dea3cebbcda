package reports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/journal"
)

// Output is a report and its destination.
type Output struct {
	Format *Format
	Path   string // "" is standard output
}

// ParseOutputs parses the values of -o and checks that every path can be written. place makes a path of the user one of this process.
func ParseOutputs(values []string, place func(string) string) ([]Output, error) {
	var out []Output
	stdout := ""
	for _, v := range values {
		name, path, hasPath := strings.Cut(v, "=")
		f, err := formatNamed(name)
		switch {
		case err != nil:
			return nil, err
		case hasPath && path == "":
			return nil, eval.BadInput("-o %s names no file after the =, such as %[1]sFILE", v)
		case hasPath && path != files.Standard:
			path = place(path)
			if err := files.Writable(path); err != nil {
				return nil, eval.BadInput("the report %s cannot be written: %w", path, err)
			}
			if what := replaced(path, out); what != "" {
				return nil, eval.BadInput("the report %s would replace %s: name another file", path, what)
			}
		case stdout != "":
			return nil, eval.BadInput(
				"both %s and %s would go to standard output; give one of them a path: -o %s=FILE", stdout, name, name,
			)
		default:
			stdout, path = name, ""
		}
		out = append(out, Output{f, path})
	}
	return out, nil
}

// replaced says what a report at a path would replace that is worth keeping; "" for nothing.
func replaced(path string, earlier []Output) string {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return ""
	case slices.ContainsFunc(earlier, func(o Output) bool { return o.Path != "" && resolved(o.Path) == resolved(path) }):
		return "another report of this command"
	case journal.IsRun(path):
		return "the file of a run"
	}
	return ""
}

// resolved is a path that two names of a file have in common, whether it is there or not. A link at its end is one: a report replaces
// that, and not what it leads to.
func resolved(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// Spare returns an error, bad input, if a report would replace one of some files. what says what they are.
func Spare(outputs []Output, what string, paths ...string) error {
	for _, out := range outputs {
		report, err := os.Stat(out.Path)
		if err != nil || !report.Mode().IsRegular() {
			continue
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && os.SameFile(info, report) {
				return eval.BadInput("the report %s would replace %s: name another file", out.Path, what)
			}
		}
	}
	return nil
}

// SpareSuite is Spare for the files of a suite, by their names in its folder, which is "" for one that is in none on this machine.
func SpareSuite(outputs []Output, suite, dir string, names ...string) error {
	if dir == "" {
		return nil
	}
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return Spare(outputs, "a file of the suite "+suite, names...)
}

// SpareRun is Spare for what a recorded run was made of, as far as its header knows. place is that of ParseOutputs.
func SpareRun(outputs []Output, run *eval.Run, place func(string) string) error {
	for i := range run.Suites {
		s := &run.Suites[i]
		names := []string{filepath.Base(s.File)} // all that a run without content keeps
		for copied := range run.Copies {
			if name, err := filepath.Rel(path.Dir(s.Copy), copied); err == nil { // for a copy of another suite there is hardly such a file
				names = append(names, name)
			}
		}
		if err := SpareSuite(outputs, s.Name, s.Dir, names...); err != nil {
			return err
		}
	}
	return SpareInputs(outputs, run.Options(), run.ProjectFile, place)
}

// SpareInputs is Spare for the files that options name.
func SpareInputs(outputs []Output, o *eval.Options, project string, place func(string) string) error {
	names := []string{place(o.Answers), place(o.Prices), place(o.GateOf), place(project)}
	if o.Emulator != eval.DemoScript {
		names = append(names, place(o.Emulator))
	}
	return Spare(outputs, "a file that the run reads", names...)
}

// WithTable adds "table" to the values of -o, unless another report goes to standard output.
func WithTable(formats []string) []string {
	if ToStandard(formats) {
		return formats
	}
	return append(slices.Clone(formats), "table")
}

// Tabled reports whether the table goes to standard output.
func Tabled(formats []string) bool {
	return slices.ContainsFunc(WithTable(formats), func(format string) bool {
		return format == "table" || format == "table="+files.Standard
	})
}

// ToStandard reports whether a value of -o goes to standard output.
func ToStandard(formats []string) bool {
	return slices.ContainsFunc(formats, func(format string) bool {
		_, path, named := strings.Cut(format, "=")
		return !named || path == files.Standard
	})
}

// formatNamed returns the report format with a name. For a file name, its error suggests the format of the
// extension.
func formatNamed(name string) (*Format, error) {
	if f := Lookup(name); f != nil {
		return f, nil
	}
	if strings.Contains(name, ".") {
		return nil, eval.BadInput("-o takes a format, and a path after it: -o %s=%s", likely(name), name)
	}
	return nil, eval.BadInput("there is no report format %q; %s", name, diag.DidYouMean(name, Names()))
}

// likely returns the format that the extension of a file suggests.
func likely(file string) string {
	ending := strings.TrimPrefix(filepath.Ext(file), ".")
	for _, f := range Formats() {
		if ending != "" && (f.Ending == ending || f.Name == ending) {
			return f.Name
		}
	}
	return "json"
}

// WriteOutputs writes the reports and returns the paths. Files come first, so that a closed pipe on standard
// output cannot prevent them.
func WriteOutputs(d *journal.Document, outputs []Output, stdout io.Writer, o Options) ([]string, error) {
	var written []string
	var failed []error
	for _, out := range outputs {
		if out.Path == "" {
			continue
		}
		if journal.IsRun(out.Path) { // it was not there when the path was checked
			failed = append(failed, eval.Incomplete("the report %s would replace the file of a run", out.Path))
			continue
		}
		err := files.WriteAny(out.Path, func(w io.Writer) error {
			return out.Format.Write(w, d, Options{Verbose: o.Verbose})
		})
		if failed = append(failed, seenEnough(err, "the report "+out.Path)); err == nil {
			written = append(written, fmt.Sprintf("%s: %s", out.Format.Name, out.Path))
		}
	}
	o.Files = written
	for _, out := range outputs {
		if out.Path == "" {
			w := bufio.NewWriter(onStandardOutput(out.Format, stdout))
			failed = append(failed, seenEnough(errors.Join(out.Format.Write(w, d, o), w.Flush()), "the report"))
		}
	}
	return written, errors.Join(failed...)
}

func onStandardOutput(f *Format, stdout io.Writer) io.Writer {
	if f.Guard {
		return &unmarked{w: &guard{w: stdout, atStart: true}}
	}
	return stdout
}

// unmarked leaves out a byte order mark, which is for files that spreadsheets open.
type unmarked struct {
	w     io.Writer
	begun bool
}

func (u *unmarked) Write(p []byte) (int, error) {
	text := p
	if !u.begun {
		text = bytes.TrimPrefix(p, []byte(byteOrderMark))
	}
	u.begun = true
	_, err := u.w.Write(text)
	return len(p), err
}

// seenEnough ignores the error of a pipe whose reader has stopped reading. Other failed reports are errors,
// and the remaining reports are still written.
func seenEnough(err error, what string) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return eval.Incomplete("%s cannot be written: %w", what, err)
}

// breaker is a zero-width space, written inside a command to break it up.
const breaker = "\u200b"

// guard breaks up commands in its output. Continuous integration reads commands such as ::error, ::add-mask
// and ##[error] from standard output, at the beginning of a line and after white space.
type guard struct {
	w       io.Writer
	atStart bool   // of a line, apart from white space
	colon   bool   // the line begins with a colon
	hashes  int    // number of # directly before
	half    []byte // beginning of an incomplete character
}

// Write breaks up the commands in p. It holds nothing back: if p ends within a character, it writes all of
// it.
func (g *guard) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+16)
	for _, b := range p {
		if g.colon && b == ':' || g.hashes >= 2 && b == '[' {
			out = append(out, breaker...)
		}
		out = append(out, b)
		g.pass(b)
	}
	if _, err := g.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// pass tracks the position of the next byte.
func (g *guard) pass(b byte) {
	if g.hashes++; b != '#' {
		g.hashes = 0
	}
	if b >= utf8.RuneSelf {
		if g.half = append(g.half, b); !utf8.FullRune(g.half) {
			g.colon = false
			return
		}
	} else {
		g.half = append(g.half[:0], b)
	}
	r, _ := utf8.DecodeRune(g.half)
	g.half = g.half[:0]
	g.colon = g.atStart && r == ':'
	g.atStart = r == '\n' || r == '\r' || g.atStart && (unicode.IsSpace(r) || r == '\ufeff')
}
