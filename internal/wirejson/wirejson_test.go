package wirejson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

func TestCamelKeysRenamesKeysAndNoTexts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"finish_reason": "max_tokens", "a_b": 1}`:       `{"finishReason": "max_tokens", "a_b": 1}`,
		`{"text": "\"finish_reason\": 1"}`:                `{"text": "\"finish_reason\": 1"}`,
		`{"x": ["finish_reason", "y"], "top_p" : 1}`:      `{"x": ["finish_reason", "y"], "topP" : 1}`,
		`{"text": "ends with a backslash \\", "top_k":1}`: `{"text": "ends with a backslash \\", "topK":1}`,
		`{"broken`: `{"broken`,
		// what is below arguments, results and schemas is the user's
		`{"function_call": {"args" : {"top_p": {"top_k": "]}"}}, "thought_signature": ""}, "top_k": 1}`: `{"functionCall": {"args" : ` +
			`{"top_p": {"top_k": "]}"}}, "thoughtSignature": ""}, "topK": 1}`,
		`[{"response": [{"top_p": 1}]}, {"top_p": 2}]`:                  `[{"response": [{"top_p": 1}]}, {"topP": 2}]`,
		`{"args": "{", "top_p": 1, "response": null, "top_k": 2}`:       `{"args": "{", "topP": 1, "response": null, "topK": 2}`,
		`{"response_schema": {"properties": {"top_p": {}}}, "top_p":1}`: `{"responseSchema": {"properties": {"top_p": {}}}, "topP":1}`,
		`{"args": {"top_p": "unclosed, "top_k": {}`:                     `{"args": {"top_p": "unclosed, "top_k": {}`,
	} {
		expect.Same(t, in, string(CamelKeys([]byte(in))), want)
	}
}

func TestAppendStringIsThatOfEncodingJSON(t *testing.T) {
	t.Parallel()
	if got := string(AppendString(nil, "aaa\xff")); got != `"aaa\ufffd"` {
		t.Errorf("got %s, want U+FFFD for what is not UTF-8", got)
	}
	for c := range rune(0x3000) {
		sameString(t, "a"+string(c)+"z")
	}
	for b := range 256 {
		sameString(t, string([]byte{'a', byte(b), 'z'}))
		sameString(t, string([]byte{'a', 0xe2, 0x80, byte(b)}))
	}
	for _, s := range hostile.Strings() {
		sameString(t, s)
	}
}

// sameString holds that a text is written as encoding/json writes it.
func sameString(t *testing.T, s string) {
	t.Helper()
	want, err := Marshal(s)
	expect.OK(t, err)
	if got := string(AppendString(nil, s)); got != string(want) {
		t.Errorf("%q: got %s, want %s", s, got, want)
	}
}

type reply struct {
	Items []struct {
		Content struct {
			Parts []struct {
				Text *string `json:"text"`
			} `json:"parts"`
		} `json:"content"`
		Reason *string `json:"reason"`
		Index  int     `json:"index"`
	} `json:"items"`
	Usage *struct {
		Count json.Number `json:"count"`
	} `json:"usage"`
	Blocked bool   `json:"blocked"`
	Model   string `json:"model"`
}

// What is decoded, and what counts as JSON, is the same as for encoding/json. Texts of replies are damaged in a million
// ways, and a test takes some of them.
func TestDecodeIsThatOfEncodingJSON(t *testing.T) {
	t.Parallel()
	replies := []string{
		`{"items":[{"content":{"parts":[{"text":"The \ud83d\ude00 \u00e9 caf\n"}]},"reason":"STOP","index":0}],"usage":{"count":12},"model":"m"}`,
		`{"items": [ {"reason" : "SAFETY", "index":-1e2}],"blocked":true,"model":null}`,
		`{"items":[{"content":{"parts":[{"text":null},{"text":"\ud800"},{"text":"\udc00\ud800\u0041"}]}}],"items":[{"index":3}],"usage":null}`,
	}
	pieces := []string{
		`\ud800`, `\u0000`, `\`, `"`, `,`, `}`, `{`, `[`, `]`, `null`, `true`, `1e5`, `-`, `0`, `01`, `.5`, `1.`, "\n", "\x00", "\t", `\x`,
		`\u12`, ` `, "\xff", "é", `:`, `"text"`, `"index":1,`, `//`, `1e999`, `99999999999999999999`, ``,
	}
	r := rand.New(rand.NewPCG(1, 2)) // the same in every run
	decoded := 0
	for range 100_000 {
		text := replies[r.IntN(len(replies))]
		for range r.IntN(4) {
			at := r.IntN(len(text) + 1)
			rest := min(at+r.IntN(3), len(text))
			text = text[:at] + pieces[r.IntN(len(pieces))] + text[rest:]
		}
		data := []byte(text)
		expect.Same(t, text+": valid", Valid(data), json.Valid(data))
		var got, want reply
		if !utf8.Valid(data) || Decode(data, &got) != nil {
			continue
		}
		decoded++
		if err := json.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v, %v", text, got, want, err)
		}
	}
	if decoded < 10_000 {
		t.Errorf("got %d texts that were decoded, want at least 10,000", decoded)
	}
}

