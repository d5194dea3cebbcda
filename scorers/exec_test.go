//go:build unix

package scorers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// folder is a suite's folder with programs in it.
type folder string

func newFolder(t *testing.T, files map[string]string) folder {
	t.Helper()
	dir := folder(t.TempDir())
	for name, text := range files {
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		path := filepath.Join(string(dir), name)
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		expect.OK(t, os.WriteFile(path, []byte(text), mode))
	}
	return dir
}

func (f folder) load(entry string, opts suite.Options) (*suite.Suite, string) {
	if err := os.WriteFile(filepath.Join(string(f), "s.yaml"), []byte(plainText(entry)), 0o600); err != nil {
		return nil, err.Error()
	}
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err.Error()
	}
	opts.Dir = string(f)
	s, diags := loadedFrom(root.FS() /* stays open: files are read later too */, opts)
	if err := diags.Err(); err != nil {
		return nil, err.Error()
	}
	return s, ""
}

func (f folder) compile(t *testing.T, entry string) *scorers.Compiled {
	t.Helper()
	s, wrong := f.load(entry, suite.Options{})
	if wrong != "" {
		t.Fatalf("%s: got %s, want no problem", entry, wrong)
	}
	return onlyOf(t, entry, s, new(diag.List))
}

// saying is a program that writes its arguments.
const saying = "#!/bin/sh\nprintf '%s' \"$*\"\n"

func TestProgramsScoreByWhatTheyPrint(t *testing.T) {
	t.Parallel()
	dir := newFolder(t, map[string]string{"say.sh": saying, "sub/say.sh": saying, "a b.sh": saying, "plain.txt": "say"})
	for entry, want := range map[string]string{
		"- exec: [./say.sh, 'true']":                                                         `p 1 "./say.sh" says 1`,
		"- exec: [./say.sh, 'false']":                                                        `f 0 "./say.sh" says 0`,
		"- exec: [sub/say.sh, '1']":                                                          `p 1 "sub/say.sh" says 1`,
		"- exec: [./sub/../say.sh, '0.5']":                                                   `f 0.5 "./sub/../say.sh" says 0.5`,
		"- {exec: [./say.sh, '0.5'], threshold: 0.5}":                                        `p 0.5 "./say.sh" says 0.5`,
		"- {exec: [./say.sh, '{\"score\": 0.4, \"passed\": true}'], threshold: 0.5}":         `f 0.4 "./say.sh" says 0.4`,
		"- exec: {command: [./a b.sh, ' true\r\n']}":                                         `p 1 "./a b.sh" says 1`,
		"- exec: [./say.sh, '{\"score\": 0.25, \"passed\": true, \"reason\": \" close \"}']": `p 0.25 close`,
		"- exec: [./say.sh, '{\"score\": true, \"more\": [1]}']":                             `p 1 "./say.sh" says 1`,
		"- exec: [./say.sh, '{\"passed\": false, \"reason\": \"שלום\"}']":                    `f 0 שלום`,
		"- exec: [./say.sh, '{\"score\": null, \"reason\": \"no idea\"}']":                   `u no idea`,
		"- exec: [./say.sh, '{\"score\": null}']":                                            `u the program gave no score`,
		"- exec: [printf, 'true']":                                                           `p 1 "printf" says 1`,
		"- exec: 'true'": `the program "true" wrote something that is not a result: ` +
			`nothing at all`,
		"- exec: ./say.sh":          `nothing at all: ""`,
		"- exec: [./say.sh, yes]":   `it is not JSON: "yes"`,
		"- exec: [./say.sh, '1 2']": `more than one JSON value: "1 2"`,
		"- exec: [./say.sh, '{\"passed\": false, \"passed\": true}']":     `it has the key "passed" twice: `,
		"- exec: [./say.sh, '{\"passed\": false, \"Passed\": true}']":     `it has the key "passed" twice: `,
		"- exec: [./say.sh, '1.01']":                                      `the score 1.01 is not between 0 and 1`,
		"- exec: [./say.sh, '-1']":                                        `the score -1 is not between 0 and 1`,
		"- exec: [./say.sh, '1e999']":                                     `not a number that can be read`,
		"- exec: [./say.sh, 'null']":                                      `neither true nor false nor a number`,
		"- exec: [./say.sh, '\"1\"']":                                     `neither true nor false nor a number`,
		"- exec: [./say.sh, '{}']":                                        `it has no`,
		"- exec: [./say.sh, '{\"score\": 1, \"passed\": \"yes\"}']":       "`passed` is true or false",
		"- exec: {command: [sh, -c, 'echo \"$A\"; exit 0'], env: {A: 1}}": `p 1 "sh" says 1`,
		"- exec: [sh, -c, 'echo because >&2; exit 2']": `the program "sh" ended with exit status 2; its standard ` +
			`error: because`,
		"- exec: {command: [sleep, '600'], timeout: 10ms}": `did not end within 10ms`,
		"- not: {exec: [./say.sh, 'false']}":               `p 1 not wanted: "./say.sh" says 0`,
		"- not: {exec: 'false'}":                           `ended with exit status 1`,
		"- not: {any: [contains: x, exec: 'false']}":       `ended with exit status 1`,
		"- all: [contains: zzz, exec: 'false']":            `ended with exit status 1`,
		"- {exec: 'false', candidate: all, name: mine}": `mine: the program "false" ended with ` +
			`exit status 1`,
		"- exec: [sh, -c, 'head -c 2000000 /dev/zero']":                                      `wrote more than 1048576 bytes`,
		"- exec: [sh, -c, 'printf \"{\\\"score\\\":1,\\\"reason\\\":\\\"%010000d\\\"}\" 0']": `p 1 ` + strings.Repeat("0", 4096) + "...",
	} {
		got, err := dir.compile(t, entry).Score(answer("x"))
		shown := letter(got) + " "
		switch {
		case err != nil:
			shown = err.Error()
		case !isScored(got):
			shown += got.Reason
		default:
			value, _ := json.Marshal(valueOf(got))
			shown += string(value) + " " + got.Reason
		}
		if !strings.Contains(shown, want) || err == nil && shown != want {
			t.Errorf("%s:\n got %s\nwant %s", entry, shown, want)
		}
	}
}

