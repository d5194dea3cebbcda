package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/testrun"
)

// reachPages are pages of a run of tools and applications.
var reachPages = []reportPage{
	{"summary of applications", "#/", ".verdict"},
	{"steps", "#/case/shop/loop", ".answer"},
	{"files", "#/case/shop/files", ".answer"},
	{"steps of a chat", "#/case/shop/chat", ".answer"},
	{"endpoint", "#/case/shop/endpoint%20fail", ".answer"},
	{"program", "#/case/shop/program", ".answer"},
}

// The page shows a tool loop step by step, and what an application was sent and answered.
func TestThePageShowsAToolLoopStepByStep(t *testing.T) {
	t.Parallel()
	b := open(t, written(t, testrun.Reach(t, nil)), 1600, 1000, "light")
	is := func(selector, want string) {
		t.Helper()
		got := evaluate[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(el => el.textContent).join('|')`, selector))
		if got != want {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
	all := func() string { return evaluate[string](b, `document.getElementById('main').textContent`) }
	b.visit("#/case/shop/loop", ".answer")
	is(".prompt .turn h3", "system|user")
	is(".prompt details > summary", "2 tools: get_order, search; toolChoice required|Configuration")
	is(".step", "Step 1|Step 2")
	is(".call", `calls get_order, id c1{"id":"4711"}|calls search, id c2{"q":"4711"}`)
	is(".result", `result of get_order, id c1{"status":"shipped"}|`+"\u2717 failed search, id c2exit status 1\nno index")
	is(".reasoning .prose", "I have to look it up.|The order was found.\nSo I can answer.")
	is(".text > .readable > .prose", "It left today.")
	if text := all(); !strings.Contains(text, "finish reason TOOL_CALLS (STOP)") || !strings.Contains(text, "All 2 steps together") ||
		!strings.Contains(text, "40 prompt (16 cached) + 8 tool use + 18 output (10 reasoning) = 66 (service)") {
		t.Errorf("got %q, want the finish reason and both steps together", text)
	}
	b.visit("#/matrix", "#grid .calls")
	is(`.line:has([href*="shop/loop"]) .calls:not([open]) summary`, "2 tool calls: get_order, search")
	is(`.line:has([href*="shop/loop"]) .calls .call`, `calls get_order, id c1{"id":"4711"}|calls search, id c2{"q":"4711"}`)
	b.visit("#/case/shop/broken%20loop", ".answer")
	is(".step", "Step 1")
	is(".turn > .note", "Not answered.")
	b.visit("#/case/shop/chat", ".answer")
	is(".chat h3", "Turn 1|Step 1|Step 2|Turn 2|Step 1")
	is(".chat .turn > .prose, .chat .text > .readable > .prose", "Where is order 4711?|It is lost.|That is bad.|I am sorry.")
	b.visit("#/case/shop/endpoint%20fail", ".answer")
	is(".answer > div > p:first-child .on", "POST http://127.0.0.1:8080/chat")
	is(".prompt details .prose", "POST http://127.0.0.1:8080/chat?shop=a%20b\ncontent-type: application/json\nauthorization: ***\n\n"+
		`{"question":"Where is order 4711?"}`)
	if text := all(); !strings.Contains(text, "trace id 4bf92f3577b34da6a3ce929d0e0e4736") {
		t.Errorf("got %q, want the trace id", text)
	}
	b.visit("#/case/shop/program", ".answer")
	if text := all(); !strings.Contains(text, "workspace kept in .evalrun/runs/r/workspaces/a") || !strings.Contains(text, "no such order") {
		t.Errorf("got %q, want the workspace and the failed order", text)
	}
	b.visit("#/", ".verdict")
	if text := all(); !strings.Contains(text, "those of applications are real") || !strings.Contains(text, "python3 agent.py") {
		t.Errorf("got %q, want the application and its command", text)
	}
	b.quiet()
}
