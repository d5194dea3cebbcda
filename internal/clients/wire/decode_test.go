package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func TestDecodeSaysWhyAnAnswerIsNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data string
		kind eval.ErrorKind
		says string
	}{
		"nothing":     {"", eval.KindMalformed, "the answer is empty"},
		"white space": {" \r\n", eval.KindMalformed, "the answer is empty"},
		"a page": {
			"<html>\n  <body>", eval.KindMalformed, "the answer is a page and not JSON (a login, a proxy, or a wrong `baseUrl`): <html> <body>",
		},
		"no UTF-8":                  {"{\"a\":\"\xff\"}", eval.KindMalformed, "not UTF-8"},
		"something behind":          {`{} {}`, eval.KindMalformed, "not JSON"},
		"another type of a member":  {`{"count":[1]}`, eval.KindMalformed, "`count` in the answer has an unexpected shape (a array)"},
		"another type":              {`[1]`, eval.KindMalformed, "an unexpected shape"},
		"nesting":                   {strings.Repeat("[", 201) + strings.Repeat("]", 201), eval.KindMalformed, "nests deeper than 200 levels"},
		"many values":               {"[" + strings.Repeat("1,", maxValues+1) + "1]", eval.KindTooLarge, "has more than 500000 values"},
		"a text of many commas":     {`{"text":"` + strings.Repeat(",", maxValues+1) + `"}`, "", ""},
		"a text of many brackets":   {`{"text":"` + strings.Repeat("[", 300) + `"}`, "", ""},
		"an escaped quote":          {`{"text":"\"` + strings.Repeat("[", 300) + `"}`, "", ""},
		"nesting that is deep, not": {`{"text":"x","other":` + strings.Repeat("[", 199) + strings.Repeat("]", 199) + "}", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v struct {
				Text  string
				Count int `json:"count"`
			}
			err := Decode([]byte(test.data), &v)
			var e *eval.Error
			switch {
			case test.kind == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case test.kind != "" && (!errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(e.Message, test.says)):
				t.Errorf("got %v, want kind %s and %q", err, test.kind, test.says)
			}
		})
	}
}

func TestAnAnswerCutAnywhereIsTruncated(t *testing.T) {
	t.Parallel()
	const data = `{"a":[1.5e3,true,"x\u00e9\"]}"],"b":{"c":null},"d":"日本"}`
	for i := 1; i < len(data); i++ {
		if i == strings.Index(data, "日")+1 || i == strings.Index(data, "日")+2 || i == strings.Index(data, "本")+1 ||
			i == strings.Index(data, "本")+2 {
			continue // inside a character it is no UTF-8
		}
		var v any
		var e *eval.Error
		if err := Decode([]byte(data[:i]), &v); !errors.As(err, &e) || e.Kind != eval.KindTruncated {
			t.Errorf("cut at byte %d: got %v, want an error of kind %s", i, err, eval.KindTruncated)
		}
	}
}

func TestNumbersSentAsTextsAreRead(t *testing.T) {
	t.Parallel()
	type values struct {
		N LenientInt
		R Real
		W Word
	}
	for name, test := range map[string]struct {
		data string
		want values
		ok   bool
	}{
		"numbers":             {`{"N":15,"R":0.5,"W":15}`, values{15, 0.5, "15"}, true},
		"texts":               {`{"N":"15","R":"0.5","W":"15"}`, values{15, 0.5, "15"}, true},
		"a fraction of zero":  {`{"N":15.0}`, values{N: 15}, true},
		"null":                {`{"N":null}`, values{}, true},
		"an empty text":       {`{"N":""}`, values{}, true},
		"an escaped text":     {`{"W":"a\u00e9\n"}`, values{W: "aé\n"}, true},
		"a fraction":          {`{"N":1.5}`, values{}, false},
		"a number of no end":  {`{"N":1e300}`, values{}, false},
		"no number":           {`{"R":"x"}`, values{}, false},
		"not a number":        {`{"R":"NaN"}`, values{}, false},
		"infinite":            {`{"R":"Inf"}`, values{}, false},
		"a list for a word":   {`{"W":[1]}`, values{}, false},
		"an object, a number": {`{"N":{}}`, values{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got values
			err := json.Unmarshal([]byte(test.data), &got)
			if (err == nil) != test.ok {
				t.Fatalf("%s: %v, want valid %t", test.data, err, test.ok)
			}
			if diff := cmp.Diff(test.want, got); test.ok && diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.data, diff)
			}
		})
	}
}

