package emulator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

type appAnswer struct {
	status int
	body   string
	header http.Header
}

// sends sends a body to a path of the application, with headers as pairs.
func sends(t *testing.T, a http.Handler, path, body string, header ...string) appAnswer {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return appAnswer{w.Code, w.Body.String(), w.Header()}
}

// replyTo is the text of the application's answer to a body.
func replyTo(t *testing.T, a http.Handler, body string, header ...string) string {
	t.Helper()
	got := sends(t, a, "/chat", body, header...)
	var out appReply
	if err := json.Unmarshal([]byte(got.body), &out); err != nil || got.status != 200 || out.Reply == nil {
		t.Fatalf("%s: got %d %s, want an answer", body, got.status, got.body)
	}
	return out.Reply.Text
}

func TestTheApplicationAnswers(t *testing.T) {
	t.Parallel()
	a := NewApp("")
	const none, lookup = `[]`, `[{"name":"get_order","args":{"id":"%s"}}]`
	for _, test := range []struct {
		question, reply, steps string
		in, out                int
	}{
		{"What is the capital of France?", "Paris", none, 8, 2},
		{"capital of JAPAN", "Tokyo", none, 4, 2},
		{"Where is order A17?", "Order A17 has shipped and arrives on Friday.", fmt.Sprintf(lookup, "A17"), 5, 11},
		{"order no. z9", "I cannot find order Z9.", fmt.Sprintf(lookup, "Z9"), 3, 6},
		{"hello", "hello", none, 2, 2},
		{"capital of Atlantis", "capital of Atlantis", none, 5, 5},
		{"What did I ask before?", "This is your first question.", none, 6, 7},
		{"in order to 3\n\"", "in order to 3\n\"", none, 4, 4},
	} {
		want := fmt.Sprintf(
			`{"reply":{"text":%s},"steps":%s,"usage":{"inputTokens":%d,"outputTokens":%d}}`, quoted(test.reply), test.steps, test.in, test.out,
		)
		body := `{"question":` + quoted(test.question) + `,"locale":"en"}`
		for range 2 { // without a session nothing is kept
			expect.Same(t, test.question, strings.TrimSpace(sends(t, a, "/chat", body).body), want)
		}
	}
	got := sends(t, a, "/text", "What is the capital of Iceland?")
	expect.Same(t, "plain text", got.header.Get("Content-Type")+" "+got.body, "text/plain; charset=utf-8 Reykjavík")
}

func TestTheApplicationRemembersSessions(t *testing.T) {
	t.Parallel()
	a := NewApp("")
	const before = `"question":"What did I ask you before?"`
	replyTo(t, a, `{"question":"capital of Peru","session":"one"}`)
	replyTo(t, a, `{"question":"hello","session":2}`)
	for body, want := range map[string]string{
		`{` + before + `,"session":"one"}`:   "Your last question: capital of Peru",
		`{` + before + `,"session":2}`:       "Your last question: hello",
		`{` + before + `,"session":"other"}`: "This is your first question.",
		`{` + before + `,"session":null}`:    "This is your first question.",
		// a conversation that comes with the request counts instead of the session
		`{"session":"one","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"},` +
			`{"role":"user","content":[{"type":"text","text":"What did I ask before?"}]}]}`: "Your last question: hi",
		`{"messages":[{"role":"system","content":"s"},{"role":"user","parts":[{"text":"a"},{"text":"b"}]},{"role":"model","parts":[]}],` +
			before + `}`: "Your last question: ab",
		`{"messages":[{"text":"capital of Kenya"}]}`: "Nairobi",
	} {
		expect.Same(t, body, replyTo(t, a, body), want)
	}
	// A retry with the same key is one question.
	for range 3 {
		expect.Same(t, "a retry", replyTo(t, a, `{"question":"What did I ask before?","session":"one"}`, "Idempotency-Key", "k"),
			"Your last question: What did I ask you before?")
	}
	in := sends(t, a, "/chat", `{"question":"x","session":"s"}`).body + sends(t, a, "/chat", `{"question":"x","session":"s"}`).body
	if !strings.Contains(in, `"inputTokens":1,`) || strings.Count(in, `"inputTokens":1,`) != 2 {
		t.Errorf("got %s, want 1 input token for 1 byte, and for 3 with the conversation", in)
	}
}

