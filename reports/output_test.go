package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/journal"
)

// outputNames are outputs as FORMAT or FORMAT=PATH, paths from the folder on.
func outputNames(t *testing.T, in rundir.Dir, out []Output) (all []string) {
	t.Helper()
	for _, o := range out {
		text := o.Format.Name
		if o.Path != "" {
			rel, err := filepath.Rel(in.Abs(""), o.Path)
			expect.OK(t, err)
			text += "=" + filepath.ToSlash(rel)
		}
		all = append(all, text)
	}
	return all
}

// -o takes a format for standard output once, and a path for each of the others; - is standard output.
func TestOutputsTakeFormatsAndPaths(t *testing.T) {
	t.Parallel()
	in := rundir.At(t.TempDir())
	expect.OK(t, os.Mkdir(in.Join("sub"), 0o755))
	for _, test := range []struct{ values, want []string }{
		{nil, nil},
		{[]string{"json"}, []string{"json"}},
		{[]string{"json=-"}, []string{"json"}},
		{[]string{"junit=sub/out.xml", "table", "csv=a=b.csv"}, []string{"junit=sub/out.xml", "table", "csv=a=b.csv"}},
		{[]string{"json=" + in.Join("x.json"), "json"}, []string{"json=x.json", "json"}},
	} {
		got, err := ParseOutputs(test.values, in.Join)
		if err != nil {
			t.Errorf("%v: %v, want no error", test.values, err)
		}
		expect.Same(t, fmt.Sprint(test.values), outputNames(t, in, got), test.want)
	}
	if entries, err := os.ReadDir(in.Abs("")); err != nil || len(entries) != 1 {
		t.Errorf("parsing has left %v, %v, want one file", entries, err)
	}
}

// A slip in -o is bad input that says what to write instead, before a run begins.
func TestOutputsSayWhatWasMeant(t *testing.T) {
	t.Parallel()
	in := rundir.At(t.TempDir())
	expect.OK(t, os.WriteFile(in.Join("file"), nil, 0o600))
	for value, says := range map[string]string{
		"jsno":                "`json`",
		"makrdown=x.md":       "`markdown`",
		"result.xml":          "-o junit=result.xml",
		"notes.md":            "-o markdown=notes.md",
		"page.html":           "-o html=page.html",
		"data.bin":            "-o json=data.bin",
		"json=":               "json=",
		"json=gone/out.json":  "gone",
		"json=.":              "folder",
		"json=file/out.json":  "file/out.json",
		"table|markdown":      "-o markdown=FILE",
		"json|json":           "-o json=FILE",
		"csv=ok.csv|jsonn":    "`json`",
		"table=-|github=-":    "-o github=FILE",
		"JSON":                "`json`",
		"junit=ok.xml|=x.xml": `""`,
	} {
		_, err := ParseOutputs(strings.Split(value, "|"), in.Join)
		if eval.CodeOf(err) != eval.CodeBadInput || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("-o %s: exit %d with %v, want bad input with %q", value, eval.CodeOf(err), err, says)
		}
	}
}

// ranHere makes a run of two cases in a folder, and opens it.
func ranHere(t *testing.T, in rundir.Dir, end eval.EndReason) *journal.Document {
	t.Helper()
	w, err := journal.Create(in.Join("run"), &eval.Run{
		ID: "r", StartedAt: "2026-01-02T03:04:05Z", Plan: eval.RunPlan{Trials: 2, Arms: []string{"t/p"}}, Suites: []eval.RunSuite{{Name: "s"}},
	}, nil)
	expect.OK(t, err)
	for i, name := range []string{"france", "spain"} {
		r := &eval.Result{
			Trial:  eval.Trial{N: i, ID: name, CaseID: "id-" + name, Suite: "s", Case: name, Arm: "t/p", Target: "t", Prompt: "p", Repeat: 1},
			Ending: eval.Passed{}, Scores: []eval.Score{},
			Response: &eval.Response{Candidates: []eval.Candidate{{Text: "secret-" + name, FinishReason: "STOP"}}},
		}
		expect.OK(t, w.Append(r))
	}
	expect.OK(t, w.Finish(&eval.End{Reason: end}))
	d, err := in.Open("run")
	expect.OK(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// failing is a standard output that cannot be written.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// Files are written before standard output, and one report that fails costs none of the others.
func TestWriteLosesNoOtherReport(t *testing.T) {
	t.Parallel()
	in := rundir.At(t.TempDir())
	d := ranHere(t, in, eval.EndCompleted)
	values := []string{"table", "json=sub/a.json", "csv=b.csv"}
	expect.OK(t, os.Mkdir(in.Join("sub"), 0o755))
	for name, test := range map[string]struct {
		stdout io.Writer
		gone   bool // the folder of the first file
		code   int
		want   []string
	}{
		"all is well":          {io.Discard, false, eval.CodeOK, []string{"sub/a.json", "b.csv"}},
		"a reader that left":   {failing{syscall.EPIPE}, false, eval.CodeOK, []string{"sub/a.json", "b.csv"}},
		"a full disk":          {failing{syscall.ENOSPC}, false, eval.CodeIncomplete, []string{"sub/a.json", "b.csv"}},
		"a folder that is not": {io.Discard, true, eval.CodeIncomplete, []string{"b.csv"}},
	} {
		outputs, err := ParseOutputs(values, in.Join)
		expect.OK(t, err)
		if test.gone {
			outputs[1].Path = in.Join("gone/a.json")
		}
		written, err := WriteOutputs(d, outputs, test.stdout, Options{})
		if eval.CodeOf(err) != test.code {
			t.Errorf("%s: exit %d with %v, want %d", name, eval.CodeOf(err), err, test.code)
		}
		for _, file := range test.want {
			info, err := os.Stat(in.Join(file))
			if err != nil || info.Size() == 0 || !strings.Contains(strings.Join(written, "\n"), in.Join(file)) {
				t.Errorf("%s: %s: %v, and written are %v, want a file with content, and its name in what is said", name, file, err, written)
			}
			_ = os.Remove(in.Join(file)) // for the next
		}
		if len(written) != len(test.want) {
			t.Errorf("%s: written are %v, want %v", name, written, test.want)
		}
	}
}

// The table goes to standard output where nothing else does.
func TestTheTableIsTheDefaultReport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ given, want []string }{
		"nothing":         {nil, []string{"table"}},
		"a file":          {[]string{"json=out.json"}, []string{"json=out.json", "table"}},
		"standard output": {[]string{"json=x", "junit"}, []string{"json=x", "junit"}},
		"a dash":          {[]string{"json=-"}, []string{"json=-"}},
	} {
		given := slices.Clone(test.given)
		expect.Same(t, name, WithTable(given), test.want)
		expect.Same(t, name+": what was given", given, test.given)
	}
}

