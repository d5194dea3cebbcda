package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// calibrationCases is the size of the suite, calibrationShaky the share of its cases that pass in four of five runs. The others always
// pass; frail ones, a tenth of all, fail once the prompt is careless, but for one in twenty.
const (
	calibrationCases = 300
	calibrationShaky = 0.3
	calibrationPass  = 0.8
	calibrationAlpha = 0.05
)

// calibrationScript draws answers by weight, at the temperature 1 of the suite as the weights say. Latencies differ, so
// that answers come in another order than the requests.
const calibrationScript = `rules:
  - match: {text: "careless: frail *"}
    replies: [{text: good, weight: 5}, {text: bad, weight: 95}]
    latency: {p50: 1ms, p99: 10ms}
  - match: {text: "*shaky *"}
    replies: [{text: good, weight: 80}, {text: bad, weight: 20}]
    latency: {p50: 100us, p99: 1ms}
  - match: {text: "*"}
    reply: good
`

func calibrationSuite(prompt, baseline string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `version: 1
name: calibration
targets: [{name: pro, model: svc-pro, generationConfig: {temperature: 1}}]
prompts: [{name: p, text: "%s: {{.x}}"}]
limits: {concurrency: 16, requestsPerMinute: 1000000, tokensPerMinute: 1000000000, countTokens: never}
defaults: {scorers: [{equals: good}]}
gate: {errors: {max: 0}, baseline: {run: base, margin: 0.05%s}}
cases:
`, prompt, baseline)
	for i := range calibrationCases {
		kind := "sure"
		switch i % 10 {
		case 0:
			kind = "frail"
		case 1, 4, 7:
			kind = "shaky"
		}
		fmt.Fprintf(&b, "  - {name: c%d, vars: {x: %s %d}}\n", i, kind, i)
	}
	return b.String()
}

// newCalibration starts an emulator and writes the suites: equal.yaml has the prompt of the baseline, sabotaged.yaml a
// careless one, and the early ones stop early.
func newCalibration(t *testing.T, program string) *soak {
	t.Helper()
	s := newSoak(t, program, calibrationScript, calibrationSuite("careful", ""))
	for name, text := range map[string]string{
		"equal.yaml": calibrationSuite("careful", ""), "sabotaged.yaml": calibrationSuite("careless", ""),
		"equal-early.yaml":     calibrationSuite("careful", ", stopEarly: true"),
		"sabotaged-early.yaml": calibrationSuite("careless", ", stopEarly: true"),
	} {
		expect.OK(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
	return s
}

type calibrationReport struct {
	Gate struct {
		Exit int `json:"exit"`
	} `json:"gate"`
	Comparison struct {
		Verdict string `json:"verdict"`
		Arms    []struct {
			Stopped *struct {
				Units   int    `json:"units"`
				Of      int    `json:"of"`
				Verdict string `json:"verdict"`
			} `json:"stopped"`
			Metrics []struct {
				Name      string  `json:"name"`
				Estimate  float64 `json:"estimate"`
				Gained    int     `json:"gained"`
				Regressed int     `json:"regressed"`
				N         int     `json:"n"`
			} `json:"metrics"`
		} `json:"arms"`
	} `json:"comparison"`
}

// judged is a real run of a suite against a baseline. The exit code must be the one that its verdict means. The
// journal must have every call that the service counted: a call without a line would be paid and lost.
func (s *soak) judged(suite, base, out string, flags ...string) calibrationReport {
	s.t.Helper()
	before := generated(s.t, s.url)
	args := append(
		[]string{"run", suite, "--base-url", s.url, "--baseline", base, "--out", out, "-q", "-o", "json=" + out + ".json"},
		flags...)
	code, said := s.ends(s.command(args...))
	data, err := os.ReadFile(filepath.Join(s.dir, out+".json"))
	if err != nil {
		s.t.Fatalf("%v\n%s", err, said)
	}
	var r calibrationReport
	expect.OK(s.t, json.Unmarshal(data, &r))
	want := map[string]int{"regressed": 1, "inconclusive": 3, "not_worse": 0, "improved": 0}
	if exit, ok := want[r.Comparison.Verdict]; !ok || code != exit || r.Gate.Exit != exit || len(r.Comparison.Arms) != 1 {
		s.t.Fatalf("exit %d with the verdict %q, want exit %d\n%s", code, r.Comparison.Verdict, exit, said)
	}
	lines, attempts := s.ran(out)
	if calls := generated(s.t, s.url) - before; calls != attempts || calls != lines {
		s.t.Errorf("%s: got %d calls by the service; want %d, the trials of the journal, and %d, their attempts", out, calls, lines, attempts)
	}
	return r
}

func (s *soak) ran(out string) (lines, attempts int) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, out, "run.jsonl"))
	expect.OK(s.t, err)
	for scan := bufio.NewScanner(bytes.NewReader(data)); scan.Scan(); {
		var line struct {
			Type   string `json:"type"`
			Timing struct {
				Attempts int `json:"attempts"`
			} `json:"timing"`
		}
		expect.OK(s.t, json.Unmarshal(scan.Bytes(), &line))
		if line.Type == "trial" && line.Timing.Attempts > 0 {
			lines++
			attempts += line.Timing.Attempts
		}
	}
	return lines, attempts
}

