package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
)

// trials are what a run file says of its trials: outcome, scores and answers.
func (b *box) trials(run string) map[string]string {
	b.t.Helper()
	file, err := os.Open(filepath.Join(b.dir, run, "run.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	out := map[string]string{}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		var one struct {
			Type, ID, Case, Arm, Outcome string
			Scores                       []struct {
				Scorer string
				Value  *float64
			}
			Response *struct{ Candidates []struct{ Text string } }
			Turns    []struct{ Response json.RawMessage }
		}
		if json.Unmarshal(line, &one) == nil && one.Type == "trial" {
			text, _ := json.Marshal([]any{one.Case, one.Arm, one.Outcome, one.Scores, one.Response, len(one.Turns)})
			out[one.ID] = string(text)
		}
		if err != nil {
			return out
		}
	}
}

// same wants a fleet to say of suites what a single process says with the same seed.
func (b *box) same(name string, working []string, suites ...string) {
	b.t.Helper()
	fleet, alone := name+"-fleet", name+"-alone"
	coordinator := b.serve(append(slices.Clone(suites), "--out", fleet, "--seed", "7", "--emulator")...)
	workers := []*process{
		b.work(coordinator.url, fleet, append(working, "-j", "3")...), b.work(coordinator.url, fleet, append(working, "-j", "2")...),
	}
	code := coordinator.end()
	didWork(b.t, workers...)
	single := b.alone(alone, func(o *evalrun.Options) { o.Emulator = "demo" }, suites...)
	if code != single.Exit {
		b.t.Errorf("%s: exit %d, want %d as of a single process:\n%s", name, code, single.Exit, coordinator.err.String())
	}
	got, want := b.trials(fleet), b.trials(alone)
	if len(want) == 0 || !maps.Equal(got, want) {
		b.t.Errorf("%s: %d trials differ from the %d of a single process", name, len(got), len(want))
		for id := range want {
			if got[id] != want[id] {
				b.t.Logf("got  %s\nwant %s", got[id], want[id])
				break
			}
		}
	}
}

// Judges, embeddings, images, streams, live chats, tools, program targets, races and early stops come out as in a single process.
func TestExamplesComeOutAsInOneProcess(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	if err := os.CopyFS(filepath.Join(b.dir, "suites"), os.DirFS("../../../examples/suites")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"judged", "votes", "live", "tools", "pictures", "streams", "race", "programs", "snapshots", "overlap", "classify",
	} {
		b.same(name, []string{"--trust"}, filepath.Join("suites", name+".yaml"))
	}
}

// Programs and endpoints under test are called by workers that may do that, with what the suite brings; a workspace stays on one machine.
func TestApplicationsAreCalledByAllowedWorkers(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(bytes.ToUpper(body))
	}))
	t.Cleanup(endpoint.Close)
	b := newBox(t, nil)
	b.write("answer.sh", `sed 's/.*"prompt":"\([^"]*\)".*/\1/'`+"\n")
	b.write("apps.yaml", `version: 1
name: apps
targets:
  - {name: program, program: {command: [sh, answer.sh]}}
  - {name: endpoint, http: {url: "`+endpoint.URL+`", body: {q: "{{prompt}}"}, answer: .Q}}
prompts: [{name: p, text: "say {{.word}}"}]
cases:
  - {name: a, vars: {word: one}, scorers: [{contains: one, ignoreCase: true}]}
  - {name: b, vars: {word: two}, scorers: [{contains: two, ignoreCase: true}]}
`)
	coordinator := b.serve("apps.yaml", "--out", "run")
	careful := b.work(coordinator.url, "run")
	if got := careful.end(); got != 2 || !strings.Contains(careful.err.String(), "--allow") {
		t.Errorf("a worker that allows nothing: exit %d, want 2 and a word of --allow\n%s", got, careful.err.String())
	}
	worker := b.work(coordinator.url, "run", "--allow", "program", "--allow", "http=127.0.0.1")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0\n%s%s%s", got, coordinator.out.String(), coordinator.err.String(), worker.err.String())
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls of the endpoint, want 2", n)
	}
	b.alone("alone", nil, "apps.yaml")
	if got, want := b.trials("run"), b.trials("alone"); len(want) != 4 || !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	b.write("there/x", "x")
	b.write("space.yaml", "version: 1\nname: s\ntargets: [{name: p, program: {command: [sh, answer.sh], workspace: there}}]\n"+
		"prompts: [{name: p, text: x}]\ncases: [{name: a, scorers: [{contains: x}]}]\n")
	refused := b.start("serve", "space.yaml", "--out", "space")
	if got := refused.end(); got != 2 || !strings.Contains(refused.err.String(), "workspace") {
		t.Errorf("a workspace: exit %d, want 2 and a word of the workspace\n%s", got, refused.err.String())
	}
}