// FuzzParseOutputs holds that two values of -o without a path are refused as bad input.
func FuzzParseOutputs(f *testing.F) {
	for _, s := range append(hostile.Strings(), "json", "json=", "junit=x.xml", "out.xml", "a.b=c", "table") {
		f.Add(s, "table")
	}
	hasPath := func(v string) bool { _, path, _ := strings.Cut(v, "="); return path != "" }
	f.Fuzz(func(t *testing.T, a, b string) {
		if hasPath(a) || hasPath(b) {
			return // a path would be tried
		}
		out, err := ParseOutputs([]string{a, b}, rundir.At("").Join)
		if err != nil {
			var coded *eval.CodedError
			if !errors.As(err, &coded) || coded.Code != eval.CodeBadInput {
				t.Errorf("got %v, want exit code %d", err, eval.CodeBadInput)
			}
			return
		}
		// Without a path both would go to standard output.
		t.Errorf("got %+v, want an error", out)
	})
}

// taken is what a log takes for a command.
var taken = regexp.MustCompile(`(?:^|[\n\r])[\s\x{feff}\x{00a0}\x{2028}\x{3000}]*::|##\[`)

func guarded(t *testing.T, text string, pieces int) string {
	t.Helper()
	var b bytes.Buffer
	w := &guard{w: &b, atStart: true}
	for size := max(1, len(text)/pieces); text != ""; text = text[min(size, len(text)):] {
		n := min(size, len(text))
		if got, err := w.Write([]byte(text[:n])); err != nil || got != n {
			t.Fatalf("%d %v, want %d", got, err, n)
		}
	}
	return b.String()
}

func TestGuardStopsCommandsOfCI(t *testing.T) {
	t.Parallel()
	commands := []string{
		"::error::x", "a\n::add-mask::y\n", "\r\n  \t::stop-commands::z", "a ##[error]b ##[", "###[x", "\ufeff::error::", "\u3000::x",
		"a\r::b", ": :", ":::", "::\n::\n", "\n\n::", "a :: b\n: c",
	}
	for _, text := range append(hostile.Strings(), commands...) {
		for _, pieces := range []int{1, 2, len(text) + 1} {
			got := guarded(t, text, pieces)
			if taken.MatchString(got) {
				t.Errorf("%q became %q, want no command", text, got)
			}
			expect.Same(t, "the rest", strings.ReplaceAll(got, breaker, ""), strings.ReplaceAll(text, breaker, ""))
			if !taken.MatchString(text) && !strings.Contains(text, "#[") && got != text {
				t.Errorf("%[1]q: got %[2]q, want it as it is, without a command", text, got)
			}
		}
	}
}

// Formats for programs have no text at the start of a line, and are not changed.
func TestFormatsForProgramsAreNotGuarded(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		var b bytes.Buffer
		expect.Same(t, fmt.Sprintf("%s: guarded", f.Name), onStandardOutput(&f, &b) != &b, f.Guard)
	}
	if Lookup("json").Guard || !Lookup("markdown").Guard {
		t.Errorf("guarded: json %t, markdown %t; want only markdown", Lookup("json").Guard, Lookup("markdown").Guard)
	}
}
