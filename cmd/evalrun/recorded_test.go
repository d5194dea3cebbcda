package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// recordedService serves recorded replies of a real service, each under a model of its own, and counts the calls.
type recordedService struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string]int
}

// strange is a reply with unknown fields in each of its objects, indented.
func strange(body []byte, n int) []byte {
	var reply any
	if json.Unmarshal(body, &reply) != nil {
		return body
	}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				visit(one)
			}
		case map[string]any:
			for _, one := range v {
				visit(one)
			}
			v[fmt.Sprintf("unknown%d", n%7)] = map[string]any{"a\nb": []any{1e21, "two\r\nlines", nil, map[string]any{"deep": "\u2028"}}}
		}
	}
	visit(reply)
	out, err := json.MarshalIndent(reply, "  ", "\t")
	if err != nil {
		return body
	}
	return out
}

type recording struct {
	model  string // also its name
	body   []byte
	status int
	stream bool
}

// recordings reads the replies in internal/clients/generative/testdata; whole ones also in an indented form.
func recordings(t *testing.T) []recording {
	t.Helper()
	files, err := filepath.Glob("../../internal/clients/generative/testdata/*-*.*")
	if err != nil || len(files) < 30 {
		t.Fatalf("got %d recordings (%v), want at least 30", len(files), err)
	}
	var out []recording
	for _, file := range files {
		body, err := os.ReadFile(file)
		expect.OK(t, err)
		name := strings.ReplaceAll(filepath.Base(file), ".", "-")
		r := recording{model: name, body: body, status: 200, stream: strings.HasPrefix(name, "streaming")}
		var failed struct {
			Error *struct{ Code int } `json:"error"`
		}
		if json.Unmarshal(body, &failed) == nil && failed.Error != nil {
			r.status = failed.Error.Code
		}
		out = append(out, r)
		var indented bytes.Buffer
		if json.Indent(&indented, body, "\t", "\r\n\t  ") == nil {
			r.model, r.body = name+"-indented", indented.Bytes()
			out = append(out, r)
		}
	}
	return out
}

