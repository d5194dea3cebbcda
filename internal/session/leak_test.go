package session

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

const benchAnswer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"The capital of France is Paris."}]},` +
	`"finishReason":"STOP","index":0,"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"},` +
	`{"category":"HARM_CATEGORY_HATE_SPEECH","probability":"NEGLIGIBLE"}]}],` +
	`"promptFeedback":{"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"}]}}`

// modelData is metadata of a model, whose name is to be filled in.
const modelData = `{"name":"models/%s","inputTokenLimit":30720,"outputTokenLimit":2048,` +
	`"supportedGenerationMethods":["generateContent","countTokens"]}`

// leakTimeout is the deadline of an attempt. It is short, since a fifth of the attempts wait for it. It is long enough
// that a busy machine does not miss it twenty times in a row, which would open the circuit.
const leakTimeout = 200 * time.Millisecond

// leakTargets is the number of models, each with a bound of its own, so that a 503 slows only one of them. Every
// second one streams.
const leakTargets = 10

// leakWorkers is how many calls are under way: fewer than the attempts in a row without an answer that open the circuit.
const leakWorkers = 12

// leakSlack is how many goroutines and descriptors may come and go for reasons that are none of evalrun's.
const leakSlack = 5

// leakFault is one way in which a service can be broken, and what evalrun may call it.
type leakFault struct {
	name  string
	serve http.HandlerFunc
	kinds []eval.ErrorKind // in addition to timeout, which a busy machine can make of any of them
}

// leakFaults take turns: faults without an answer come between answers, so that the circuit breaker does not open.
var leakFaults = []leakFault{
	{name: "good", serve: serveGood},
	{name: "hang", serve: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	{name: "500", serve: servePlain(500, `{"error":{"code":500,"message":"no"}}`), kinds: []eval.ErrorKind{eval.KindStatus}},
	{name: "drip", serve: serveDrip},
	{name: "html", serve: servePlain(200, "<html><body>Bad gateway</body></html>"), kinds: []eval.ErrorKind{eval.KindMalformed}},
	{name: "half-closed", serve: serveHalfClosed, kinds: []eval.ErrorKind{eval.KindTruncated, eval.KindTransport}},
	{name: "truncated", serve: servePlain(200, benchAnswer[:60]), kinds: []eval.ErrorKind{eval.KindTruncated, eval.KindMalformed}},
	{name: "reset", serve: serveReset, kinds: []eval.ErrorKind{eval.KindTransport, eval.KindTruncated}},
	{name: "503", serve: servePlain(503, "busy"), kinds: []eval.ErrorKind{eval.KindStatus}},
	{name: "closed", serve: serveClosed, kinds: []eval.ErrorKind{eval.KindTransport, eval.KindTruncated}},
}

// serveGood answers well, in one piece or as a stream of one chunk, so that connections are reused between the faults.
func serveGood(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		servePlain(200, "["+benchAnswer+"]")(w, r)
		return
	}
	servePlain(200, benchAnswer)(w, r)
}

// servePlain answers with a whole body, whatever that holds.
func servePlain(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// serveDrip sends a byte now and then and never ends, so that only a deadline over the whole body helps.
func serveDrip(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(leakTimeout / 10)
	defer tick.Stop()
	for {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// leakHijack takes the connection over and promises a longer body than the half that it sends.
func leakHijack(w http.ResponseWriter) *net.TCPConn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // a test server of HTTP/1.1
		panic(err)
	}
	_, _ = fmt.Fprintf(
		conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(benchAnswer),
		benchAnswer[:len(benchAnswer)/2],
	)
	return conn.(*net.TCPConn)
}

// serveHalfClosed ends its half of the connection in the body and waits for the client to end the other one.
func serveHalfClosed(w http.ResponseWriter, _ *http.Request) {
	conn := leakHijack(w)
	defer conn.Close()
	_ = conn.CloseWrite()
	_, _ = io.Copy(io.Discard, conn) // a client that forgets the connection hangs here, and shows in the counts
}

func serveReset(w http.ResponseWriter, _ *http.Request) {
	conn := leakHijack(w)
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

func serveClosed(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// leakFaultOf is the fault with which the i-th case and the j-th target meet.
func leakFaultOf(i, j int) leakFault { return leakFaults[(i+j)%len(leakFaults)] }

// leakServer serves the faults: the model names the target, the prompt the case.
func leakServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var j int
		if _, err := fmt.Sscanf(r.URL.Path, "/v1/models/svc-%d", &j); err != nil {
			http.Error(w, "which model?", http.StatusBadRequest)
			return
		}
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, modelData, fmt.Sprintf("svc-%d", j))
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), "case-")
		number, _, _ := strings.Cut(rest, ".")
		i, err := strconv.Atoi(number)
		if err != nil {
			http.Error(w, "which case?", http.StatusBadRequest)
			return
		}
		leakFaultOf(i, j).serve(w, r)
	}))
}

// leakSuite runs every case on every target once.
func leakSuite(t *testing.T, cases int) string {
	var b strings.Builder
	b.WriteString("version: 1\nname: leak\nprompts: [{name: p, text: \"case-{{.i}}.\"}]\ntargets:\n")
	for j := range leakTargets {
		fmt.Fprintf(&b, "  - {name: t-%d, model: svc-%d, stream: %t}\n", j, j, j%2 == 1)
	}
	b.WriteString("defaults: {scorers: [{contains: Paris}]}\ncases:\n")
	for i := range cases {
		fmt.Fprintf(&b, "  - {name: c-%d, vars: {i: \"%d\"}}\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "leak.yaml")
	expect.OK(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// leakWatch checks every result: whatever the service does, a fault is an error of a kind and never a pass.
type leakWatch struct {
	unwatched
	t       *testing.T
	seen    map[string]int // by fault and outcome
	results int
	abandon int // interrupt twice with that result; 0: never
	signals chan os.Signal
}

// Done is called with each result by the one loop that consumes them.
func (l *leakWatch) Done(r *eval.Result, _ eval.Spent) {
	if l.results++; l.results == l.abandon {
		l.signals <- os.Interrupt
		l.signals <- os.Interrupt
	}
	if r.Outcome() == eval.Skip && l.abandon > 0 && l.results >= l.abandon {
		l.seen["skip"]++
		return
	}
	var i, j int
	if _, err := fmt.Sscanf(r.Case+" "+r.Arm, "c-%d t-%d", &i, &j); err != nil {
		l.t.Errorf("%s %s: %v, want no error", r.Case, r.Arm, err)
		return
	}
	fault := leakFaultOf(i, j)
	if r.Outcome() == eval.Pass && fault.name == "good" {
		l.seen["good pass"]++
		return
	}
	if r.Outcome() == eval.Err && l.abandon > 0 && strings.HasPrefix(r.Err().Message, "abandoned") {
		l.seen["abandoned"]++
		return
	}
	if r.Outcome() != eval.Err || r.Err().Kind != eval.KindTimeout && !slices.Contains(fault.kinds, r.Err().Kind) {
		l.t.Errorf("%s of %s: %s %v, want an error of the kind of its fault", fault.name, r.Arm, r.Outcome(), r.Err())
		return
	}
	l.seen[fault.name+" "+string(r.Err().Kind)]++
}

func leakSession(t *testing.T, url string, cases int) (*Session, *runner.Plan) {
	t.Helper()
	flags := Options{Options: eval.Options{
		ServiceOptions: eval.ServiceOptions{BaseURL: url},
		LimitOptions:   eval.LimitOptions{Concurrency: leakWorkers, Attempts: 1, Timeout: leakTimeout},
		Out:            filepath.Join(t.TempDir(), "run"),
	}}
	flags.Getenv = func(name string) string { return map[string]string{"EVALRUN_API_KEY": "leak"}[name] }
	flags.Suites = []string{leakSuite(t, cases)}
	l, err := Load(flags)
	expect.OK(t, err)
	j, err := l.Settle()
	expect.OK(t, err)
	j.Settings.Limits.Timeout = 30 * time.Second
	s, err := Connect(j, "leak", func(text string) { t.Log(text) })
	expect.OK(t, err)
	plan, err := s.Plan(t.Context())
	s.Close()
	expect.OK(t, err)
	j.Settings.Limits.Timeout = leakTimeout
	if s, err = Connect(j, "leak", func(text string) { t.Log(text) }); err != nil {
		t.Fatal(err)
	}
	return s, plan
}

// leakRun is everything that a command does against a broken service, from loading to closing; with abandon it is interrupted
// twice with that result.
func leakRun(t *testing.T, url string, cases, abandon int) {
	t.Helper()
	s, plan := leakSession(t, url, cases)
	defer s.Close()
	watch := &leakWatch{t: t, seen: map[string]int{}, abandon: abandon, signals: make(chan os.Signal, 2)}
	dir, err := s.Run(t.Context(), plan, watch, watch.signals)
	expect.OK(t, err)
	doc, err := rundir.At("").Open(dir)
	expect.OK(t, err)
	defer doc.Close()
	if c := doc.Summary.Counts; c.Total() > cases*leakTargets || c.Error == 0 ||
		abandon == 0 && (c.Pass == 0 || c.Skip > 0 || c.Total() < cases*leakTargets) {
		t.Errorf("%d cases: %+v, want errors, and as many trials as cases unless it was abandoned", cases, c)
	}
	t.Logf("%d attempts: %v", cases*leakTargets, watch.seen)
}

// leakCounts is how many goroutines and descriptors the process has; -1 where descriptors cannot be counted.
func leakCounts() (goroutines, descriptors int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return runtime.NumGoroutine(), -1
	}
	return runtime.NumGoroutine(), len(entries)
}

// Long load against a service that is broken in every way leaves no goroutine and no descriptor behind. So a nightly
// run is as healthy in its last hour as in its first. EVALRUN_SOAK=5000 is the long form.
func TestNothingLeaksUnderFaults(t *testing.T) {
	faults := 300
	if text := os.Getenv("EVALRUN_SOAK"); text != "" {
		var err error
		if faults, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	server := leakServer() // closed after all is counted: a connection that was forgotten must not be closed by it
	defer server.Close()
	defer server.CloseClientConnections()
	goroutines, descriptors := leakCounts()
	leakRun(t, server.URL, max(1, faults/leakTargets), 0)
	for i := range 5 { // and when it is abandoned
		leakRun(t, server.URL, 10, 10+15*i)
	}
	var g, d int
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		runtime.GC() // roots of suites are closed when they are collected
		if g, d = leakCounts(); g <= goroutines+leakSlack && d <= descriptors+leakSlack {
			t.Logf("goroutines %d, then %d; descriptors %d, then %d", goroutines, g, descriptors, d)
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Errorf(
		"goroutines %d, then %d; descriptors %d, then %d; want no more at the end\n%s",
		goroutines, g, descriptors, d, stacks[:runtime.Stack(stacks, true)],
	)
}