// What a program reads, and that it runs in the suite's folder without the key.
func TestExecPassesTheAnswerAndHidesTheKey(t *testing.T) {
	t.Setenv("EVALRUN_API_KEY", "canary")
	dir := newFolder(t, map[string]string{"keep.sh": "#!/bin/sh\ncat > input.json\necho true\nenv > env\n"})
	c := dir.compile(t, "- exec: {command: ./keep.sh, args: {limit: 3, of: [a, 1.5]}}\n  candidate: 1")
	input := dir.input(t, c, &scorers.Answer{
		Response: &eval.Response{
			Candidates: []eval.Candidate{
				{Text: "no"},
				{Text: "say \"hi\"\r\n\x00</b> שלום", FinishReason: "STOP", SafetyRatings: []eval.SafetyRating{{Category: "C", Probability: "LOW"}}},
			},
			PromptFeedback: &eval.PromptFeedback{BlockReason: "OTHER"},
		},
		Usage:   eval.Usage{PromptTokens: 2, OutputTokens: 3, TotalTokens: 5, Source: eval.UsageService},
		Vars:    eval.Dict{"n": "1.10", "l": eval.Array{"a"}},
		Request: &eval.Request{Model: "m", Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: "ask"}}}}},
		Context: &scorers.Context{Trial: eval.Trial{Suite: "s", Case: "c", Arm: "t/p", Model: "m", Repeat: 2}},
	})
	if !strings.HasPrefix(input, `{"version":1,"answer":"say \"hi\"\r\n`) {
		t.Errorf("got %v, want the version and the answer first", input)
	}
	var sent map[string]json.RawMessage
	expect.OK(t, json.Unmarshal([]byte(input), &sent))
	for key, want := range map[string]string{
		"answer": `"say \"hi\"\r\n\u0000\u003c/b\u003e שלום"`, "candidate": "1", "finishReason": `"STOP"`,
		"vars": `{"l":["a"],"n":"1.10"}`, "args": `{"limit":3,"of":["a",1.5]}`,
		"suite": `"s"`, "case": `"c"`, "arm": `"t/p"`, "repeat": "2", "promptFeedback": `{"blockReason":"OTHER"}`,
		"safetyRatings": `[{"category":"C","probability":"LOW"}]`,
		"usage":         `{"outputTokens":3,"promptTokens":2,"source":"service","totalTokens":5}`,
	} {
		expect.Same(t, key, decoded(t, string(sent[key])), decoded(t, want))
	}
	expect.Contains(t, "request", string(sent["request"]), `"parts":[{"text":"ask"}]`)
	if env, _ := os.ReadFile(filepath.Join(string(dir), "env")); strings.Contains(string(env), "canary") || len(env) == 0 {
		t.Errorf("got %v, want an environment without secrets", string(env))
	}
	blocked := &scorers.Answer{Response: &eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}}
	const want = `{"version":1,"answer":"","candidate":1,"finishReason":"","safetyRatings":[],"candidates":[],`
	if input := dir.input(t, c, blocked); !strings.HasPrefix(input, want) {
		t.Errorf("got %v, want %s first", input, want)
	}
}

