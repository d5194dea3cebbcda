package scorers_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

var snapshotTrial = eval.Trial{Suite: "s", Case: "c", Arm: "t/p", Target: "t", Prompt: "p"}

// kept loads a suite whose case c has the scorers, and files next to it.
func kept(list string, files fstest.MapFS, opts suite.Options) (*suite.Suite, *diag.List) {
	text := strings.Replace(plainText(list), "    scorers:", "    vars: {country: France, bad: '../x'}\n    scorers:", 1)
	all := fstest.MapFS{"s.yaml": {Data: []byte(text)}}
	maps.Copy(all, files)
	return loadedFrom(all, opts)
}

// snapshot scores an answer against what is expected; nil is no file.
func snapshot(t *testing.T, list string, expected *string, a *scorers.Answer) eval.Score {
	t.Helper()
	files := fstest.MapFS{}
	if expected != nil {
		files["expected/s/c/t.p.txt"] = &fstest.MapFile{Data: []byte(*expected)}
		files["expected/France.txt"] = files["expected/s/c/t.p.txt"]
	}
	s, diags := kept(list, files, suite.Options{})
	for c := range s.Cases() {
		if a.Context == nil {
			a.Context = &scorers.Context{Trial: snapshotTrial}
		}
		got, err := scorers.Builtin().Compile(c.Scorers[0]).Score(a)
		if err != nil || diags.HasErrors() {
			t.Fatalf("got %v, %v, want no problem", err, diags.Err())
		}
		return got
	}
	return eval.Score{}
}

func TestSnapshotComparesWithTheKeptAnswer(t *testing.T) {
	t.Parallel()
	const plain = "- snapshot: true"
	big := strings.Repeat("a line of text\n", 1<<16)
	for _, c := range []struct{ list, expected, answer, want string }{
		{plain, "Paris\n", "Paris", "p"},
		{plain, "Paris", "Paris", "p"},                            // an editor left the last line break out
		{plain, "Paris\r\n", "Paris", "p"},                        // git made it so
		{plain, "\ufeffParis\n", "Paris", "p"},                    // an editor of Windows did
		{plain, "a\r\nb\r\n\r\n", "a\nb\n", "p"},                  // of a checkout
		{plain, "a\nb\n", "a\r\nb", "p"},                          // of an answer
		{plain, "Paris\n\n", "Paris", "f"},                        // only one is taken off
		{plain, "Paris\n", "Paris\n", "f"},                        // and one is added
		{plain, "paris\n", "Paris", "f"},                          //
		{plain + "\n  ignoreCase: true", "paris\n", "PARIS", "p"}, //
		{plain + "\n  trim: true", "\n paris \n\n", "paris\n", "p"},
		{plain, "e\u0301te\u0301\n", "été", "p"}, // combining marks
		{plain + "\n  normalize: none", "e\u0301te\u0301\n", "été", "f"},
		{plain, "שלום\n", "שלום", "p"},
		{plain, "", " ", "f"},
		{plain, "\n", "", "f"}, // there is no answer, whatever is expected
		{plain, "Paris\n", "", "f"},
		{"- not: {snapshot: true}", "Paris\n", "", "f"},
		{"- not: {snapshot: true}", "Paris\n", "Rome", "p"},
		{plain, big + "\n", big, "p"},
		{plain, big + "\n", big + "more", "f"},
		{"- snapshot: '{{.country}}.txt'", "Paris\n", "Paris", "p"},
		{"- snapshot: ./x/../{{.country}}.txt", "Paris\n", "Paris", "p"},
		{plain + "\n  select: {jq: .a}", "1\n", `{"a": 1, "b": 7}`, "p"},
		{"- any: [{contains: x}, {snapshot: true, trim: true}]", "Paris\n", "Paris ", "p"},
	} {
		if got := snapshot(t, c.list, &c.expected, answer(c.answer)); letter(got) != c.want || got.Reason == "" {
			t.Errorf("%s of %.40q on %.40q: %s, want %s: %s", c.list, c.expected, c.answer, letter(got), c.want, got.Reason)
		}
	}
	got := snapshot(t, plain, nil, answer("Paris"))
	expect.Same(t, "without a file", got.Grade, eval.Grade(eval.Unscored{
		Why: "there is no expected answer yet: `evalrun accept RUN` writes it", Cause: eval.NothingAccepted,
	}))
	expect.Same(t, "cause of the ending", scorers.EndingOf([]eval.Score{got}, nil).(eval.Errored).Error.Cause, eval.NothingAccepted)
}