// A comparison that stops early stops a fleet too.
func TestAnEarlyStopStopsTheFleet(t *testing.T) {
	t.Parallel()
	s := newService(t, 5*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(1000))
	b.write("many.yaml", many)
	b.alone("base", nil, "many.yaml")
	s.worse.Store(true)
	coordinator := b.serve("many.yaml", "--out", "run", "--seed", "7", "--baseline", "base", "--margin", "0.05", "--stop-early")
	worker := b.work(coordinator.url, "run", "-j", "4")
	if got := coordinator.end(); got != 1 {
		t.Errorf("exit %d, want 1:\n%s%s", got, coordinator.out.String(), coordinator.err.String())
	}
	if got := worker.end(); got != 0 {
		t.Errorf("worker: exit %d, want 0", got)
	}
	if all := s.count() - 1000; all < 10 || all > 700 {
		t.Errorf("%d calls of 1000, want an early stop", all)
	}
}

// A gate about a suite's own cases names its baseline, and stops a fleet after a whole round, at the same one whatever the workers.
func TestRoundsOfASuiteStopTheFleet(t *testing.T) {
	t.Parallel()
	s := newService(t, 2*time.Millisecond)
	b := newBox(t, s)
	b.write("own.csv", rows(20))
	b.write("own.yaml", strings.NewReplacer("many", "own", "passRate: {min: 0.8}",
		"baseline: {run: ./base, margin: 0.05, estimand: suite, stopEarly: true}").Replace(many))
	b.alone("base", func(o *evalrun.Options) { o.Repeats, o.Baseline = 12, eval.NoBaseline{} }, "own.yaml")
	before := s.count()
	coordinator := b.serve("own.yaml", "--out", "run", "--seed", "7", "--repeats", "12")
	workers := []*process{b.work(coordinator.url, "run", "-j", "3"), b.work(coordinator.url, "run", "-j", "2")}
	if got := coordinator.end(); got != 0 || !strings.Contains(coordinator.out.String(), "about these 20 cases") {
		t.Errorf("exit %d, want 0 about these 20 cases:\n%s%s", got, coordinator.out.String(), coordinator.err.String())
	}
	didWork(t, workers...)
	if calls := s.count() - before; calls != 5*20 {
		t.Errorf("%d calls, want those of 5 rounds of 20 cases", calls)
	}
	lines, err := os.ReadFile(filepath.Join(b.dir, "run", "run.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	round := 0
	for line := range bytes.Lines(lines) {
		var one struct {
			Type, Outcome string
			Repeat        int
		}
		if json.Unmarshal(line, &one) != nil || one.Type != "trial" || one.Outcome == "skip" {
			continue
		}
		if one.Repeat < round {
			t.Errorf("a trial of round %d after one of round %d, want whole rounds", one.Repeat, round)
		}
		round = one.Repeat
	}
}

// A budget of calls holds over all workers, also when one of them is killed.
func TestABudgetHoldsOverAllWorkers(t *testing.T) {
	t.Parallel()
	s := newService(t, 20*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(300))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run", "--budget-calls", "120")
	first, second := b.work(coordinator.url, "run", "-j", "4"), b.work(coordinator.url, "run", "-j", "4")
	for s.count() < 40 {
		time.Sleep(10 * time.Millisecond)
	}
	first.kill()
	if got := coordinator.end(); got != 4 {
		t.Errorf("exit %d, want 4", got)
	}
	second.kill() // the run is not complete, so that it waits
	if all := s.count(); all > 120 || all < 110 {
		t.Errorf("%d calls, want 110 to 120, the budget", all)
	}
}

func (s *service) count() int {
	all, _ := s.counted()
	return all
}

// TestFourWorkersUseAllPlaces: the places of all workers are used. The long form, make fleet-test, counts the calls of
// four workers and of one in equal times.
func TestFourWorkersUseAllPlaces(t *testing.T) {
	const places = 4
	trials, measured := 400, os.Getenv("EVALRUN_FLEET_TRIALS") != ""
	if measured {
		trials = 3000
	}
	calls := func(workers int) int {
		s := newService(t, 200*time.Millisecond)
		b := newBox(t, s)
		b.write("many.csv", rows(trials))
		b.write("many.yaml", many)
		coordinator := b.serve("many.yaml", "--out", "run")
		for range workers {
			b.work(coordinator.url, "run", "-j", strconv.Itoa(places))
		}
		defer coordinator.kill()
		s.begun(20 * workers)
		if got := s.atOnce(); got > workers*places {
			t.Errorf("%d calls at once, want at most %d, the places", got, workers*places)
		}
		if !measured {
			for s.atOnce() < workers*places && !over(coordinator, 10*time.Millisecond) { // to the end, if need be
			}
			if got := s.atOnce(); got != workers*places {
				t.Errorf("%d calls at once, want %d, the places", got, workers*places)
			}
			return 0
		}
		before := s.count()
		time.Sleep(20 * time.Second)
		return s.count() - before
	}
	one, four := calls(1), calls(4)
	if !measured {
		return
	}
	times := float64(four) / float64(one)
	t.Logf("four workers make %d calls in 20 s, and one %d: %.2f times as many", four, one, times)
	if times < 3.8 {
		t.Errorf("four workers make %.2f times as many calls as one, want 3.8", times)
	}
}

// atOnce are the most calls that were in progress at once.
func (s *service) atOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// What is wrong is said at once, and nothing is sent.
func TestBadInputIsReportedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(3))
	b.write("many.yaml", many)
	b.write("typo.yaml", "version: 1\nnam: x\n")
	for name, one := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no run directory":   {[]string{"serve", "many.yaml"}, 2, "--out"},
		"a typo":             {[]string{"serve", "typo.yaml", "--out", "r1"}, 2, "did you mean `name`"},
		"everybody may hear": {[]string{"serve", "many.yaml", "--out", "r2", "--listen", "0.0.0.0:0"}, 2, "--tls-cert"},
		"half a certificate": {[]string{"serve", "many.yaml", "--out", "r3", "--tls-cert", "x"}, 2, "go together"},
		"an open address":    {[]string{"work", "--nats", "nats://192.0.2.1:4222"}, 2, "tls://"},
		"a secret":           {[]string{"work", "--nats", "nats://me:word@127.0.0.1:4222"}, 2, "--creds"},
		"no address":         {[]string{"work"}, 2, "--nats"},
		"no credentials":     {[]string{"work", "--nats", "nats://127.0.0.1:1", "--creds", "none"}, 2, "fleet.creds"},
		"no places":          {[]string{"work", "--nats", "nats://127.0.0.1:1", "-j", "0"}, 2, "from 1"},
		"an unknown flag":    {[]string{"work", "--nat", "x"}, 2, "unknown flag"},
	} {
		p := b.start(one.args...)
		if got := p.end(); got != one.code || !strings.Contains(p.err.String(), one.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", name, got, one.code, one.says, p.err.String())
		}
	}
	if n := s.count(); n != 0 {
		t.Errorf("%d calls were sent, want none", n)
	}
}

