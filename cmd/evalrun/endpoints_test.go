package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// endpointFault is a way in which an endpoint fails. It repeats the secrets of the request in one encoding.
type endpointFault struct {
	name  string
	serve func(w http.ResponseWriter, r *http.Request, secrets string)
	// kind is that of the error, "" where the answer is judged.
	kind eval.ErrorKind
	read string // how the answer is read, as keys of the http block
}

// sends is a fault that answers with a status, a media type and a text with the secrets.
func sends(status int, mediaType, format string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, secrets string) {
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, format, secrets)
	}
}

// endpointFaults are rows: whatever they say of the right answer, none of it is one.
func endpointFaults() []endpointFault {
	const answer = ", answer: .text"
	return []endpointFault{
		{"an answer that repeats the secrets", sends(200, "text/plain", "right %s"), "", ""},
		{"a JSON answer that repeats them", sends(200, "application/json", `{"text": "right", "told": "%s"}`), "", answer},
		{"a page of HTML with 500", sends(500, "text/html", "<h1>right %s</h1>"), eval.KindStatus, ""},
		{
			"an error object with 502", sends(502, "application/json", `{"error": {"message": "right %s", "status": "%[1]s"}}`),
			eval.KindStatus, answer,
		},
		{"400", sends(400, "text/plain", "right %s"), eval.KindStatus, ""},
		{"an empty answer", sends(200, "text/plain", "%.0s"), eval.KindMalformed, ""},
		{"JSON without the text", sends(200, "application/json", `{"txt": "right %s"}`), eval.KindMalformed, answer},
		{"JSON that was cut", sends(200, "application/json", `{"text": "right %s`), eval.KindTruncated, answer},
		{"no JSON", sends(200, "text/html", "<p>right %s"), eval.KindMalformed, answer},
		{"invalid UTF-8", sends(200, "text/plain", "right %s \xff"), eval.KindMalformed, ""},
		{"its own error", sends(200, "application/json", `{"text": "right", "error": "down %s"}`), eval.KindApp, answer + ", error: .error"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request, secrets string) {
			http.Redirect(w, r, "http://elsewhere.invalid/"+url.PathEscape(secrets), http.StatusTemporaryRedirect)
		}, eval.KindStatus, ""},
		{"a broken body", func(w http.ResponseWriter, _ *http.Request, secrets string) {
			w.Header().Set("Content-Length", "10000")
			_, _ = io.WriteString(w, "right "+secrets)
		}, eval.KindTruncated, ""},
		{"a broken connection", func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) }, eval.KindTransport, ""},
		{"a hang", func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }, eval.KindTimeout, ", timeout: 200ms"},
		{"a header with them", func(w http.ResponseWriter, _ *http.Request, secrets string) {
			w.Header().Set("Content-Encoding", secrets)
			_, _ = io.WriteString(w, "right")
		}, eval.KindMalformed, ""},
		{"a stream that was cut", func(w http.ResponseWriter, _ *http.Request, secrets string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"text\": \"right %s\"}\n\n", secrets)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, eval.KindTruncated, answer + ", stream: sse"},
		{
			"a stream with an error", sends(200, "text/event-stream", "data: {\"text\": \"right\"}\n\ndata: {\"error\": {\"message\": \"%s\"}}\n\n"),
			eval.KindApp, answer + ", stream: sse",
		},
		{
			"a stream with an error event", sends(200, "text/event-stream", "data: {\"text\": \"right\"}\n\nevent: error\ndata: %s\n\n"),
			eval.KindApp, answer + ", stream: sse",
		},
		{
			"a stream of something else", sends(200, "text/event-stream", "data: {\"text\": \"right\"}\n\nException: %s\n"),
			eval.KindMalformed, answer + ", stream: sse",
		},
	}
}