// input is what the program keep.sh of the folder got for an answer, which it passes.
func (f folder) input(t *testing.T, c *scorers.Compiled, a *scorers.Answer) string {
	t.Helper()
	if got, err := c.Score(a); err != nil || !got.Passed() {
		t.Fatalf("got %v, %v, want a pass", got, err)
	}
	input, err := os.ReadFile(filepath.Join(string(f), "input.json"))
	expect.OK(t, err)
	return string(input)
}

// A program is stopped when no caller waits for it any more.
func TestExecStopsAProgramNoCallerWaitsFor(t *testing.T) {
	t.Parallel()
	c := newFolder(t, nil).compile(t, "- exec: [sleep, '600']")
	a, gone := answer("x"), make(chan struct{})
	a.Context = &scorers.Context{Abandoned: gone}
	close(gone)
	_, err := c.Score(a)
	expect.Contains(t, "after the run", fmt.Sprint(err), "abandoned")
}

func TestExecProblemsAreReported(t *testing.T) {
	t.Parallel()
	dir := newFolder(t, map[string]string{"say.sh": saying, "plain.txt": "x", "sub/x": saying})
	outside := filepath.Join(t.TempDir(), "x.sh")
	expect.OK(t, os.WriteFile(outside, []byte(saying), 0o755))
	expect.OK(t, os.Symlink(outside, filepath.Join(string(dir), "link.sh")))
	for entry, want := range map[string]string{
		"- exec: ./say.txt":                                  "s.yaml:8:15: there is no file ./say.txt in the suite's folder",
		"- exec: ./plain.txt":                                "./plain.txt: the file is not executable",
		"- exec: ./sub":                                      "./sub is not a file",
		"- exec: ./link.sh":                                  "./link.sh is not inside the project",
		"- exec: ../x.sh":                                    "../x.sh is not a path inside the project",
		"- exec: /bin/sh":                                    "/bin/sh is not a path inside the project",
		"- exec: ['..\\x']":                                  "is not a path inside the project",
		"- exec: say.sh":                                     "there is no program say.sh in PATH",
		"- exec: ./say.sh --strict":                          "there is no file ./say.sh --strict",
		"- exec: []":                                         "`exec` needs a program",
		"- exec: ['']":                                       "`exec` needs a program",
		"- exec:":                                            "`exec` needs an argument",
		"- exec: [[sh]]":                                     "expected a text, found a list",
		"- exec: {timeout: 1s}":                              "the key `command` is missing",
		"- exec: {command: sh, shell: true}":                 "unknown key `shell`",
		"- exec: {command: sh, timeout: 11m}":                "10m0s at most",
		"- exec: {command: sh, timeout: 0s}":                 "0s",
		"- exec: {command: sh, env: {A-B: 1}}":               "`A-B` is not the name of an environment variable",
		"- exec: {command: sh, env: {A: [1]}}":               "expected a text, found a list",
		"- not: {exec: nowhere}":                             "there is no program nowhere in PATH",
		"- exec: {command: [sh, -c, x], args: {a: b}, x: 1}": "unknown key `x`",
	} {
		if _, got := dir.load(entry, suite.Options{}); !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", entry, got, want)
		}
	}
	_, got := dir.load("- all: [exec: ./say.sh]", suite.Options{Untrusted: true})
	expect.Contains(t, "problems", got, "s.yaml:8:15: an untrusted suite cannot start programs")
}

