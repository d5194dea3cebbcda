package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// hostileReply is a reply of a stand-in server, and what becomes of it.
type hostileReply struct {
	name   string
	target string // keys of the target
	server string // protocol of its service, "" for an application
	status int    // 0: 200
	body   string // BOMB stands for brackets that are not closed
	want   string // an outcome, or the kind of an error
}

type hostileProtocol struct {
	name   string
	text   []string   // the events of "Par", "is"
	end    []string   // those after them
	block  []string   // those after them in an answer that is withheld
	late   string     // an event that withholds a complete answer, "" where the protocol has none
	second [][]string // streams with a second reply before the first one ends
	places []string   // where brackets may come
}

// Events that more than one reply has.
const (
	completedParis = `{"type":"response.completed","response":{"id":"y","status":"completed","output":[` +
		`{"type":"message","content":[{"type":"output_text","text":"Paris"}]}]}}`
	startedParis = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Paris"}}`
	deltaParis   = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Paris"}}`
)

var hostileProtocols = []hostileProtocol{
	{
		name:  "generative",
		text:  []string{`{"candidates":[{"content":{"parts":[{"text":"Par"}]}}]}`, `{"candidates":[{"content":{"parts":[{"text":"is"}]}}]}`},
		end:   []string{`{"candidates":[{"finishReason":"STOP"}]}`},
		block: []string{`{"promptFeedback":{"blockReason":"OTHER"}}`},
		late:  `{"candidates":[{"finishReason":"SAFETY"}]}`,
		second: [][]string{{
			`{"responseId":"x","candidates":[{"content":{"parts":[{"text":"Paris"}]}}]}`,
			`{"responseId":"y","candidates":[{"content":{"parts":[{"text":"Paris"}]},"finishReason":"STOP"}]}`,
		}},
		places: []string{
			`{"promptFeedback":{"blockReason":BOMB`, `{"candidates":[{"finishReason":"STOP","safetyRatings":BOMB`, `{"usageMetadata":BOMB`,
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":BOMB`, `{"candidates":[{"content":{"role":BOMB`,
		},
	},
	{
		name:  "openai",
		text:  []string{`{"choices":[{"index":0,"delta":{"content":"Par"}}]}`, `{"choices":[{"index":0,"delta":{"content":"is"}}]}`},
		end:   []string{`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":1}}`},
		block: []string{`{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`},
		late:  `{"choices":[{"index":0,"delta":{"refusal":"no"}}]}`,
		second: [][]string{
			{
				`{"id":"x","choices":[{"delta":{"content":"Paris"}}]}`,
				`{"id":"y","choices":[{"delta":{"content":"Paris"},"finish_reason":"stop"}]}`,
			},
			{
				`{"id":"x","choices":[{"delta":{"role":"assistant"}}]}`, `{"id":"x","choices":[{"delta":{"content":"London"}}]}`,
				`{"id":"y","choices":[{"delta":{"content":"Paris"},"finish_reason":"stop"}]}`,
			},
			{`{"choices":[{"delta":{"content":"Paris"}}]}`, `{"choices":[{"message":{"content":"Paris"},"finish_reason":"stop"}]}`},
			{`{"choices":[{"delta":{"content":"Paris"}},{"delta":{"content":"Paris"},"finish_reason":"stop"}]}`},
		},
		places: []string{`{"choices":[{"message":{"content":BOMB`, `{"choices":[{"index":0,"delta":{"content":"Paris"}}],"usage":BOMB`},
	},
	{
		name: "responses",
		text: []string{
			`{"type":"response.created","response":{"status":"in_progress"}}`,
			`{"type":"response.output_text.delta","output_index":0,"delta":"Par"}`,
			`{"type":"response.output_text.delta","output_index":0,"delta":"is"}`,
		},
		end: []string{`{"type":"response.completed","response":{"status":"completed","output":[]}}`},
		block: []string{
			`{"type":"response.refusal.delta","output_index":0,"delta":"no"}`,
			`{"type":"response.completed","response":{"status":"completed"}}`,
		},
		second: [][]string{
			{`{"type":"response.created","response":{"id":"x"}}`, completedParis},
			{`{"type":"response.output_text.delta","output_index":0,"delta":"London"}`, completedParis},
			{
				`{"type":"response.output_text.delta","output_index":0,"delta":"Paris"}`,
				`{"type":"response.output_text.delta","output_index":0,"delta":"Paris"}`, completedParis,
			},
			{
				`{"type":"response.output_text.delta","output_index":0,"delta":"London"}`,
				`{"type":"response.output_text.done","output_index":0,"text":"Paris"}`,
				`{"type":"response.completed","response":{"status":"completed","output":[]}}`,
			},
			{
				`{"type":"response.output_text.delta","output_index":0,"delta":"Paris"}`,
				`{"type":"response.output_text.done","output_index":0,"text":"Paris"}`,
				`{"type":"response.output_text.delta","output_index":0,"delta":"Paris"}`,
				`{"type":"response.output_text.done","output_index":0,"text":"Paris"}`,
				`{"type":"response.completed","response":{"status":"completed","output":[]}}`,
			},
			{
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[]}}`,
				`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}`, completedParis,
			},
		},
		places: []string{`{"status":"completed","output":BOMB`, `{"type":"response.completed","response":{"status":"completed","usage":BOMB`},
	},
	{
		name: "anthropic",
		text: []string{
			`{"type":"message_start","message":{"role":"assistant","content":[]}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Par"}}`, `{"type":"ping"}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"is"}}`,
		},
		end:   []string{`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`},
		block: []string{`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, `{"type":"message_stop"}`},
		late:  `{"type":"message_delta","delta":{"stop_reason":"refusal"}}`,
		second: [][]string{
			{startedParis, startedParis, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`},
			{startedParis, `{"type":"content_block_stop","index":0}`, startedParis, `{"type":"message_stop"}`},
			{startedParis, `{"type":"content_block_stop","index":0}`, deltaParis, `{"type":"message_stop"}`},
			{startedParis, deltaParis, `{"type":"message_stop"}`},
			{startedParis, `{"type":"message_stop"}`, `{"type":"message_stop"}`},
		},
		places: []string{`{"role":"assistant","content":BOMB`, `{"type":"message_start","message":{"usage":BOMB`},
	},
	{
		name:   "application",
		text:   []string{`{"t":"Par"}`, `{"t":"is"}`},
		end:    []string{`{"end":"stop"}`},
		block:  []string{`{"end":"content_filter"}`, `{"end":"stop"}`},
		late:   `{"end":"content_filter"}`,
		places: []string{`{"t":"Paris","end":"stop","more":BOMB`},
	},
}

func asEvents(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }

func (p *hostileProtocol) streams() []hostileReply {
	reply := slices.Concat(p.text, p.end)
	body, mark := asEvents(reply...), asEvents("[DONE]")
	ended := p.text[: len(p.text)-1 : len(p.text)-1]
	out := []hostileReply{
		{name: "one reply", body: body, want: "pass"},
		{name: "one reply and a mark", body: body + mark + ": bye\n\n", want: "pass"},
		{name: "twice", body: body + body, want: "malformed"},
		{name: "three times", body: body + body + body + mark, want: "malformed"},
		{name: "twice after the mark", body: body + mark + body + mark, want: "malformed"},
		{name: "text after the end", body: body + asEvents(p.text[len(p.text)-1]), want: "malformed"},
		{name: "text after the mark", body: body + mark + asEvents(p.text[len(p.text)-1]), want: "malformed"},
		{name: "blocked after text", body: asEvents(slices.Concat(p.text, p.block)...), want: "fail"},
		{name: "blocked after some text", body: asEvents(slices.Concat(ended, p.block)...), want: "fail"},
	}
	if strings.HasPrefix(p.text[0], `{"type"`) { // the event with which a reply begins
		out = append(out, hostileReply{name: "begun twice", body: asEvents(p.text...) + body, want: "malformed"})
	}
	if p.late != "" {
		out = append(out, hostileReply{name: "blocked after the end", body: body + asEvents(p.late), want: "fail"})
	}
	for _, events := range p.second {
		out = append(out, hostileReply{name: "second: " + strings.Join(events, " "), body: asEvents(events...), want: "malformed"})
	}
	for _, place := range append(p.places, "BOMB", `{"error":BOMB`, `{"error":{"message":BOMB`) {
		out = append(
			out, hostileReply{name: "deep: " + place, body: asEvents(place), want: "malformed"},
			hostileReply{name: "deep after text: " + place, body: asEvents(p.text...) + asEvents(place), want: "malformed"},
		)
	}
	return append(out, hostileReply{name: "deep, no event", body: body + "BOMB", want: "malformed"})
}

func (p *hostileProtocol) whole() (out []hostileReply) {
	for _, place := range append(p.places, "BOMB", `{"error":BOMB`) {
		out = append(
			out, hostileReply{name: "deep: " + place, body: place, want: "malformed"},
			hostileReply{name: "deep with 400: " + place, status: http.StatusBadRequest, body: place, want: "status"},
		)
	}
	return append(out, hostileReply{name: "a part", status: http.StatusPartialContent, body: p.text[0], want: "truncated"})
}

func hostileReplies() (out []hostileReply) {
	for _, p := range hostileProtocols {
		for _, r := range p.streams() {
			r.target, r.server = "model: m, stream: true", p.name
			if p.name == "application" {
				r.target, r.server = `http: {url: "URL", answer: .t, finishReason: .end, stream: sse}`, ""
			}
			r.name = p.name + ", streamed, " + r.name
			out = append(out, r)
		}
		for _, r := range p.whole() {
			r.target, r.server = "model: m", p.name
			if p.name == "application" {
				r.target, r.server = `http: {url: "URL", answer: .t}`, ""
			}
			r.name = p.name + ", " + r.name
			out = append(out, r)
		}
	}
	return out
}

// hostileSuite has a target for each reply. The server finds the reply by the first part of the path.
func hostileSuite(all []hostileReply, address string, repeats int) string {
	var targets, services strings.Builder
	for i, r := range all {
		at := address + "/" + strconv.Itoa(i)
		service := ""
		if r.server != "" {
			service = fmt.Sprintf("service: s%d, ", i)
			fmt.Fprintf(&services, "  s%d: {protocol: %s, baseUrl: %q, metadata: false}\n", i, r.server, at)
		}
		fmt.Fprintf(&targets, "  - {name: t%d, %s%s}\n", i, service, strings.Replace(r.target, "URL", at, 1))
	}
	return "version: 1\nname: s\nprompts: [{name: p, text: hello}]\nlimits: {attempts: 1, concurrency: 4}\ntargets:\n" + targets.String() +
		"services:\n" + services.String() + fmt.Sprintf("cases: [{name: c, repeats: %d, scorers: [{contains: Par}]}]\n", repeats)
}

// Brackets without end, second replies and late blocks, in every place of every protocol: none is a pass, each is sent
// once, and the run ends. EVALRUN_SOAK is the long form.
func TestSoakHostileReplies(t *testing.T) {
	t.Parallel()
	repeats := 1
	if os.Getenv("EVALRUN_SOAK") != "" {
		repeats = 20
	}
	all := hostileReplies()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := calls.Add(1)
		draw := rand.New(rand.NewPCG(39, uint64(n))) // the same in every run, in another order
		bomb := []string{"[", `{"a":`, `[{"a":`}[draw.IntN(3)]
		number, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		i, _ := strconv.Atoi(number)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(all[i].body, "data:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.WriteHeader(max(all[i].status, http.StatusOK))
		_, _ = strings.NewReplacer("BOMB", strings.Repeat(bomb, 2_000_000/len(bomb))).WriteString(w, all[i].body)
	}))
	defer server.Close()
	b := newBox(t, nil, map[string]string{"suite.yaml": hostileSuite(all, server.URL, repeats)})
	b.exits(1, "run", "suite.yaml", "--out", "run", "-q", "-o", "json=run.json")
	expect.Same(t, "calls", calls.Load(), int64(len(all)*repeats))
	expect.Contains(t, "the run file", b.read("run/run.jsonl"), `{"type":"end"`)
	var doc struct{ Trials []eval.Result }
	expect.OK(t, json.Unmarshal([]byte(b.read("run.json")), &doc))
	expect.Same(t, "trials", len(doc.Trials), len(all)*repeats)
	for _, r := range doc.Trials {
		i, _ := strconv.Atoi(strings.TrimPrefix(r.Target, "t"))
		got := string(r.Outcome())
		if r.Outcome() == eval.Err {
			got = string(r.Err().Kind)
		}
		expect.Same(t, all[i].name, got, all[i].want)
	}
}