// Whatever an endpoint does, a run of it passes nothing that was not answered, and no output or file has a secret that it was sent.
func TestFailingEndpointsPassNothingAndLeakNoSecret(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	rows := endpointFaults()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		i, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
		encode := encodings[i%len(encodings)].of
		rows[i].serve(w, r, given(r, encode))
	}))
	server.Config.ErrorLog = quiet()
	server.Start()
	defer server.Close()
	dir := t.TempDir()
	write(t, dir, "suite.yaml", endpointSuite(rows, server.URL))
	env := []string{
		noNap, "HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "EVALRUN_DEBUG=1", "GOTRACEBACK=all",
		"EVALRUN_TOKEN=" + canaries["access"], "EVALRUN_BASIC=" + basic(canaries["password"]), "EVALRUN_KEY=" + canaries["key"],
	}
	var said strings.Builder
	for _, line := range []string{
		"run suite.yaml -v --out one -o table -o json=one.json -o jsonl=one.jsonl -o junit=one.xml -o markdown=one.md -o html=one.html " +
			"-o csv=one.csv -o github=one.txt --record kept --cache",
		"show one *", "run suite.yaml --dry-run", "plan suite.yaml", "doctor suite.yaml", "resume one --errors -v --max-failures 1",
		"rescore one -v --out two -o json=two.json", "run suite.yaml --replay kept --out three -o json", "report one -o junit",
		"run suite.yaml -v --no-content --out four -o table", "validate suite.yaml",
	} {
		cmd := exec.Command(evalrun, strings.Fields(line)...)
		cmd.Dir, cmd.Env = dir, env
		out := outputOf(t, cmd)
		for _, leak := range leaks(out) {
			t.Errorf("evalrun %s, want no secret in\n\t%s", line, leak)
		}
		said.WriteString(out)
	}
	for _, leak := range leaksBelow(t, dir) {
		t.Errorf("got %v, want no secret", leak)
	}
	checkEndpoints(t, filepath.Join(dir, "one.json"), rows)
}

// endpointSuite has a target for each row, and sends three secrets to all of them.
func endpointSuite(rows []endpointFault, address string) string {
	var b strings.Builder
	b.WriteString("version: 1\nname: s\nlimits: {attempts: 1, concurrency: 4}\nprompts: [{name: p, text: hello}]\ntargets:\n")
	for i, row := range rows {
		fmt.Fprintf(&b, "  - {name: t%d, http: {url: \"%s/%d?key=${env:EVALRUN_KEY}\", body: \"{{prompt}}\"%s, headers: {authorization: "+
			"\"Bearer ${env:EVALRUN_TOKEN}\", proxy-authorization: \"${env:EVALRUN_BASIC}\"}}}\n", i, address, i, row.read)
	}
	b.WriteString("cases: [{name: c, scorers: [{contains: right}, {not: {contains: wrong}}]}]\n")
	return b.String()
}

func basic(password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth("user", password)
	return r.Header.Get("Authorization")
}

// checkEndpoints wants an error of its kind for each row.
func checkEndpoints(t *testing.T, report string, rows []endpointFault) {
	t.Helper()
	data, err := os.ReadFile(report)
	expect.OK(t, err)
	var doc struct{ Trials []eval.Result }
	expect.OK(t, json.NewDecoder(bytes.NewReader(data)).Decode(&doc))
	expect.Same(t, "trials", len(doc.Trials), len(rows))
	for _, r := range doc.Trials {
		i, _ := strconv.Atoi(strings.TrimPrefix(r.Target, "t"))
		switch row := rows[i]; {
		case row.kind == "" && r.Outcome() == eval.Pass:
		case row.kind == "":
			t.Errorf("%s: got %s (%v), want pass", row.name, r.Outcome(), r.Err())
		case r.Outcome() != eval.Err || r.Err().Kind != row.kind:
			t.Errorf("%s: got %s (%v), want an error of kind %s", row.name, r.Outcome(), r.Err(), row.kind)
		}
	}
}

// Under `onTimeout: score` what has arrived of an answer is scored, which is nothing where the answer is no stream. The call is
// made once. Else the trial is an error.
func TestAnEndpointThatIsLateIsScoredWhereTheSuiteSaysSo(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"t\":\"Par\"}\n\ndata: {\"t\":\"is\"}\n\nda")
			w.(http.Flusher).Flush()
		}
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}), nil)
	for late, want := range map[string][]string{
		"score": {`"outcome":"pass"`, `"outcome":"fail"`, `"limit":"time"`}, "error": {`"outcome":"error"`, `"kind":"timeout"`},
	} {
		b.write("suite.yaml", "version: 1\nname: s\nlimits: {attempts: 1}\ntargets:\n"+
			"  - {name: sse, http: {url: \""+b.url+"/stream\", answer: .t, stream: sse, timeout: 2s, onTimeout: "+late+"}}\n"+
			"  - {name: whole, http: {url: \""+b.url+"\", answer: .t, timeout: 2s, onTimeout: "+late+"}}\n"+
			"prompts: [{name: p, text: hi}]\ncases: [{name: c, scorers: [{equals: Paris}]}]\n")
		calls.Store(0)
		b.exits(map[string]int{"score": 1, "error": 4}[late], "run", "suite.yaml", "--out", late, "-q", "-o", "json="+late+".json")
		expect.Same(t, "calls", calls.Load(), 2)
		for _, text := range want {
			expect.Contains(t, late, b.read(late+"/run.jsonl"), text)
		}
	}
}