// The files that a command names are a part of the scorer, nested ones too.
func TestExecFilesArePartOfTheScorer(t *testing.T) {
	t.Parallel()
	dir := newFolder(t, map[string]string{"say.sh": saying, "data.txt": "x"})
	programs := func() string {
		return strings.Join(dir.compile(t, "- any: [exec: [./say.sh, data.txt, 'true'], exec: sh]").Needs().Programs, "\n")
	}
	before := programs()
	if !strings.Contains(before, `"data.txt"2d711642b7`) || !strings.HasSuffix(before, "\n\"sh\"") {
		t.Errorf("got %v, want the data with its digest, and the program", before)
	}
	expect.OK(t, os.WriteFile(filepath.Join(string(dir), "say.sh"), []byte(saying+"# changed\n"), 0o755))
	if after := programs(); after == before {
		t.Errorf("programs after a change: got %v, want another digest", after)
	}
}

// The programs of the examples in Go and in the shell agree; the one in Python does where there is a python3.
func TestExampleProgramsAgree(t *testing.T) {
	t.Parallel()
	dir := newFolder(t, nil)
	source := "../examples/suites/programs/isbn.go"
	build := exec.Command("go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-o", filepath.Join(string(dir), "isbn"), source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	for _, name := range []string{"isbn.sh", "isbn.py"} {
		text, err := os.ReadFile("../examples/suites/programs/" + name)
		expect.OK(t, err)
		expect.OK(t, os.WriteFile(filepath.Join(string(dir), name), text, 0o755))
	}
	entries := []string{"- exec: ./isbn", "- exec: ./isbn.sh"}
	if _, err := exec.LookPath("python3"); err == nil {
		entries = append(entries, "- exec: [python3, isbn.py]")
	}
	for _, entry := range entries {
		c := dir.compile(t, entry)
		for text, want := range map[string]string{
			"978-0-306-40615-7": "p the check digit is right", "978-0-306-40615-8": "f the check digit is 8, it should be 7",
			"9780306406157\n": "p the check digit is right",
			"978-0-306":       "f 13 digits are expected, 7 came", "": "f 13 digits are expected, 0 came",
			"It is \"978-0-306-40615-7\", שלום":         "p the check digit is right",
			"a \\ b\r\n978 0306406157 \"answer\":\"1\"": "f 13 digits are expected, 14 came",
		} {
			got, err := c.Score(answer(text))
			if shown := letter(got) + " " + got.Reason; err != nil || shown != want {
				t.Errorf("%s on %q: %s %v, want %s", entry, text, shown, err, want)
			}
		}
	}
}

// What a program reads begins as it always did, and ends with what came later.
func TestExecReadsToolCalls(t *testing.T) {
	t.Parallel()
	dir := newFolder(t, map[string]string{"read.sh": "#!/bin/sh\nread -r line\necho \"$line\" > input.json\necho true\n"})
	c := dir.compile(t, "- exec: [./read.sh]")
	for name, a := range map[string]*scorers.Answer{
		`"toolCalls":[],"steps":1}`: answer("x"),
		`"toolCalls":[{"name":"get_order","args":{"id":7}},{"name":"close","args":{}}],"steps":1}`: calling(`get_order {"id":7}`, "close"),
		`"toolCalls":[{"name":"a","args":{}}],"steps":2,"turns":[{"candidates":[`:                  looping("done", []string{"a"}),
	} {
		s, err := c.Score(a)
		if err != nil || !s.Passed() {
			t.Fatalf("%v (%v), want a pass", s.Reason, err)
		}
		input, err := os.ReadFile(filepath.Join(string(dir), "input.json"))
		if err != nil || !strings.HasPrefix(string(input), `{"version":1,"answer":"`) || !strings.Contains(string(input), name) {
			t.Errorf("%s (%v), want it to begin with version and answer, and %s in it", input, err, name)
		}
	}
}
