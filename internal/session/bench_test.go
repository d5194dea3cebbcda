package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
)

const benchAnswer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"The capital of France is Paris."}]},` +
	`"finishReason":"STOP","index":0,"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"},` +
	`{"category":"HARM_CATEGORY_HATE_SPEECH","probability":"NEGLIGIBLE"}]}],` +
	`"promptFeedback":{"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"}]}}`

// modelData is metadata of a model, whose name is to be filled in.
const modelData = `{"name":"models/%s","inputTokenLimit":30720,"outputTokenLimit":2048,` +
	`"supportedGenerationMethods":["generateContent","countTokens"]}`

func benchServer(b *testing.B, delay time.Duration) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, modelData, "svc-pro")
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(delay)
		_, _ = io.WriteString(w, benchAnswer)
	}))
	b.Cleanup(server.Close)
	return server.URL
}

// What the trials of benchmarks are judged by.
const (
	threeScorers = "[{contains: Paris}, {finishReason: STOP}, {length: {words: {max: 10}}}]"
	sixScorers   = "[{contains: Paris}, {finishReason: STOP}, {length: {words: {max: 10}}}, {regex: '(?i)capital of \\w+'}, " +
		"{rouge: {to: \"Paris is the capital of France.\"}, threshold: 0.3}, {expr: 'len(answer) < 100 and usage.outputTokens < 64'}]"
)

func benchSuite(b *testing.B, trials int, scorers string) string {
	path := filepath.Join(b.TempDir(), "bench.yaml")
	text := fmt.Sprintf(`version: 1
name: bench
targets: [{name: pro, model: svc-pro, generationConfig: {temperature: 0, maxOutputTokens: 64}}]
prompts: [{name: p, text: "What is the capital of {{.country}}? Answer in one sentence."}]
cases:
  - name: france
    repeats: %d
    vars: {country: France}
    scorers: %s