// Nesting is decoded as far as encoding/json does, and two megabytes of brackets are no more work than other text.
func TestDepthIsThatOfEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, form := range []struct {
		open, end string
		levels    int
	}{{"[", "]", 1}, {`{"a":`, "}", 1}, {`["]}\\\"[{",{"[":`, "}]", 2}} {
		for _, n := range []int{1, MaxDepth / form.levels, MaxDepth/form.levels + 1, 2_000_000 / len(form.open)} {
			text := []byte(strings.Repeat(form.open, n) + "1" + strings.Repeat(form.end, n))
			name := fmt.Sprint(n, " times ", form.open)
			expect.Same(t, name, Valid(text), json.Valid(text))
			expect.Same(t, name, Decode(text, new(json.RawMessage)) == nil, json.Valid(text))
			expect.Same(t, name, Deeper(text, n*form.levels-1), true)
			expect.Same(t, name, Deeper(text, n*form.levels), false)
		}
	}
	err := Decode([]byte(strings.Repeat("[", 2_000_000)), new(any))
	expect.Same(t, "the error", fmt.Sprint(err), "nested deeper than 10000 levels")
	for _, text := range []string{"", `"`, `"[`, `\[`, "]]][", `{"a":"\`} {
		expect.Same(t, text, Deeper([]byte(text), 1), false)
	}
}

// FuzzSplit holds that objects, lists and texts are taken apart as encoding/json does it.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, ` { "a" : [ 1 , {"b":"]}"} , null ] , "a\u0062" : true , "" : -1.5e+3 } `, `[[],{},"",0,[[1]]]`,
		`"\ud800"`, `"é\n\"\\"`, `{"a":1,"a":{"x":"\\"}}`, "\t[\r\n1\n,\t2 ]", `{"a":"\\\\","b":"\\\""}`,
	} {
		f.Add([]byte(s))
	}
	for _, s := range hostile.Strings() {
		f.Add(append(AppendString([]byte(`{"x":`), s), '}'))
		f.Add(append(append(AppendString([]byte(`{`), s), `:[0,`...), append(AppendString(nil, s), `]}`...)...))
		f.Add(AppendString(nil, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var members map[string]json.RawMessage
		var items []json.RawMessage
		var text string
		switch first := firstByte(data); {
		case !json.Valid(data):
		case first == '{' && json.Unmarshal(data, &members) == nil:
			got := map[string]json.RawMessage{}
			for name, value := range Members(data) {
				got[string(name)] = value
			}
			if !maps.EqualFunc(got, members, equal) {
				t.Errorf("%s: got members %s, want %s", data, got, members)
			}
		case first == '[' && json.Unmarshal(data, &items) == nil:
			if got := slices.Collect(Items(data)); !slices.EqualFunc(got, items, equal) {
				t.Errorf("%s: got items %s, want %s", data, got, items)
			}
		case first == '"' && json.Unmarshal(data, &text) == nil:
			if got, ok := Text(data); got != text || !ok {
				t.Errorf("%s: got text %q, want %q", data, got, text)
			}
		}
	})
}

func equal(a, b json.RawMessage) bool { return string(a) == string(b) }

func firstByte(data []byte) byte {
	for _, c := range data {
		if c > ' ' {
			return c
		}
	}
	return 0
}

// FuzzCamelKeys holds that known keys of a JSON text get their other spelling, all else stays, and doing it twice is
// doing it once.
func FuzzCamelKeys(f *testing.F) {
	for _, s := range []string{
		`{"finish_reason":"a","x":["top_p"],"top_p" : {"top_k":1}}`,
		`{"text":"\"finish_reason\": 1","a\\":"\\","mime_type":0}`,
		`{"a":"finish_reason"  ,"b":"\\\"top_p\":1"}`,
		`{"function_call":{"args":{"top_p":{"args":[1,"]"]}}},"response_schema":{"top_k":0},"top_k":0}`,
	} {
		f.Add([]byte(s))
	}
	for _, s := range hostile.Strings() {
		f.Add(AppendString([]byte(`{"top_p":`), s))
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := CamelKeys(bytes.Clone(data))
		expect.Same(t, "twice", string(CamelKeys(bytes.Clone(out))), string(out))
		if !json.Valid(data) {
			return
		}
		// One token after the other, so that keys that come twice do not matter.
		in, got := json.NewDecoder(bytes.NewReader(data)), json.NewDecoder(bytes.NewReader(out))
		for {
			a, err1 := in.Token()
			b, err2 := got.Token()
			if (err1 == nil) != (err2 == nil) {
				t.Fatalf("%s: %v, %v, want errors of both or of neither", out, err1, err2)
			}
			if err1 != nil {
				return
			}
			if key, ok := a.(string); ok && a != b && b == snakeNames[key] {
				continue
			}
			if a != b {
				t.Fatalf("%v became %v: want the same in %s", a, b, out)
			}
		}
	})
}