// What is not known stays as it came.
func TestFieldsKeepWhatIsNotTaken(t *testing.T) {
	t.Parallel()
	var f Fields
	if err := json.Unmarshal([]byte(`{"text":"x","count":null,"wrong":[1],"new":{"b":1.0,"a":2}}`), &f); err != nil {
		t.Fatal(err)
	}
	text, count, wrong := "", 7, ""
	errs := []error{f.Take("text", &text), f.Take("count", &count), f.Take("absent", &count), f.Take("wrong", &wrong)}
	var shape *ShapeError
	if errs[0] != nil || errs[1] != nil || errs[2] != nil || !errors.As(errs[3], &shape) {
		t.Fatalf("%v, want an error of the shape in the fourth alone", errs)
	}
	expect.Same(t, "taken", []any{text, count, *shape}, []any{"x", 7, ShapeError{"wrong", "an array"}})
	expect.Same(t, "left", f, Fields{"new": json.RawMessage(`{"b":1.0,"a":2}`)})
}

func TestBareErrorsAreRecognized(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		`{"code":500,"message":"oh"}`:                                         true,
		`{"status":"INTERNAL","message":"oh"}`:                                true,
		`{"code":500,"message":""}`:                                           false,
		`{"code":500}`:                                                        false,
		`{"message":"hello"}`:                                                 false,
		`{"code":500,"message":"oh","candidates":[]}`:                         false,
		`{"code":500,"message":{"text":"oh"}}`:                                false,
		`{"code":1113,"msg":"oh"}`:                                            true,
		`{"error_code":110,"error_msg":"oh"}`:                                 true,
		`{"success":false,"errors":[{"code":1}]}`:                             true,
		`{"success":true,"errors":[]}`:                                        false,
		`{"detail":"oh"}`:                                                     true,
		`{"detail":"oh","id":"1"}`:                                            false,
		`{"candidates":null,"choices":null,"base_resp":{"status_code":1004}}`: true,
		`{"candidates":null,"choices":[1],"base_resp":{"status_code":1004}}`:  false,
		`{"candidates":null,"choices":null,"base_resp":{"status_code":1000}}`: true,
		`{"candidates":null,"choices":null,"base_resp":{"status_code":4711}}`: false,
		`{"base_resp":{"status_code":0}}`:                                     false,
	} {
		var f Fields
		expect.OK(t, json.Unmarshal([]byte(data), &f))
		expect.Same(t, data, f.isBareError("candidates"), want)
	}
}

// FuzzDecodeAny checks that a value is what encoding/json makes of it, with numbers as they are written, and that what is no JSON is an
// error.
func FuzzDecodeAny(f *testing.F) {
	for _, s := range hostile.Strings() {
		quoted := wirejson.AppendString(nil, s)
		f.Add([]byte(s))
		f.Add(quoted)
		f.Add([]byte("{" + string(quoted) + ": [" + string(quoted) + ", {}]}"))
	}
	for _, s := range []string{
		`{"a": 1, "a": 2}`, `[1.50, -0, 1e400, 12345678901234567890]`, `[true, false, null, [], {}]`, " \t\r\n1 \n", `"\u00e9\ud83d\ude00\ud83d"`,
		`[1,]`, `{"a"}`, `01`, `1 2`, `"a`, `{"a":{"b":[{"c":"\\\""}]}}`, "\"\xff\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := DecodeAny(data)
		var want any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		wrong := dec.Decode(&want)
		if fine := json.Valid(data) && Decodable(data) == nil; fine != (err == nil) {
			t.Fatalf("%q: got %v, want it to be read: %t (%v)", data, err, fine, wrong)
		}
		if err == nil {
			expect.Same(t, string(data), got, want)
		}
	})
}