// drawn collects what runs of one prompt say of the emulator's draws.
type drawn struct{ runs, pairs, flips, squares float64 }

// add takes up a comparison of two runs of one prompt.
func (d *drawn) add(t *testing.T, r calibrationReport) {
	t.Helper()
	for _, m := range r.Comparison.Arms[0].Metrics {
		if m.Name == "pass" {
			d.runs++
			d.pairs += float64(m.N)
			d.flips += float64(m.Gained + m.Regressed)
			d.squares += m.Estimate * m.Estimate * float64(m.N)
			return
		}
	}
	t.Fatal("the report compares no pass rates, want one")
}

// independent fails when runs do not draw independently. Then there would be no flips, or the wrong number of them, and
// the measured error rates would mean nothing.
func (d *drawn) independent(t *testing.T) {
	t.Helper()
	psi := 2 * calibrationPass * (1 - calibrationPass) * calibrationShaky
	share, spread := d.flips/d.pairs, d.squares/d.runs/psi
	t.Logf(
		"runs of one prompt: %.4f of the cases flip, %.4f expected; variance of the difference %.3f times that of independent draws",
		share, psi, spread,
	)
	if slack := 5 * math.Sqrt(psi*(1-psi)/d.pairs); math.Abs(share-psi) > slack { // neighbours share a run
		t.Errorf("%.4f of the cases flip, want %.4f +- %.4f", share, psi, slack)
	}
	if slack := 5 * math.Sqrt(2/d.runs); math.Abs(spread-1) > slack {
		t.Errorf("the variance of the difference is %.2f times that of independent draws, want 1 +- %.2f", spread, slack)
	}
}

// TestCalibratedGateRefusesLossesAndPassesTheUnchanged runs the program as a pipeline would. It must refuse 95 % of the
// prompts that lose a tenth of the cases, and at most 5 % of unchanged ones, within three standard errors. Each run of
// the unchanged prompt is the next one's baseline, since a baseline that is kept would make all verdicts share its
// luck.
func TestCalibratedGateRefusesLossesAndPassesTheUnchanged(t *testing.T) {
	t.Parallel()
	runs := 5
	if os.Getenv("EVALRUN_CALIBRATE") != "" {
		runs = 300
	}
	s := newCalibration(t, program(t))
	if code, said := s.ends(s.command("run", "equal.yaml", "--no-baseline", "--base-url", s.url, "--out", "equal-0", "-q")); code != 0 {
		t.Fatalf("exit %d, want 0\n%s", code, said)
	}
	equal, sabotaged := map[string]int{}, map[string]int{}
	losses := 0.0
	var draws drawn
	for i := range runs {
		base, next := "equal-"+strconv.Itoa(i), "equal-"+strconv.Itoa(i+1)
		if i%3 == 0 { // a loss is nearly always seen
			sabotaged[s.judged("sabotaged.yaml", base, "sabotaged").Comparison.Verdict]++
			losses++
		}
		r := s.judged("equal.yaml", base, next)
		equal[r.Comparison.Verdict]++
		draws.add(t, r)
		for _, old := range []string{base, "sabotaged"} {
			expect.OK(t, os.RemoveAll(filepath.Join(s.dir, old)))
		}
	}
	n := float64(runs)
	t.Logf("%d runs of %d cases each: sabotaged %v, unchanged %v", runs, calibrationCases, sabotaged, equal)
	if rate := float64(sabotaged["regressed"]) / losses; rate < 0.95 {
		t.Errorf("a loss of ten points is refused in %.3f, want 0.95 at least", rate)
	}
	if rate, most := float64(equal["regressed"])/n, calibrationAlpha+3*math.Sqrt(calibrationAlpha*(1-calibrationAlpha)/n); rate > most {
		t.Errorf("unchanged prompts are refused in %.3f, want %.3f at most", rate, most)
	}
	draws.independent(t)
}