// What is kept has bounds: the sessions that were used last, and the last questions of each.
func TestTheApplicationForgets(t *testing.T) {
	t.Parallel()
	a := NewApp("")
	ask := func(session, question string) string {
		return replyTo(t, a, fmt.Sprintf(`{"question":%q,"session":%q}`, question, session))
	}
	ask("first", "one")
	for i := range maxChats - 1 {
		ask(fmt.Sprint(i), "hello")
	}
	ask("first", "two")
	ask("last", "hello")
	expect.Same(t, "sessions", len(a.chats.open), maxChats)
	expect.Same(t, "the first session, used again", ask("first", "What did I ask before?"), "Your last question: two")
	expect.Same(t, "the one that was not used for longest", ask("0", "What did I ask before?"), "This is your first question.")
	for i := range 3 * maxExchanges {
		ask("long", fmt.Sprint("question ", i))
	}
	expect.Same(t, "questions of a long session", len(a.chats.open["long"].exchanges), maxExchanges)
}

func TestTheApplicationStreams(t *testing.T) {
	t.Parallel()
	got := sends(t, NewApp(""), "/stream", `{"question":"Where is order A18?"}`)
	expect.Same(t, "content type", got.header.Get("Content-Type"), "text/event-stream")
	var text strings.Builder
	events := strings.Split(strings.TrimSuffix(got.body, "\r\n\r\n"), "\r\n\r\n")
	for _, e := range events[:len(events)-1] {
		var delta struct{ Delta string }
		expect.OK(t, json.Unmarshal([]byte(strings.TrimPrefix(e, "data: ")), &delta))
		text.WriteString(delta.Delta)
	}
	expect.Same(t, "deltas", fmt.Sprint(len(events)-1, ": ", text.String()), "5: Order A18 is being packed.")
	expect.Same(t, "the last event", events[len(events)-1],
		`data: {"steps":[{"name":"get_order","args":{"id":"A18"}}],"usage":{"inputTokens":5,"outputTokens":7}}`)
}

func TestTheApplicationFails(t *testing.T) {
	t.Parallel()
	a := NewApp("")
	for _, test := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/chat", ``, 400, "the body has no question"},
		{"/chat", `{"question":""}`, 400, "the body has no question"},
		{"/chat", `{"question":1}`, 400, "question"},
		{"/chat", `{"question":"x"`, 400, "not the JSON that is expected"},
		{"/stream", `{"messages":[{"role":"system","content":"x"}]}`, 400, "the body has no question"},
		{"/text", strings.Repeat("x", maxAppBody+1), 413, "1048576 bytes"},
		{"/fail/500", "x", 500, "<h1>500 Internal Server Error</h1>"},
		{"/fail/429", "", 429, "<h1>429"},
		{"/fail/503", "", 503, "<h1>503"},
		{"/fail/200", "x", 404, "from 400 to 599"},
		{"/fail/app", "x", 200, `{"error":{"message":"the order service is down"}}`},
		{"/empty", "x", 200, ""},
		{"/redirect", "x", 302, ""},
		{"/nothing", "x", 404, "there is no POST /nothing here; there is POST /chat, /stream,"},
	} {
		got := sends(t, a, test.path, test.body)
		if got.status != test.status || !strings.Contains(got.body, test.want) || test.path == "/empty" && got.body != "" {
			t.Errorf("%s %.40s: got %d %s, want %d %s", test.path, test.body, got.status, got.body, test.status, test.want)
		}
		if wait := got.header.Get("Retry-After"); (wait == "1") != (test.status == 429 || test.status == 503) {
			t.Errorf("%s: Retry-After is %q, want 1 with the statuses 429 and 503 alone", test.path, wait)
		}
		if test.path == "/redirect" {
			expect.Same(t, "where the redirect leads", got.header.Get("Location"), "/chat")
		}
	}
	expect.Same(t, "used endpoints", strings.Join(a.Served(), ", "),
		"/chat 4, /stream 1, /text 1, /fail/{status} 4, /fail/app 1, /redirect 1, /empty 1")
}

