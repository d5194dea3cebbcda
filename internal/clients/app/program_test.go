//go:build unix

package app

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

type target struct{ fail error }

func (t target) Render(in *eval.Input) (*eval.Rendered, error) {
	input, err := json.Marshal(map[string]any{"prompt": in.Prompt(), "trial": in.Trial, "attempt": in.Attempt})
	return &eval.Rendered{Payload: &eval.ProgramRun{Input: input}}, errors.Join(err, t.fail)
}

func prompt(text string) *eval.Call {
	return &eval.Call{
		Request: eval.Request{Contents: []eval.Content{{Parts: []eval.Part{eval.TextPart{Text: text}}}}},
		To:      &eval.Called{RequestMaker: target{}}, TrialName: "s", Timing: eval.Timing{Attempts: 1},
	}
}

func script(t *testing.T, text string, env ...string) *ProgramClient {
	t.Helper()
	dir := t.TempDir()
	return NewProgram(ProgramConfig{
		Shown: "./x", Path: "/bin/sh", Env: env, Timeout: time.Minute,
		Place: func(*eval.Call, []string) (*Place, error) {
			leave := func([]byte) (eval.Integrity, error) { return "", nil }
			return &Place{files.Invocation{Path: "/bin/sh", Args: []string{"-c", text}, Dir: dir}, nil, leave}, nil
		},
	})
}

func TestAProgramAnswers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]eval.Candidate{
		`echo hello; echo`:                   {Text: "hello", FinishReason: "STOP"},
		`printf '\nhello \r\n\r\n'`:          {Text: "\nhello ", FinishReason: "STOP"},
		`cat`:                                {Text: `{"attempt":1,"prompt":"hi \u003c","trial":"s"}`, FinishReason: "STOP"},
		`echo '{"text": "a"}'`:               {Text: "a", FinishReason: "STOP"},
		`printf '\357\273\277{"text": "a"}'`: {Text: "a", FinishReason: "STOP"},
		`echo '{"answer": "a"}'`:             {Text: `{"answer": "a"}`, FinishReason: "STOP"},
		`echo '{"text": "a"'`:                {Text: `{"text": "a"`, FinishReason: "STOP"},
		`echo '{"text": "a"} {"text": "b"}'`: {Text: `{"text": "a"} {"text": "b"}`, FinishReason: "STOP"},
		`echo '["text"]'`:                    {Text: `["text"]`, FinishReason: "STOP"},
		`echo '{"text": {"n": 1}, "error": ""}'`: {
			Text: `{"n":1}`, FinishReason: "STOP", Raw: json.RawMessage(`{"text":{"n":1},"error":""}`),
		},
		`echo '{"text": "", "error": null}'`: {FinishReason: "STOP", Raw: json.RawMessage(`{"text":"","error":null}`)},
		`echo '{"finishReason": "safety"}'`: {
			FinishReason: "SAFETY", VendorReason: "safety", Raw: json.RawMessage(`{"finishReason":"safety"}`),
		},
		`echo '{"toolCalls": [{"name": "f", "args": {"a": 1}}]}'`: {
			FinishReason: "TOOL_CALLS",
			Pieces:       []eval.Piece{eval.CallPiece{Call: &eval.FunctionCall{Name: "f", Args: json.RawMessage(`{"a":1}`)}}},
			Raw:          json.RawMessage(`{"toolCalls":[{"name":"f","args":{"a":1}}]}`),
		},
	} {
		got, err := script(t, text).Generate(t.Context(), prompt("hi <"))
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		expect.Same(t, text, got.Candidates, []eval.Candidate{want})
	}
}

