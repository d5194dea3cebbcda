package replies

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
)

// Ask sends a request through a client, which gets the canned reply.
type Ask func(*Canned) (*eval.Response, error)

// mostCuts bounds the places inside events at which a stream is cut.
const mostCuts = 100

// CheckFaults damages a streamed reply in many ways. The client must return an error, or the same answer if
// nothing of it is missing.
func (r *Reply) CheckFaults(t testing.TB, ask Ask) {
	t.Helper()
	whole, err := ask(r.Transport())
	if err != nil {
		t.Fatalf("%s: %s", r.Name(), err)
	}
	same := func(what string, body []byte) {
		t.Helper()
		c := r.Transport()
		c.Body = body
		got, err := ask(c)
		r.checkDamaged(t, what, whole, got, err)
	}
	events := r.events()
	for i := range events {
		same("cut after an event", []byte(strings.Join(events[:i], "")))
	}
	for at := 1; at < len(r.Body); at += 1 + len(r.Body)/mostCuts {
		same("cut inside", r.Body[:at])
	}
	for i := 1; i < len(events); i += 1 + len(events)/20 {
		r.garbage(t, ask, events, i)
	}
	r.comments(t, whole, ask, events)
}

// checkDamaged compares the answer from a damaged stream with the complete one.
func (r *Reply) checkDamaged(t testing.TB, what string, whole, got *eval.Response, err error) {
	t.Helper()
	if err != nil {
		if eval.AsError(err).Kind == "" {
			t.Errorf("%s, %s: an error of no kind: %s", r.Name(), what, err)
		}
		return
	}
	if diff := cmp.Diff(whole.Candidates, got.Candidates); diff != "" {
		t.Errorf("%s, %s: another answer (-whole +damaged):\n%s", r.Name(), what, diff)
	}
}

// events splits the stream; each event includes the empty line after it.
func (r *Reply) events() []string {
	body := strings.ReplaceAll(string(r.Body), "\r\n", "\n")
	var out []string
	for _, event := range strings.SplitAfter(body, "\n\n") {
		if strings.TrimSpace(event) != "" {
			out = append(out, event)
		}
	}
	return out
}

// garbage inserts invalid text between two events, which must be an error at every place.
func (r *Reply) garbage(t testing.TB, ask Ask, events []string, at int) {
	t.Helper()
	for what, garbage := range map[string]string{
		"a page":      "<html>\n<body>Bad gateway</body>\n\n",
		"a word":      "upstream timeout\n\n",
		"broken JSON": "data: {\"choices\": [\n\n",
		"an error event": "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", " +
			"\"message\": \"busy\"}}\n\n",
		"an error":     "data: {\"error\": {\"message\": \"busy\", \"code\": 503}}\n\n",
		"a bare error": "{\"error\": {\"message\": \"busy\", \"code\": 503}}\n\n",
		"not UTF-8":    "data: {\"choices\": \"\xff\"}\n\n",
	} {
		c := r.Transport()
		c.Body = []byte(strings.Join(events[:at], "") + garbage + strings.Join(events[at:], ""))
		if got, err := ask(c); err == nil {
			t.Errorf("%s: got an answer with %s before event %d of %d, want an error: %.200v", r.Name(), what, at+1, len(events),
				got)
		}
	}
}

// comments inserts what clients must ignore, and uses other line endings. The answer must be the same.
func (r *Reply) comments(t testing.TB, whole *eval.Response, ask Ask, events []string) {
	t.Helper()
	all := strings.Join(events, "")
	for what, body := range map[string]string{
		"comments":          strings.Join(events, ": keep-alive\n\n\n"),
		"ids":               strings.Join(events, "id: 7\nretry: 10\n\n"),
		"CRLF":              strings.ReplaceAll(all, "\n", "\r\n"),
		"CR":                strings.ReplaceAll(all, "\n", "\r"),
		"a byte order mark": "\xEF\xBB\xBF" + all,
		"no empty line":     strings.TrimRight(all, "\n"),
		"no DONE":           strings.Replace(all, "data: [DONE]\n\n", "", 1),
	} {
		c := r.Transport()
		c.Body = []byte(body)
		got, err := ask(c)
		if what == "no DONE" && bytes.Contains(r.Body, []byte("[DONE]")) && err != nil &&
			eval.AsError(err).Kind == eval.KindTruncated {
			continue // only these ids said that the stream was complete
		}
		if err != nil {
			t.Errorf("%s: got the error %s with %s, want an answer", r.Name(), err, what)
			continue
		}
		if diff := cmp.Diff(whole.Candidates, got.Candidates); diff != "" {
			t.Errorf("%s: another answer with %s (-want +got):\n%s", r.Name(), what, diff)
		}
	}
}
