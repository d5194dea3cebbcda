package eval_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzJSON holds the writer without reflection to encoding/json: its output distinguishes cases.
func FuzzJSON(f *testing.F) {
	for _, s := range append(hostile.Strings(), "", "plain", `"\`, "<a>&", "\x7f\u2028") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "a" || s == "b" {
			return // the key would come twice
		}
		v := eval.Dict{s: s, "b": eval.Array{s, eval.Dict{}, eval.Array(nil)}, "a": eval.Dict(nil)}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]any{s: s, "b": []any{s, map[string]any{}, nil}, "a": nil}); err != nil {
			t.Fatal(err)
		}
		if got := eval.JSON(v) + "\n"; got != want.String() {
			t.Errorf("got %s, want %s", got, want.String())
		}
	})
}

// FuzzParse holds that a value comes out as it went in, and that its form for the ids of cases has texts alone.
func FuzzParse(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s, 1.5)
	}
	f.Fuzz(func(t *testing.T, s string, n float64) {
		in, err := json.Marshal([]any{s, n, true, nil, map[string]any{s: n}})
		if err != nil { // NaN
			return
		}
		v, err := eval.ParseValue(in)
		expect.OK(t, err)
		var got, want any
		expect.OK(t, errors.Join(json.Unmarshal([]byte(eval.JSON(v)), &got), json.Unmarshal(in, &want)))
		expect.Same(t, "the value", got, want)
		var texts []any
		expect.OK(t, json.Unmarshal([]byte(eval.Texts(v)), &texts))
		for _, item := range texts[:4] {
			if _, ok := item.(string); !ok {
				t.Errorf("%v is %T in %s, want a text", item, item, eval.Texts(v))
			}
		}
	})
}

// The form by which cases are known is what it was when all scalars were texts and keys were sorted.
func TestTextsOfCasesStayTheSame(t *testing.T) {
	t.Parallel()
	v, err := eval.ParseValue([]byte(`{"b": 1.10, "a": [true, null, "x", {"d": 1, "c": false}], "e": {}}`))
	expect.OK(t, err)
	expect.Same(t, "the texts", eval.Texts(v), `{"a":["true","","x",{"c":"false","d":"1"}],"b":"1.10","e":{}}`)
	expect.Same(t, "the JSON", eval.JSON(v), `{"b":1.10,"a":[true,null,"x",{"d":1,"c":false}],"e":{}}`)
	expect.Same(t, "of YAML", eval.Texts(eval.Array{eval.Boolean("True"), eval.Null("~")}), `["True","~"]`)
	expect.Same(t, "as JSON", eval.JSON(eval.Array{eval.Boolean("True"), eval.Null("~")}), `[true,null]`)
}

func TestParseReportsWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\xff": "the text is not UTF-8", "{": "this is not JSON", "": "this is not JSON",
		`{"a":1,"a":2}`: `the key "a" appears twice in an object`,
	} {
		_, err := eval.ParseValue([]byte(in))
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", in, err, want)
		}
	}
	if _, err := eval.ParseDict([]byte("[1]")); !errors.Is(err, eval.ErrObject) {
		t.Errorf("a list as variables: got %v, want %v", err, eval.ErrObject)
	}
}

// A whole number that neither int nor float64 holds stays a text: rounded, it would equal another one.
func TestPlainNumbersAreNeverRounded(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]any{
		"1.10": 1.1, "1e5": 1e5, "-0": 0, "9007199254740993": 9007199254740993,
		"9223372036854775808":  9223372036854775808.0,
		"-9223372036854775808": -9223372036854775808, "9223372036854775809": "9223372036854775809",
		"-12345678901234567890": "-12345678901234567890", "100000000000000000000": 1e20, "1e400": "1e400",
		"12345678901234567890.0": 12345678901234567890.0,
	} {
		expect.Same(t, written, eval.Dict{"n": eval.Number(written)}.Plain()["n"], want)
	}
}
