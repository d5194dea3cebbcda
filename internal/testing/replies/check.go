package replies

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Check compares what a client read from the reply with what the index expects.
func (r *Reply) Check(t testing.TB, got *eval.Response, err error) {
	t.Helper()
	if r.Expect.Error != nil {
		r.Expect.checkError(t, r.Name(), err)
		return
	}
	if err != nil {
		t.Fatalf("%s: got the error %s, want an answer", r.Name(), err)
	}
	if len(got.Candidates) == 0 {
		t.Fatalf("%s: got no candidate", r.Name())
	}
	r.Expect.checkAnswer(t, r.Name(), &got.Candidates[0])
	for i, want := range r.Expect.Choices {
		if i >= len(got.Candidates) {
			t.Fatalf("%s: got %d candidates, want %d", r.Name(), len(got.Candidates), len(r.Expect.Choices))
		}
		c := &got.Candidates[i]
		expect.Same(t, r.Name()+": a choice", ReplyChoice{want.Index, c.Text, word(c)}, want)
	}
	r.Expect.checkUsage(t, r.Name(), got.Usage)
}

// Read reads the reply at once, byte by byte, and from a file, and checks each result.
func (r *Reply) Read(t testing.TB, ask Ask, parse func([]byte) (*eval.Response, error)) {
	t.Helper()
	got, err := ask(r.Transport())
	r.Check(t, got, err)
	slow := r.Transport()
	slow.Slowly = true
	slowly, err := ask(slow)
	r.Check(t, slowly, err)
	expect.Same(t, r.Name()+": byte by byte", slowly, got)
	if r.Status >= 300 {
		return
	}
	kept, err := parse(r.Body)
	r.Check(t, kept, err)
	expect.Same(t, r.Name()+": out of a file", kept, got)
}

// word returns the vendor's word for why a candidate ended.
func word(c *eval.Candidate) string {
	if c.VendorReason != "" {
		return c.VendorReason
	}
	if c.FinishReason == "TOOL_CALLS" { // evalrun's own word, which no vendor sends
		return ""
	}
	return c.FinishReason
}

func (x *Expect) checkError(t testing.TB, name string, err error) {
	t.Helper()
	e := eval.AsError(err)
	if e == nil {
		t.Fatalf("%s: got an answer, want the error %q", name, x.Error.Message)
	}
	if !strings.Contains(e.Message, x.Error.Message) {
		t.Errorf("%s: got the error %q, want %q in it", name, e.Message, x.Error.Message)
	}
}

func (x *Expect) checkAnswer(t testing.TB, name string, c *eval.Candidate) {
	t.Helper()
	beginning := []rune(c.Text)
	expect.Same(t, name+": the text", string(beginning[:min(len(beginning), 200)]), *x.Text)
	expect.Same(t, name+": the length of the text", len(beginning), x.TextLength)
	if sum := sha256.Sum256([]byte(c.Text)); x.TextSHA256 != "" {
		expect.Same(t, name+": the hash of the text", hex.EncodeToString(sum[:]), x.TextSHA256)
	}
	expect.Same(t, name+": the vendor's finish reason", word(c), x.FinishReason)
	calls := []ReplyCall{}
	thoughts, joined := "", ""
	for _, p := range c.Pieces {
		switch p := p.(type) {
		case eval.TextPiece:
			joined += p.Text
		case eval.ReasoningPiece:
			thoughts += p.Reasoning
		case eval.CallPiece:
			calls = append(calls, ReplyCall{p.Call.Name, p.Call.Args})
		case eval.OtherPiece:
		}
	}
	if c.Pieces != nil {
		expect.Same(t, name+": the texts of the parts", joined, c.Text)
	}
	x.checkCalls(t, name, calls)
	expect.Same(t, name+": the length of the thoughts", utf8.RuneCountInString(thoughts), x.ReasoningLength)
	if !strings.HasPrefix(thoughts, x.Reasoning) {
		t.Errorf("%s: got the thoughts %.300q, want %q", name, thoughts, x.Reasoning)
	}
	if x.Refusal != "" {
		expect.Same(t, name+": blocked", c.Block(), "SAFETY")
		if raw := string(c.Raw); !strings.Contains(unescaped(raw), x.Refusal) {
			t.Errorf("%s: got %s, want the refusal %q in it", name, raw, x.Refusal)
		}
	}
	if c.Raw != nil && !json.Valid(c.Raw) {
		t.Errorf("%s: the candidate as it came is no JSON: %s", name, c.Raw)
	}
}

// unescaped removes the escapes of JSON, so that a text can be found in it.
func unescaped(raw string) string {
	var v any
	if json.Unmarshal([]byte(raw), &v) != nil {
		return ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return b.String()
}

func (x *Expect) checkCalls(t testing.TB, name string, calls []ReplyCall) {
	t.Helper()
	same := func(raw json.RawMessage) string {
		var b bytes.Buffer
		if json.Compact(&b, raw) != nil {
			return string(raw)
		}
		return b.String()
	}
	var got, want []string
	for _, c := range calls {
		got = append(got, c.Name+same(c.Arguments))
	}
	for _, c := range x.ToolCalls {
		want = append(want, c.Name+same(c.Arguments))
	}
	expect.Same(t, name+": the calls", got, want)
}

// vendorUsage has the names that vendors use for numbers of tokens.
type vendorUsage struct {
	Prompt        int `json:"prompt_tokens"`
	Input         int `json:"input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	Completion    int `json:"completion_tokens"`
	Output        int `json:"output_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
		Thinking  int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (x *Expect) checkUsage(t testing.TB, name string, got *eval.Usage) {
	t.Helper()
	if len(x.Usage) == 0 || string(x.Usage) == "null" {
		if got != nil {
			t.Errorf("%s: got the usage %+v, want none", name, got)
		}
		return
	}
	var c vendorUsage
	expect.OK(t, json.Unmarshal(x.Usage, &c))
	if got == nil {
		t.Fatalf("%s: got no usage, want %s", name, x.Usage)
	}
	want := [4]int{
		c.Prompt + c.Input + c.CacheCreation + c.CacheRead, c.Completion + c.Output,
		c.PromptDetails.Cached + c.InputDetails.Cached + c.CacheRead,
		c.CompletionDetails.Reasoning + c.OutputDetails.Reasoning + c.OutputDetails.Thinking,
	}
	expect.Same(
		t, name+": the tokens of prompt, output, cache and thoughts",
		[4]int{got.PromptTokens, got.OutputTokens, got.CachedTokens, got.ReasoningTokens}, want,
	)
}