// A second coordinator, a worker without a key, one with the credentials of another run, and one that may not start programs.
func TestWrongPartsAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, 50*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(40))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	other := b.serve("many.yaml", "--out", "other")

	second := b.start("serve", "many.yaml", "--out", "run")
	if got := second.end(); got != 4 || !strings.Contains(second.err.String(), "another coordinator serves run") {
		t.Errorf("a second coordinator: exit %d, want 4 and that another one serves\n%s", got, second.err.String())
	}
	intruder := b.work(coordinator.url, "other")
	if got := intruder.end(); got != 2 || !strings.Contains(intruder.err.String(), "refuses the credentials") {
		t.Errorf("credentials of another run: exit %d, want 2 and that they are refused\n%s", got, intruder.err.String())
	}
	keyless := newBox(t, s)
	keyless.dir = b.dir
	keyless.env = append(keyless.env, "EVALRUN_API_KEY=")
	poor := keyless.work(coordinator.url, "run")
	if got := poor.end(); got != 2 || !strings.Contains(poor.err.String(), "EVALRUN_API_KEY") {
		t.Errorf("a worker without a key: exit %d, want 2 and EVALRUN_API_KEY\n%s", got, poor.err.String())
	}
	if n := s.count(); n != 0 {
		t.Errorf("%d calls were sent, want none", n)
	}
	other.kill()
	b.work(coordinator.url, "run")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	if n := s.count(); n != 40 {
		t.Errorf("%d calls, want 40", n)
	}
	for _, name := range []string{"fleet.creds", "fleet.key"} {
		info, err := os.Stat(filepath.Join(b.dir, "run", name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, want 0600", name, info, err)
		}
	}
}
