package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/runner"
)

// asProgram makes a process of the test binary the program itself.
const asProgram = "EVALRUN_FLEET_TEST_MAIN"

// asVersion makes it one of another version.
const asVersion = "EVALRUN_FLEET_TEST_VERSION"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		version = cmp.Or(os.Getenv(asVersion), version)
		os.Exit(code(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// masterKey is the key in the environment of coordinators, which no call may bear.
const masterKey = "the-coordinators-key"

// badKey is a key that the service refuses.
const badKey = "a-revoked-key"

// service is a model that answers by what the prompt says, and counts.
type service struct {
	*httptest.Server
	takes time.Duration // of a call

	mu    sync.Mutex
	calls map[string]int // by prompt
	keys  map[string]int // requests of any kind by key
	now   int            // calls in progress
	most  int            // the most at once
	worse atomic.Bool    // half of the answers are wrong
}

func newService(t *testing.T, takes time.Duration) *service {
	s := &service{takes: takes, calls: map[string]int{}, keys: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		if n := s.with("") + s.with(masterKey); n > 0 {
			t.Errorf("%d requests without a worker's key, want none", n)
		}
	})
	return s
}

// with are the requests that had a key.
func (s *service) with(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[key]
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, method, _ := strings.Cut(r.URL.Path, ":")
	key := r.Header.Get("X-Svc-Api-Key")
	s.mu.Lock()
	s.keys[key]++
	s.mu.Unlock()
	switch {
	case key == "" || key == badKey:
		http.Error(w, `{"error":{"code":401,"message":"no key","status":"UNAUTHENTICATED"}}`, http.StatusUnauthorized)
		return
	case method == "":
		fmt.Fprint(w, `{"name":"models/svc-pro","inputTokenLimit":100000,"outputTokenLimit":100}`)
		return
	case method == "countTokens":
		fmt.Fprint(w, `{"totalTokens":10}`)
		return
	case method == "batchEmbedContents" || method == "embedContent":
		s.embed(w, body)
		return
	}
	text := lastText(body)
	s.mu.Lock()
	s.calls[text]++
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	time.Sleep(s.takes)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	said := reply(text)
	if s.worse.Load() && len(text)%2 == 0 {
		said = "no"
	}
	answer, _ := json.Marshal(said)
	fmt.Fprintf(
		w, `{"candidates":[{"content":{"parts":[{"text":%s}]},"finishReason":"STOP"}],`+
			`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2,"totalTokenCount":12}}`, answer,
	)
}

func (s *service) embed(w io.Writer, body []byte) {
	n := max(1, bytes.Count(body, []byte(`"content"`)))
	fmt.Fprint(w, `{"embeddings":[`+strings.TrimSuffix(strings.Repeat(`{"values":[1,0.5,0.25]},`, n), ",")+`]}`)
}

// lastText is the text of the last turn of a request.
func lastText(body []byte) string {
	var request struct {
		Contents []struct{ Parts []struct{ Text string } }
	}
	if json.Unmarshal(body, &request) != nil || len(request.Contents) == 0 {
		return ""
	}
	var out strings.Builder
	for _, p := range request.Contents[len(request.Contents)-1].Parts {
		out.WriteString(p.Text)
	}
	return out.String()
}

// reply is good for nine prompts of ten.
func reply(prompt string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(prompt))
	if h.Sum32()%10 == 0 {
		return "no"
	}
	return "yes"
}

// counted are the calls in all, and how many were made more than once.
func (s *service) counted() (all, repeated int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.calls {
		all += n
		repeated += n - 1
	}
	return all, repeated
}

// box is a folder in which fleets run.
type box struct {
	t   *testing.T
	dir string
	env []string

	through []string // what starts the program, if anything does
}

func newBox(t *testing.T, s *service) *box {
	t.Helper()
	b := &box{t: t, dir: t.TempDir()}
	b.env = append(os.Environ(), asProgram+"=1", "EVALRUN_API_KEY=a-key", "EVALRUN_HOME="+b.dir)
	if s != nil {
		b.env = append(b.env, "EVALRUN_BASE_URL="+s.URL)
	}
	return b
}