// stopped runs a suite that stops early, with a service that draws the same answers each time. It reports the verdict
// and where the run stopped. extra counts the calls beyond that: calls in progress when the verdict is known and, with
// many workers, calls made while a slow answer held up the order. It is -1 where the run did not stop.
func stopped(t *testing.T, evalrun, suite string, workers, seed int) (verdict string, extra int) {
	t.Helper()
	s := newCalibration(t, evalrun)
	defer s.server.Process.Kill()
	if code, said := s.ends(s.command("run", "equal.yaml", "--no-baseline", "--base-url", s.url, "--out", "base", "-q")); code != 0 {
		t.Fatalf("exit %d, want 0\n%s", code, said)
	}
	r := s.judged(suite+".yaml", "base", suite, "--concurrency", strconv.Itoa(workers), "--seed", strconv.Itoa(seed))
	stop := r.Comparison.Arms[0].Stopped
	calls, _ := s.ran(suite)
	if stop == nil {
		if calls != calibrationCases {
			t.Errorf("%s, seed %d, %d workers: %d calls without a stop, want %d", suite, seed, workers, calls, calibrationCases)
		}
		return r.Comparison.Verdict + " at the end", -1
	}
	if r.Comparison.Verdict != stop.Verdict {
		t.Errorf("%s, seed %d, %d workers: got the verdict %s, want %s, with which it stopped",
			suite, seed, workers, r.Comparison.Verdict, stop.Verdict)
	}
	return fmt.Sprintf("%s after %d of %d", r.Comparison.Verdict, stop.Units, stop.Of), calls - stop.Units
}

// TestCalibratedStopsDoNotDependOnWorkers runs with 1, 8 and 64 workers: with one seed a run must stop at the same unit with the same
// verdict, in whatever order the answers come. Otherwise slow answers would bias it. One worker must ask hardly more
// than was used.
func TestCalibratedStopsDoNotDependOnWorkers(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	seeds, suites := 1, []string{"sabotaged-early"}
	if os.Getenv("EVALRUN_CALIBRATE") != "" {
		seeds, suites = 20, []string{"sabotaged-early", "equal-early"}
	}
	extra := map[int][]int{}
	for seed := 1; seed <= seeds; seed++ {
		for _, suite := range suites {
			first := ""
			for _, workers := range []int{1, 8, 64} {
				verdict, beyond := stopped(t, evalrun, suite, workers, seed)
				if beyond >= 0 {
					extra[workers] = append(extra[workers], beyond)
				}
				if workers == 1 {
					first = verdict
					t.Logf("seed %d: %s: %s", seed, suite, first)
				}
				if verdict != first {
					t.Errorf("seed %d: %s: got %s with %d workers, want %s as with one", seed, suite, verdict, workers, first)
				}
			}
		}
	}
	t.Logf("calls beyond the stop, by workers: %v", extra)
	if len(extra[1]) == 0 || slices.Max(extra[1]) > 1 {
		t.Errorf("one worker asked %v beyond the stops, want one at most, and a stop", extra[1])
	}
}