func TestTheApplicationWantsItsKey(t *testing.T) {
	t.Parallel()
	a := NewApp("secret")
	for header, want := range map[string]int{"": 401, "Bearer wrong": 401, "secret": 401, "Bearer secret": 200, "bearer secret": 200} {
		got := sends(t, a, "/chat", `{"question":"x"}`, "Authorization", header)
		if got.status != want || want == 401 && (got.header.Get("WWW-Authenticate") != "Bearer" || strings.Contains(got.body, "secret")) {
			t.Errorf("%q: got %d %s, want %d", header, got.status, got.body, want)
		}
	}
}

// The server of the application ends, with requests that hang; so do requests whose client goes away.
func TestTheApplicationEnds(t *testing.T) {
	t.Parallel()
	server, err := NewApp("k").Start("127.0.0.1:0")
	expect.OK(t, err)
	for path, want := range map[string]string{"/health": `{"status":"ok"}`, "/stats": `"/hang":0`} {
		if status, body := get(t, server.URL+path, nil); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want 200 %s", path, status, body, want)
		}
	}
	hang := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/hang", strings.NewReader(`{"question":"x"}`))
		expect.OK(t, err)
		req.Header.Set("Authorization", "Bearer k")
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	ctx, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for _, ctx := range []context.Context{ctx, t.Context()} {
		waiting.Go(func() {
			if err := hang(ctx); err == nil {
				t.Error("a request to /hang was answered, want none")
			}
		})
	}
	for server.Stats()["/hang"] < 2 {
		runtime.Gosched() // they are on their way
	}
	leave()
	server.Close()
	waiting.Wait()
	server.Close()
	if _, err := NewApp("").Start("nowhere"); err == nil || !strings.Contains(err.Error(), "the application cannot listen on nowhere") {
		t.Errorf("got %v, want that it cannot listen", err)
	}
}

// The same requests at once are all answered, and the session has each of them.
func TestTheApplicationServesManyAtOnce(t *testing.T) {
	t.Parallel()
	a := NewApp("")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			sends(t, a, "/chat", fmt.Sprintf(`{"question":"hello","session":"s%d"}`, i%2))
		})
	}
	all.Wait()
	expect.Same(t, "questions", len(a.chats.open["s0"].exchanges)+len(a.chats.open["s1"].exchanges), 40)
	expect.Same(t, "requests", a.Stats()["/chat"], int64(40))
}

// FuzzApp checks that the application answers whatever comes, an answer in JSON or a problem in JSON, and streams events of JSON.
func FuzzApp(f *testing.F) {
	for _, s := range append(
		hostile.Strings(), `{"question":"order A17","session":[{}]}`, `{"messages":[{"role":"user","content":[{"text":"x"}]},{"role":"model"}]}`,
		`{"messages":[{"content":{"text":1}}],"question":"What did I ask before?"}`,
	) {
		f.Add(s)
		f.Add(`{"session":"s","question":` + quoted(s) + `}`)
	}
	a := NewApp("")
	f.Fuzz(func(t *testing.T, body string) {
		got := sends(t, a, "/chat", body)
		if got.status != 200 && got.status != 400 || !json.Valid([]byte(got.body)) {
			t.Errorf("got %d %s, want 200 or 400, and JSON", got.status, got.body)
		}
		got = sends(t, a, "/stream", body)
		if got.status != 200 {
			return
		}
		lines := bufio.NewReader(strings.NewReader(got.body))
		for {
			line, err := lines.ReadString('\n')
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && !json.Valid([]byte(data)) || !ok && data != "" {
				t.Errorf("got the line %q, want an event of JSON", line)
			}
			if errors.Is(err, io.EOF) {
				return
			}
		}
	})
}