func serveRecordings(t *testing.T, all []recording) *recordedService {
	t.Helper()
	s := &recordedService{calls: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		model, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/models/"), ":")
		i := slices.IndexFunc(all, func(one recording) bool { return one.model == model })
		switch {
		case method == "":
			fmt.Fprintf(w, `{"name":"models/%s","inputTokenLimit":"10000","outputTokenLimit":8192}`, model)
			return
		case i < 0:
			http.NotFound(w, r)
			return
		}
		s.mu.Lock()
		s.calls[method]++
		s.mu.Unlock()
		kind := "application/json"
		if bytes.HasPrefix(all[i].body, []byte("data:")) {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(all[i].status)
		_, _ = w.Write(all[i].body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *recordedService) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls["generateContent"] + s.calls["streamGenerateContent"]
}

func modelTargets(all []recording) string {
	var out strings.Builder
	for _, r := range all {
		fmt.Fprintf(&out, "  - {name: %s, model: %s, stream: %t}\n", r.model, r.model, r.stream)
	}
	return out.String()
}

// endpointTargets are recordings as endpoints, whose answers jq reads. A stream in a JSON array is one response.
func endpointTargets(all []recording, address string) string {
	var out strings.Builder
	for _, r := range all {
		stream := ""
		if bytes.HasPrefix(r.body, []byte("data:")) {
			stream = ", stream: sse"
		}
		fmt.Fprintf(
			&out, "  - {name: %s, http: {url: \"%s/v1/models/%s:generateContent\", body: {contents: \"{{prompt}}\"}, "+
				"answer: '[.. | .text? | strings] | join(\"\")', finishReason: '[.. | .finishReason? | strings] | last // \"NONE\"'%s}}\n",
			r.model, address, r.model, stream,
		)
	}
	return out.String()
}

// recordedSuite is a folder with a suite that runs every target a number of times. Each is a recording.
func recordedSuite(t *testing.T, targets string, repeats int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	suite := "version: 1\nname: recorded\ntargets:\n" + targets + "prompts: [{name: p, text: hello}]\n" +
		fmt.Sprintf(
			"defaults: {repeats: %d, scorers: [{finishReason: STOP}]}\ncases: [{name: c}]\nlimits: {concurrency: 8, attempts: 1}\n",
			repeats,
		)
	expect.OK(t, os.WriteFile(filepath.Join(dir, "suite.yaml"), []byte(suite), 0o600))
	return dir
}

// Every recorded reply goes through a whole run: the journal, the reports, resume after a kill, record and replay. No answer is lost
// and none is paid for twice.
func TestRecordedRepliesPassThroughARun(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(
		recordings(t), func(r recording) bool {
			return strings.Contains(r.model, "api-key") || r.status == 403 || r.status == 404
		},
	) // they end a run
	r := &recordedRun{T: t, all: all, service: serveRecordings(t, all), dir: recordedSuite(t, modelTargets(all), 1), program: program(t)}
	r.whole()
	r.resumed()
	r.replayed()
}

// The same through http targets, where a reply of a failed call is an error as well.
func TestRecordedRepliesPassThroughEndpoints(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(
		recordings(t), func(r recording) bool { return strings.Contains(r.model, "api-key") || r.status == 403 },
	)
	service := serveRecordings(t, all)
	dir := recordedSuite(t, endpointTargets(all, service.URL), 1)
	r := &recordedRun{T: t, all: all, service: service, dir: dir, program: program(t)}
	r.whole()
	became := outcomes(t, dir, "whole.jsonl")
	for _, one := range all {
		failed := strings.Contains(became, one.model+" error ")
		if one.status != http.StatusOK && !failed {
			t.Errorf("%s, status %d: no error, want one", one.model, one.status)
		}
	}
	r.resumed()
	r.replayed()
}

type recordedRun struct {
	*testing.T
	all          []recording
	service      *recordedService
	dir, program string
}

// finish runs a command that exits 1, since not every trial passes.
func (r *recordedRun) finish(args ...string) {
	r.Helper()
	cmd := exec.Command(r.program, args...)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "EVALRUN_API_KEY=k", "EVALRUN_BASE_URL="+r.service.URL)
	text, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		r.Fatalf("evalrun %v: exit %d, want 1 (%v)\n%.3000s", args, code, err, text)
	}
}

// whole runs all, and resumes what is complete.
func (r *recordedRun) whole() {
	r.finish(
		"run", "suite.yaml", "--out", "whole", "--record", "kept", "-q", "-o", "jsonl=whole.jsonl", "-o",
		"junit=whole.xml", "-o", "html=whole.html", "-o", "csv=whole.csv",
	)
	expect.Same(r, "calls", r.service.requests(), len(r.all))
	if got, want := strings.Count(readText(r.T, r.dir, "whole/run.jsonl"), "\n"), len(r.all)+2; got != want {
		r.Errorf("the run file has %d lines, want %d", got, want)
	}
	expect.Same(r, "test cases of JUnit", strings.Count(readText(r.T, r.dir, "whole.xml"), "<testcase "), len(r.all))
	r.finish("resume", "whole", "-q", "-o", "jsonl=again.jsonl") // complete: nothing is sent
	expect.Same(r, "calls after the resume of a complete run", r.service.requests(), len(r.all))
	expect.Same(r, "the report of the resumed run", readText(r.T, r.dir, "again.jsonl"), readText(r.T, r.dir, "whole.jsonl"))
}

// resumed cuts the run in the middle of a line, and resumes it.
func (r *recordedRun) resumed() {
	lines := strings.SplitAfter(readText(r.T, r.dir, "whole/run.jsonl"), "\n")
	half := strings.Join(lines[:len(lines)/2], "") + lines[len(lines)/2][:20]
	expect.OK(r, os.WriteFile(filepath.Join(r.dir, "whole", "run.jsonl"), []byte(half), 0o600))
	missing := len(r.all) - (len(lines)/2 - 1)
	failed := strings.Count(half, `"outcome":"error"`)
	r.finish("resume", "whole", "-q", "-o", "jsonl=again.jsonl")
	if got := r.service.requests() - len(r.all); got > missing+failed {
		r.Errorf("resume made %d calls, want at most %d and %d errors", got, missing, failed)
	}
	if got, want := outcomes(r.T, r.dir, "again.jsonl"), outcomes(r.T, r.dir, "whole.jsonl"); got != want {
		r.Errorf("after resume:\n%s\nwant\n%s", got, want)
	}
}