// Whatever goes wrong is an error of its kind, with what the program complained of.
func TestAProgramFails(t *testing.T) {
	t.Parallel()
	deep := `printf '{"text": '; i=0; while [ $i -lt 300 ]; do printf '['; i=$((i+1)); done; ` +
		`while [ $i -gt 0 ]; do printf ']'; i=$((i-1)); done; printf '}'`
	for text, want := range map[string]struct {
		kind eval.ErrorKind
		says string
	}{
		`echo why >&2; exit 3`:         {eval.KindProgram, `the program "./x" ended with exit status 3; its standard error: why`},
		`echo '{"text": "a"}'; exit 1`: {eval.KindProgram, `the program "./x" ended with exit status 1; its standard error is empty`},
		`kill -KILL $$`:                {eval.KindProgram, `the program "./x" died: signal: killed; its standard error is empty`},
		`head -c 16777217 /dev/zero`:   {eval.KindProgram, `the program "./x" wrote more than 16777216 bytes`},
		`sleep 600 &`:                  {eval.KindProgram, `left a process behind that holds its output open`},
		``:                             {eval.KindMalformed, `the program wrote nothing; an answer without words is {"text": ""}`},
		`echo; echo ' '`:               {eval.KindMalformed, `the program wrote nothing`},
		`printf 'a\377'`:               {eval.KindMalformed, "what the program wrote is not UTF-8: a\ufffd"},
		`echo '{"error": {"message": "it is down"}}'`: {eval.KindApp, "the application says: it is down"},
		`echo '{"text": "a", "error": "no"}'`:         {eval.KindApp, "the application says: no"},
		`echo '{"text": null}'`: {
			eval.KindMalformed, "the answer has neither `text` nor `toolCalls`: {\"text\": null}",
		},
		`echo '{"usage": {"inputTokens": 1}}'`:   {eval.KindMalformed, "the answer has neither `text` nor `toolCalls`"},
		`echo '{"text": "a", "usage": 3}'`:       {eval.KindMalformed, "`usage` in the answer has to be an object"},
		`echo '{"text": "a", "toolCalls": {}}'`:  {eval.KindMalformed, "`toolCalls` in the answer has to be a list"},
		`echo '{"text": "a", "tool_calls": []}'`: {eval.KindMalformed, `the answer has the key "tool_calls"; write "toolCalls"`},
		`echo '{"tool-calls": []}'`:              {eval.KindMalformed, `the answer has the key "tool-calls"; write "toolCalls"`},
		`echo '{"Text": "a"}'`:                   {eval.KindMalformed, `the answer has the key "Text"; write "text"`},
		deep:                                     {eval.KindMalformed, "the answer nests deeper than 200 levels"},
		`printf '{"usage": '; head -c 20000 /dev/zero | tr '\0' '['`: {
			eval.KindMalformed, `what the program wrote nests deeper than 10000 levels: {"usage": [[[`,
		},
	} {
		_, err := script(t, text).Generate(t.Context(), prompt("hi"))
		if e := eval.AsError(err); e == nil || e.Kind != want.kind || !strings.Contains(e.Message, want.says) {
			t.Errorf("%.80s: got %v, want %s: %s", text, err, want.kind, want.says)
		}
	}
}