func TestSnapshotShowsTheDiff(t *testing.T) {
	t.Parallel()
	expected := "one\ntwo\nthree\n"
	got := snapshot(t, "- snapshot: true", &expected, answer("one\n2\nthree"))
	expect.Same(t, "the difference", got.Diff, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three")
	expect.Same(t, "reason", got.Reason, `expected "one\ntwo\nthree" (expected/s/c/t.p.txt), got "one\n2\nthree"`)
	expected = "Paris\n"
	got = snapshot(t, "- snapshot: true", &expected, answer("paris"))
	expect.Contains(t, "reason", got.Reason, "`ignoreCase: true` ignores it")
	expect.Same(t, "diff", got.Diff, "")
	expected = strings.Repeat("x", 1<<19)
	expect.Same(t, "diff", snapshot(t, "- snapshot: true", &expected, answer(expected+"y")).Diff, "they differ after the first 256 KiB")
	earlier := answer("Paris") // an arm of an earlier version has the file of the arm
	earlier.Context = &scorers.Context{Trial: eval.Trial{Suite: "s", Case: "c", Arm: "t/p@main", Target: "t", Prompt: "p"}}
	expected = "Paris"
	expect.Same(t, "an earlier version", letter(snapshot(t, "- snapshot: true", &expected, earlier)), "p")
}

// What is gathered is what the scorer looked at; without an answer there is nothing.
func TestSnapshotsAreGathered(t *testing.T) {
	t.Parallel()
	blocked := answer("half a sen")
	blocked.Response.Candidates[0].FinishReason = "SAFETY"
	two := &scorers.Answer{Response: &eval.Response{Candidates: []eval.Candidate{{Text: "one"}, {Text: "Paris"}}}}
	for _, c := range []struct {
		list string
		a    *scorers.Answer
		want string
	}{
		{"- snapshot: true", answer("Rome"), "expected/s/c/t.p.txt: Rome;"},
		{"- snapshot: true", answer("Paris"), "expected/s/c/t.p.txt: Paris (same);"},
		{"- snapshot: true\n  candidate: 1", two, "expected/s/c/t.p.txt: Paris (same);"},
		{"- snapshot: true\n  candidate: all", two, "expected/s/c/t.p.txt: one;expected/s/c/t.p.txt: Paris (same);"},
		{"- snapshot: true\n  select: {jq: .a}", answer(`{"a": "x\r\ny"}`), "expected/s/c/t.p.txt: x\ny;"},
		{
			"- all: [{contains: z}, {snapshot: a.txt}, {not: {any: [{snapshot: b.txt, select: {regex: '\\d+'}}]}}]", answer("a 1"),
			"expected/a.txt: a 1;expected/b.txt: 1;",
		},
		{"- snapshot: true", blocked, ""},
		{"- snapshot: true", answer(""), ""},
		{"- snapshot: true", answer(" \n"), ""},
		{"- snapshot: true\n  select: {jq: .b}", answer(`{"a": 1}`), ""},
		{"- contains: Rome", answer("Rome"), ""},
	} {
		s, diags := kept(c.list, fstest.MapFS{"expected/s/c/t.p.txt": {Data: []byte("Paris\n")}}, suite.Options{})
		if diags.HasErrors() {
			t.Fatalf("got %v, want no problem", diags.Err())
		}
		for one := range s.Cases() {
			c.a.Context = &scorers.Context{Trial: snapshotTrial}
			if _, err := scorers.Builtin().Only("snapshot").Compile(one.Scorers[0]).Score(c.a); err != nil {
				t.Error(err)
			}
			got := ""
			for _, one := range c.a.Context.SnapshotChecks {
				got += one.File + ": " + one.Got
				if one.Accepted != nil && one.Accepted.Same {
					got += " (same)"
				}
				got += ";"
			}
			expect.Same(t, c.list, got, c.want)
		}
	}
}

// Nothing but snapshots is looked at when these are gathered, least of all by a program.
func TestOnlySnapshotsAreLookedAt(t *testing.T) {
	t.Parallel()
	s, diags := kept("- snapshot: true\n- equals: x\n- not: {exec: [go, version]}", nil, suite.Options{Dir: "/"})
	if diags.HasErrors() {
		t.Fatalf("got %v, want no problem", diags.Err())
	}
	for c := range s.Cases() {
		for _, spec := range c.Scorers[1:] {
			if got, err := scorers.Builtin().Only("snapshot").Compile(spec).Score(answer("x")); err != nil || got.Unscored() != "not looked at" {
				t.Errorf("%s: %+v %v, want not looked at", spec.Kind, got, err)
			}
		}
	}
}

func TestSnapshotProblemsAreReported(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"- snapshot:":                                  "`snapshot` needs an argument",
		"- snapshot: false":                            "looks at nothing",
		"- snapshot: ''":                               "the name of the file is empty",
		"- snapshot: [a]":                              "expected a text, found a list",
		"- snapshot: {file: a}":                        "expected a text, found a mapping",
		"- snapshot: ../x":                             `s.yaml:9:19: "../x" is not a file below expected/`,
		"- snapshot: a/../../x":                        "is not a file below expected/",
		"- snapshot: /etc/passwd":                      "is not a file below expected/",
		"- snapshot: .":                                "is not a file below expected/",
		"- snapshot: a/":                               "is not a file below expected/",
		"- snapshot: '{{.bad}}'":                       "is not a file below expected/",
		"- snapshot: 'a\\b'":                           "has a character that some systems do not take",
		"- snapshot: 'what?'":                          `do not take: "?"`,
		"- snapshot: \"a\\u202Etxt.exe\"":              "has a character that some systems do not take",
		"- snapshot: \"a\\tb\"":                        "has a character that some systems do not take",
		"- snapshot: sub/nul.txt":                      "is a device on Windows",
		"- snapshot: 'a./b'":                           "ends with a dot",
		"- snapshot: ' a'":                             "begins or ends with a space",
		"- snapshot: " + long(201):                     "is too long",
		"- snapshot: " + long(150, 150, 150, 150, 150): "is too long",
		"- snapshot: true\n  ignorecase: true":         "unknown key `ignorecase`",
		"- snapshot: true\n- snapshot: true":           "another scorer of case `c` keeps its answer in expected/s/c/t.p.txt too",
		"- any: [{snapshot: a.txt}, {snapshot: a.txt, trim: true}]": "another scorer of case `c`",
		"- snapshot: folder":     "the expected answer cannot be read: expected/folder is not a file",
		"- snapshot: latin1.txt": "the expected answer cannot be read: expected/latin1.txt is not text in UTF-8",
	} {
		_, diags := kept(list, fstest.MapFS{"expected/folder/x": {}, "expected/latin1.txt": {Data: []byte("\xe9t\xe9")}}, suite.Options{})
		if err := diags.Err(); err == nil || !strings.Contains(err.Error(), want) || diags.Len() != 1 {
			t.Errorf("%q: %v\nwant %s", list, err, want)
		}
	}
	_, diags := kept("- snapshot: a.txt\n- snapshot: A.txt", nil, suite.Options{})
	if diags.HasErrors() || !slices.ContainsFunc(diags.Sorted(), func(d diag.Diagnostic) bool {
		return strings.Contains(d.Message, "expected/a.txt and expected/A.txt are the same file on Windows and macOS")
	}) {
		t.Errorf("got %v, want that the two files are the same on Windows and macOS", diags.Sorted())
	}
}

