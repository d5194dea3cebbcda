package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// racing answers the arms of a race: each passes its own share of the cases, which a hash of the request decides, and one in
// 25 requests is refused. Judges find everything fine.
func racing(l *ledger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // killed
		}
		if _, method, _ := strings.Cut(r.URL.Path, ":"); method == "" {
			fmt.Fprint(w, `{"name":"models/m","inputTokenLimit":100000,"outputTokenLimit":100}`)
			return
		}
		text := string(body)
		l.count(text)
		h := fnv.New64a()
		_, _ = h.Write(body)
		luck := h.Sum64() % 9973
		time.Sleep(time.Duration(luck%5) * time.Millisecond) // so that answers come in another order than requests
		arm := slices.IndexFunc([]string{"arm a", "arm b", "arm c", "arm d"}, func(name string) bool { return strings.Contains(text, name) })
		reply := "bad"
		switch {
		case strings.Contains(text, "You are"):
			reply = `{\"reason\":\"fine\",\"score\":1}`
		case luck%25 == 0:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`)
			return
		case luck < []uint64{3500, 5000, 9000, 9400}[arm]:
			reply = "good"
		}
		fmt.Fprintf(w, `{"candidates":[{"content":{"parts":[{"text":"%s"}]},"finishReason":"STOP"}]}`, reply)
	})
}

func raceSuite(judge string) string {
	var s strings.Builder
	s.WriteString("version: 1\nname: s\ntargets: [{name: t, model: m}, {name: u, model: n}]\n" +
		"judges: [{name: j, model: m}]\nlimits: {countTokens: never}\n" +
		"prompts: [{name: a, targets: [t], text: \"arm a {{.x}}\"}, {name: b, targets: [u], text: \"arm b {{.x}}\"}, " +
		"{name: c, targets: [t], text: \"arm c {{.x}}\"}, {name: d, targets: [u], text: \"arm d {{.x}}\"}]\n" +
		"defaults: {scorers: [{equals: good, name: said}" + judge + "]}\ngate: {errors: {max: 0.5}, failures: allowed}\ncases:\n")
	for i := range 240 {
		fmt.Fprintf(&s, "  - {name: c%d, vars: {x: x%d}, cluster: k%d, repeats: %d}\n", i, i, i*2/3, 1+i%2)
	}
	return s.String()
}

type raceReport struct {
	Summary struct{ Trials, Pass, Fail, Error, Skip int }
	Gate    struct{ Exit int }
	Arms    []struct {
		Arm      string
		PassRate *float64
	}
	Race struct {
		Trials, Skipped int
		Saved           float64
		Suites          []struct {
			Metric string
			In     []string
			Left   []struct {
				Arm, Behind string
				Units, Of   int
				LogE        float64
			}
		}
	}
}

func (b *box) raceReport(name string) (out raceReport, race string) {
	b.t.Helper()
	expect.OK(b.t, json.Unmarshal([]byte(b.read(name)), &out))
	same := out.Race
	same.Skipped, same.Saved = 0, 0 // that depends on how many calls were under way
	data, err := json.Marshal(struct{ Race, Arms, Exit any }{same, out.Arms, out.Gate.Exit})
	expect.OK(b.t, err)
	return out, string(data)
}

// The arms that leave, the units after which they do, the pass rates and the gate are the same with any number of workers, and
// after kills; what the report says is saved was not sent; and few calls are made for arms that have left.
func TestRaceIsTheSameHoweverItRuns(t *testing.T) {
	t.Parallel()
	var want string
	least := 0
	for _, workers := range []int{1, 4, 32} {
		var l ledger
		b := newBox(t, racing(&l), map[string]string{"suite.yaml": raceSuite("")})
		b.exits(0, "run", "suite.yaml", "--race", "--seed", "3", "-j", fmt.Sprint(workers), "--out", "run", "-o", "json=run.json")
		report, race := b.raceReport("run.json")
		if workers == 1 {
			want, least = race, l.sum()
			if s := report.Race.Suites[0]; len(s.Left) != 2 || !slices.Equal(s.In, []string{"t/c", "u/d"}) {
				t.Fatalf("got the race %+v, want the arms a and b to leave", s)
			}
			if report.Summary.Error == 0 {
				t.Error("no trial ended in an error, want some")
			}
		}
		expect.Same(t, fmt.Sprint("race with ", workers, " workers"), race, want)
		if got := report.Race.Trials - l.sum(); got != report.Race.Skipped || got != report.Summary.Skip || got == 0 {
			t.Errorf("with %d workers: got %d calls that were not made, want the %d of the report", workers, got, report.Race.Skipped)
		}
		// of each of the two arms that left: 1 + workers/1 units of up to 3 trials, since each has a model of its own
		if extra := l.sum() - least; extra > 2*3*2*(1+workers) {
			t.Errorf("with %d workers: got %d calls more than with one, want at most %d", workers, extra, 2*3*2*(1+workers))
		}
	}
	for _, workers := range []string{"1", "16"} {
		var l ledger
		b := newBox(t, racing(&l), map[string]string{"suite.yaml": raceSuite("")})
		killed := b.killRepeatedly(&l, kills(t), 0, "run", "suite.yaml", "--race", "--seed", "3", "-j", workers, "--out", "killed")
		if _, race := b.raceReport("killed.json"); race != want {
			t.Errorf("after %d kills: got %s, want %s", killed, race, want)
		}
		before := l.sum()
		b.exits(0, "resume", "killed", "-o", "json=killed.json")
		expect.Same(t, "calls after a race that was complete", l.sum(), before)
	}
}

// What is not sent is not judged.
func TestNoJudgeIsCalledForArmsThatLeft(t *testing.T) {
	t.Parallel()
	var l ledger
	b := newBox(t, racing(&l), map[string]string{"suite.yaml": raceSuite(`, {judge: {rubric: "is it fine?"}, threshold: 0}`)})
	b.exits(0, "run", "suite.yaml", "--race=said", "--seed", "3", "-j", "4", "--out", "run", "-o", "json=run.json")
	report, _ := b.raceReport("run.json")
	judged, sent := 0, 0
	for body, n := range l.calls {
		if strings.Contains(body, "You are") {
			judged += n
		} else {
			sent += n
		}
	}
	if report.Race.Suites[0].Metric != "said" || len(report.Race.Suites[0].Left) != 2 {
		t.Errorf("got the race %+v, want one on `said` that two arms leave", report.Race)
	}
	if sent != report.Race.Trials-report.Race.Skipped || judged > sent {
		t.Errorf("got %d calls and %d to judges, want one for each trial with %d of %d skipped, and no more to judges",
			sent, judged, report.Race.Skipped, report.Race.Trials)
	}
}