func (b *box) write(name, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(b.dir, name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// process is a coordinator or a worker.
type process struct {
	*exec.Cmd
	b        *box
	url      string // of a coordinator
	out, err bytes.Buffer
	lines    chan string // of standard error
	ended    chan struct{}
}

func (b *box) start(args ...string) *process {
	b.t.Helper()
	args = slices.Concat(b.through, []string{os.Args[0]}, args)
	p := &process{Cmd: exec.Command(args[0], args[1:]...), b: b, lines: make(chan string, 1000), ended: make(chan struct{})}
	p.Dir, p.Env, p.Stdout = b.dir, b.env, &p.out
	pipe, err := p.StderrPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(p.kill)
	go func() {
		defer close(p.ended)
		for scan := bufio.NewScanner(pipe); scan.Scan(); {
			fmt.Fprintln(&p.err, scan.Text())
			select {
			case p.lines <- scan.Text():
			default:
			}
		}
		_ = p.Wait()
	}()
	return p
}

// serve starts a coordinator, whose key no call may bear, and waits for its address.
func (b *box) serve(args ...string) *process {
	b.t.Helper()
	return b.serveWith(masterKey, args...)
}

func (b *box) serveWith(key string, args ...string) *process {
	b.t.Helper()
	own := *b
	own.env = append(slices.Clone(b.env), "EVALRUN_API_KEY="+key)
	p := own.start(append([]string{"serve"}, args...)...)
	select {
	case p.url = <-p.lines:
	case <-p.ended:
	case <-time.After(time.Minute):
		b.t.Fatal("the coordinator does not say where it is, want its address within a minute")
	}
	if !strings.Contains(p.url, "://") {
		<-p.ended
		b.t.Fatalf("the first line of the coordinator is %q, want its address:\n%s", p.url, p.err.String())
	}
	return p
}

func (b *box) work(url, run string, args ...string) *process {
	b.t.Helper()
	return b.start(append([]string{"work", "--nats", url, "--creds", filepath.Join(b.dir, run, "fleet.creds")}, args...)...)
}

// kill kills the process and waits for its end.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

// end waits for the end of the process, and is its exit code.
func (p *process) end() int {
	p.b.t.Helper()
	select {
	case <-p.ended:
		return p.ProcessState.ExitCode()
	case <-time.After(3 * time.Minute):
		_ = p.Process.Signal(syscall.SIGQUIT)
		<-p.ended
		p.b.t.Fatalf("%v does not end, want an end within 3 minutes:\n%s", p.Args[1:], p.err.String())
		return 0
	}
}

// didWork wants workers to end with 0, now that their run is complete.
func didWork(t *testing.T, workers ...*process) {
	t.Helper()
	for _, w := range workers {
		if got := w.end(); got != 0 {
			t.Errorf("%v: exit %d, want 0:\n%s", w.Args[1:], got, w.err.String())
		}
	}
}

// many is a suite with a case for each row of many.csv, each with a prompt of its own.
const many = `version: 1
name: many
targets: [{name: pro, model: svc-pro}]
prompts: [{name: p, text: "case {{.n}}"}]
cases: [{dataset: many.csv, name: "c{{.n}}", scorers: [{equals: "yes"}]}]
gate: {passRate: {min: 0.8}}
`

func rows(n int) string {
	var b strings.Builder
	b.WriteString("n\n")
	for i := range n {
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.String()
}

// judged are the outcomes of the trials in a run file, by case and repeat; a trial that comes twice is an error of the test.
func (b *box) judged(run string) map[string]string {
	b.t.Helper()
	file, err := os.Open(filepath.Join(b.dir, run, "run.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	out := map[string]string{}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		var one struct{ ID, Case, Outcome string }
		if json.Unmarshal(line, &one) == nil && one.Outcome != "" {
			if out[one.ID] != "" {
				b.t.Errorf("the trial %s is in the run file twice, want it once", one.ID)
			}
			out[one.ID] = one.Outcome
		}
		if err != nil {
			return out
		}
	}
}

// alone runs a suite in one process, as the command evalrun does.
func (b *box) alone(out string, change func(*evalrun.Options), suites ...string) *evalrun.Result {
	b.t.Helper()
	o := evalrun.Options{
		Caller:  runner.Caller{Dir: b.dir, Suites: suites, NoHistory: true, Getenv: b.getenv},
		Options: eval.Options{Out: out, Seed: 7},
	}
	if change != nil {
		change(&o)
	}
	job, err := evalrun.Load(b.t.Context(), o)
	if err != nil {
		b.t.Fatal(err)
	}
	result, err := evalrun.Run(b.t.Context(), job)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// getenv is the environment of the processes.
func (b *box) getenv(name string) (value string) {
	for _, one := range b.env {
		if key, v, _ := strings.Cut(one, "="); key == name {
			value = v
		}
	}
	return value
}