func TestAProgramThatCannotRunIsAnError(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none")
	for name, change := range map[string]func(*ProgramClient, *eval.Call){
		"cannot be started: no such file or directory": func(p *ProgramClient, _ *eval.Call) {
			p.cfg.Place = func(*eval.Call, []string) (*Place, error) {
				return &Place{files.Invocation{Path: missing}, nil, func([]byte) (eval.Integrity, error) { return "", nil }}, nil
			}
		},
		"cannot be run: no room": func(p *ProgramClient, _ *eval.Call) {
			p.cfg.Place = func(*eval.Call, []string) (*Place, error) { return nil, errors.New("no room") }
		},
		"the input of the program \"./x\" cannot be made: no words": func(_ *ProgramClient, c *eval.Call) {
			c.To = &eval.Called{RequestMaker: target{errors.New("no words")}}
		},
	} {
		p, call := script(t, "touch ran"), prompt("hi")
		change(p, call)
		_, err := p.Generate(t.Context(), call)
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindProgram || !strings.Contains(e.Message, name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

// A program is a file of the suite's folder, which a suite of standard input does not have.
func TestAProgramWithoutAFolderIsAnError(t *testing.T) {
	t.Parallel()
	p := NewProgram(ProgramConfig{Shown: "./x"})
	_, err := p.Generate(t.Context(), prompt("hi"))
	const want = `the program "./x" cannot be run: the suite does not come from a folder`
	if e := eval.AsError(err); e == nil || e.Kind != eval.KindProgram || e.Message != want {
		t.Errorf("got %v, want an error of kind program: %s", err, want)
	}
}

type endpoint struct{}

func (endpoint) Render(*eval.Input) (*eval.Rendered, error) {
	return &eval.Rendered{Payload: &eval.HTTP{}}, nil
}

func TestAProgramTakesRequestsOfItsKindAlone(t *testing.T) {
	t.Parallel()
	call := prompt("hi")
	call.To = &eval.Called{RequestMaker: endpoint{}}
	resp, err := script(t, "touch ran").Generate(t.Context(), call)
	const want = "the request is *eval.HTTP, and not one for a program"
	if resp != nil || err == nil || err.Error() != want {
		t.Errorf("got %v, %v, want the error %s", resp, err, want)
	}
}

func TestAProgramIsEnded(t *testing.T) {
	t.Parallel()
	slow := script(t, "echo waiting >&2; sleep 600")
	slow.cfg.Timeout = 300 * time.Millisecond
	call := prompt("hi")
	_, err := slow.Generate(t.Context(), call)
	if e := eval.AsError(err); e == nil || e.Kind != eval.KindTimeout ||
		e.Message != `the program "./x" did not end within 300ms; its standard error: waiting` {
		t.Errorf("got %v, want a timeout", err)
	}
	if call.Timing.LatencyMs < 300 {
		t.Errorf("it took %g ms, want 300 at least", call.Timing.LatencyMs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = script(t, "sleep 600").Generate(ctx, prompt("hi"))
	if e := eval.AsError(err); e == nil || e.Kind != eval.KindCanceled {
		t.Errorf("got %v, want that it was abandoned", err)
	}
}

// What a program gets of evalrun's own environment shows nowhere.
func TestWhatIsPassedOnDoesNotShow(t *testing.T) {
	t.Setenv("EVALRUN_API_KEY", "canary-of-the-key")
	for _, text := range []string{
		`echo "it is $EVALRUN_API_KEY, \u0041"`,
		`echo "{\"text\": \"$EVALRUN_API_KEY\", \"toolCalls\": [{\"name\": \"$EVALRUN_API_KEY\"}]}"`,
		`echo "{\"error\": \"$EVALRUN_API_KEY\"}"`, `echo "$EVALRUN_API_KEY" >&2; exit 1`, `printf "$EVALRUN_API_KEY\377"`,
		`printf '{"text": "\\u0063anary-of-the-key"}'`,
		`printf '{"text": "x", "toolCalls": [{"name": "f", "args": {"a": "\\u0063anary-of-the-key"}}]}'`,
		`printf '{"error": "{\\"a\\": \\"canary-of-the-key\\"}"}'`,
	} {
		got, err := script(t, text, "EVALRUN_API_KEY").Generate(t.Context(), prompt("hi"))
		shown, failed := json.Marshal(got)
		expect.OK(t, failed)
		if all := string(shown) + errorText(err); strings.Contains(all, "canary") || !strings.Contains(all, "[key]") {
			t.Errorf("%s: %s, want [key] instead of the key", text, all)
		}
	}
	got, err := script(t, `echo "it is $EVALRUN_API_KEY"`).Generate(t.Context(), prompt("hi"))
	expect.OK(t, err)
	expect.Same(t, "without being passed on", got.Text(), "it is ")
}

// Texts stay as they are but for secrets.
func FuzzReadOutput(f *testing.F) {
	for _, s := range []string{
		`{"text":"a"}`, `{"error":{}}`, "a\n", `{"toolCalls":[{"name":"a","args":{}}]}`, `{"usage":{"inputTokens":1e9}}`, "{",
	} {
		f.Add([]byte(s))
	}
	none := wire.NewSecrets()
	f.Fuzz(func(t *testing.T, out []byte) {
		a, err := readOutput(out, none)
		if err != nil {
			if k := eval.AsError(err).Kind; k != eval.KindMalformed && k != eval.KindApp && k != eval.KindTooLarge {
				t.Errorf("kind %s: %v, want malformed, app or too large", k, err)
			}
			return
		}
		c := a.response().Candidates[0]
		if c.FinishReason == "" || c.Raw != nil && !json.Valid(c.Raw) {
			t.Errorf("%+v, want a finish reason, and JSON if anything is kept", c)
		}
		if c.Raw == nil && len(c.Pieces) > 0 {
			t.Errorf("got %+v, want an answer of more than text kept as it came", c)
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