func long(parts ...int) string {
	var out []string
	for _, n := range parts {
		out = append(out, strings.Repeat("n", n))
	}
	return strings.Join(out, "/")
}

// What is expected is a part of the suite: it is in its hash, and read when it is loaded.
func TestExpectedIsPartOfTheSuite(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	none, _ := kept("- snapshot: true", files, suite.Options{})
	files["expected/s/c/t.p.txt"] = &fstest.MapFile{Data: []byte("Paris\n")}
	there, _ := kept("- snapshot: true", files, suite.Options{})
	if none.Hash() == there.Hash() {
		t.Errorf("got the hash %s with and without a file, want two", there.Hash())
	}
	var sources []string
	for name := range there.Sources() {
		sources = append(sources, name)
	}
	if !slices.Contains(sources, "expected/s/c/t.p.txt") {
		t.Errorf("got the sources %q, want expected/s/c/t.p.txt among them", sources)
	}
	before, _ := kept("- snapshot: true", files, suite.Options{Expected: fstest.MapFS{}})
	if text, ok := before.Expected("expected/s/c/t.p.txt"); ok || before.Hash() != none.Hash() {
		t.Errorf("a file that was not there then: got %q and the hash %s, want none and %s", text, before.Hash(), none.Hash())
	}
	_, diags := kept("- snapshot: true", nil, suite.Options{Expected: refusing{}})
	expect.Contains(t, "problems", fmt.Sprint(diags.Err()), "expected/s/c/t.p.txt is not inside the project")
}

// refusing is a folder whose links all lead out of it.
type refusing struct{}

func (refusing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("path escapes from parent")}
}