`, trials, scorers)
	expect.OK(b, os.WriteFile(path, []byte(text), 0o600))
	return path
}

type silent struct{}

func (silent) Start(int)                     {}
func (silent) Done(*eval.Result, eval.Spent) {}
func (silent) Finish()                       {}

func benchSession(b *testing.B, url string, trials, concurrency int, scorers string) (*Session, *runner.Plan) {
	flags := Options{Options: eval.Options{
		ServiceOptions: eval.ServiceOptions{BaseURL: url},
		LimitOptions:   eval.LimitOptions{Concurrency: concurrency},
		Out:            filepath.Join(b.TempDir(), "run"),
	}}
	flags.Getenv = func(name string) string { return map[string]string{"EVALRUN_API_KEY": "bench"}[name] }
	flags.Suites = []string{benchSuite(b, trials, scorers)}
	l, err := Load(flags)
	expect.OK(b, err)
	j, err := l.Settle()
	expect.OK(b, err)
	s, err := Connect(j, "bench", func(string) {})
	expect.OK(b, err)
	b.Cleanup(s.Close)
	plan, err := s.Plan(b.Context())
	expect.OK(b, err)
	return s, plan
}

// benchRun runs the trials with all there is: plan, ledger, scoring, journal; garbage is collected as `evalrun run` does.
func benchRun(b *testing.B, url string, trials, concurrency int, scorers string) time.Duration {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	s, plan := benchSession(b, url, trials, concurrency, scorers)
	started := time.Now()
	dir, err := s.Run(b.Context(), plan, silent{}, nil)
	took := time.Since(started)
	expect.OK(b, err)
	doc, err := rundir.At("").Open(dir)
	expect.OK(b, err)
	defer doc.Close()
	if doc.Summary.Counts.Pass != trials {
		b.Fatalf("got %+v, want %d passed", doc.Summary.Counts, trials)
	}
	return took
}

// bare is the loop that somebody would write by hand: it encodes the same requests, decodes the
// answers into the same types and applies the same three checks.
func bare(b *testing.B, url string, trials, concurrency int, checked string) time.Duration {
	_, plan := benchSession(b, url, 1, concurrency, checked)
	var request eval.Request
	for t := range plan.Trials() {
		request = t.Request
	}
	var checks []*scorers.Compiled
	for c := range plan.Suites[0].Cases() {
		for _, spec := range c.Scorers {
			checks = append(checks, scorers.Builtin().Compile(spec))
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = concurrency
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	work := make(chan int)
	var wg sync.WaitGroup
	started := time.Now()
	for range concurrency {
		wg.Go(func() {
			for range work {
				if err := bareTrial(b.Context(), client, url, &request, checks); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range trials {
		work <- i
	}
	close(work)
	wg.Wait()
	return time.Since(started)
}

func bareTrial(ctx context.Context, client *http.Client, url string, request *eval.Request, checks []*scorers.Compiled) error {
	config, err := wirejson.Marshal(request.GenerationConfig)
	if err != nil {
		return err
	}
	body := append(wire.Append([]byte(`{"contents":`), request.Contents), `,"generationConfig":`...)
	body = append(append(body, config...), '}')
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/models/svc-pro:generateContent", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-svc-api-key", "bench")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	answer, err := generative.ParseResponse(data)
	if err != nil {
		return err
	}
	for _, c := range checks {
		if score, err := c.Score(&scorers.Answer{Response: answer, Usage: eval.Usage{OutputTokens: 8}}); err != nil || !score.Passed() {
			return fmt.Errorf("%v %v", score, err)
		}
	}
	return nil
}

// BenchmarkThroughput compares a run with the bare loop against a server that answers at once; ratio
// is the share of the bare loop's trials per second.
func BenchmarkThroughput(b *testing.B) {
	for _, load := range []struct {
		name        string
		concurrency int
		scorers     string
	}{
		{"concurrency=1", 1, threeScorers},
		{"concurrency=16", 16, threeScorers},
		{"concurrency=128", 128, threeScorers},
		{"concurrency=128/scorers=6", 128, sixScorers},
	} {
		b.Run(load.name, func(b *testing.B) {
			url := benchServer(b, 0)
			const trials = 10_000
			var ours, theirs time.Duration
			for b.Loop() {
				theirs += bare(b, url, trials, load.concurrency, load.scorers)
				ours += benchRun(b, url, trials, load.concurrency, load.scorers)
			}
			n := float64(b.N) * trials
			b.ReportMetric(n/ours.Seconds(), "trials/s")
			b.ReportMetric(n/theirs.Seconds(), "bare/s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
		})
	}
}

// BenchmarkLatency runs 1,000 trials at 100 ms and concurrency 50; ideal is the share of what could
// be reached.
func BenchmarkLatency(b *testing.B) {
	url := benchServer(b, 100*time.Millisecond)
	var took time.Duration
	for b.Loop() {
		took += benchRun(b, url, 1000, 50, threeScorers)
	}
	b.ReportMetric(float64(b.N)*2/took.Seconds(), "ideal")
}

// BenchmarkMemory measures what a trial allocates and what stays in memory: both must not grow with the number of
// trials.
func BenchmarkMemory(b *testing.B) {
	for _, trials := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("trials=%d", trials), func(b *testing.B) {
			url := benchServer(b, 0)
			for b.Loop() {
				s, plan := benchSession(b, url, trials, 64, threeScorers)
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				peak := &peakProgress{every: trials / 20, floor: before.HeapAlloc}
				if _, err := s.Run(b.Context(), plan, peak, nil); err != nil {
					b.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(trials), "allocs/trial")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(trials), "B-allocated/trial")
				b.ReportMetric(float64(peak.live)/float64(trials), "B-live/trial")
				b.ReportMetric(float64(peak.live)/(1<<20), "MiB-live")
			}
		})
	}
}

// BenchmarkResume measures how long it takes until a run of 100,000 trials knows what is left to do.
func BenchmarkResume(b *testing.B) {
	const trials = 100_000
	s, plan := benchSession(b, benchServer(b, 0), trials, 128, threeScorers)
	dir, err := s.Run(b.Context(), plan, silent{}, nil)
	expect.OK(b, err)
	getenv := func(name string) string { return map[string]string{"EVALRUN_API_KEY": "bench"}[name] }
	for b.Loop() {
		r, err := Reopen(dir, Options{Caller: runner.Caller{Getenv: getenv}})
		expect.OK(b, err)
		l, err := r.Load()
		expect.OK(b, err)
		j, err := r.Settle(l)
		expect.OK(b, err)
		todo, err := NewTodo(r, j.Plan())
		if err != nil || todo.Settled != trials {
			b.Fatalf("got %+v, %v; want %d settled", todo, err, trials)
		}
		r.Close()
	}
	b.ReportMetric(trials*float64(b.N)/b.Elapsed().Seconds(), "trials/s")
}

// peakProgress measures live memory now and then.
type peakProgress struct {
	silent
	n, every    int
	floor, live uint64
}

func (p *peakProgress) Done(*eval.Result, eval.Spent) {
	if p.n++; p.n%p.every != 0 {
		return
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.live = max(p.live, m.HeapAlloc-min(m.HeapAlloc, p.floor))
}