func (r *recordedRun) replayed() {
	before := r.service.requests()
	r.finish("run", "suite.yaml", "--out", "replayed", "--replay", "kept", "-q", "-o", "jsonl=replayed.jsonl")
	expect.Same(r, "calls after a replay", r.service.requests(), before)
	answered := regexp.MustCompile(`(?m)^.* (pass|fail) .*\n`)
	got := answered.FindAllString(outcomes(r.T, r.dir, "replayed.jsonl"), -1)
	want := answered.FindAllString(outcomes(r.T, r.dir, "whole.jsonl"), -1)
	if len(want) < 40 || !slices.Equal(got, want) {
		r.Errorf("replayed:\n%s\nwant\n%s", got, want)
	}
}

// The recorded replies over and over, indented, with unknown fields: no answer is lost, none is requested twice, and
// every repeat has the outcome of the reply as recorded.
func TestSoakRecordedRepliesLosesNoAnswer(t *testing.T) {
	repeats, _ := soakTrials(t)
	repeats = max(3, repeats/400)
	plain := slices.DeleteFunc(recordings(t), func(r recording) bool {
		return strings.Contains(r.model, "api-key") || r.status != 200 || bytes.HasPrefix(r.body, []byte("data:"))
	})
	all := slices.Clone(plain)
	for i := range all {
		all[i].body = strange(all[i].body, i)
	}
	want := recordedOutcomes(t, plain, 1)
	got := recordedOutcomes(t, all, repeats)
	for _, r := range all {
		expect.Same(t, r.model+": repeats as "+want[r.model], got[r.model+" "+want[r.model]], fmt.Sprint(repeats))
	}
	t.Logf("%d replies, %d times each", len(all), repeats)
}

// recordedOutcomes runs every recording a number of times and returns the outcome of each, and how often an outcome
// came.
func recordedOutcomes(t *testing.T, all []recording, repeats int) map[string]string {
	t.Helper()
	service := serveRecordings(t, all)
	dir := recordedSuite(t, modelTargets(all), repeats)
	for _, args := range [][]string{{"run", "suite.yaml", "--out", "run"}, {"resume", "run"}} {
		cmd := exec.Command(program(t), append(args, "-q", "-o", "jsonl=out.jsonl")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "EVALRUN_API_KEY=k", "EVALRUN_BASE_URL="+service.URL)
		if text, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("evalrun %v: got %v, want exit 1\n%.3000s", args, err, text)
		}
		if got, want := service.requests(), len(all)*repeats; got != want {
			t.Fatalf("evalrun %v: %d calls, want %d", args, got, want)
		}
	}
	out := map[string]string{}
	for line := range strings.Lines(outcomes(t, dir, "out.jsonl")) {
		target, rest, _ := strings.Cut(line, " ")
		outcome, _, _ := strings.Cut(rest, " ")
		out[target] = outcome
		n, _ := strconv.Atoi(out[target+" "+outcome])
		out[target+" "+outcome] = strconv.Itoa(n + 1)
	}
	return out
}

func readText(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	expect.OK(t, err)
	return string(data)
}

// outcomes are the targets of a report with what became of them, a line each.
func outcomes(t *testing.T, dir, name string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(readText(t, dir, name)) {
		var r struct {
			Target, Outcome string
			Response        json.RawMessage
			Error           *struct{ Kind, Message string }
		}
		expect.OK(t, json.Unmarshal([]byte(line), &r))
		fmt.Fprintf(&out, "%s %s %s", r.Target, r.Outcome, r.Response)
		if r.Error != nil {
			fmt.Fprintf(&out, " %s: %s", r.Error.Kind, r.Error.Message)
		}
		out.WriteString("\n")
	}
	return out.String()
}
