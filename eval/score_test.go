package eval

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// A score of a file is read as what it says, and written as it was, even where it contradicts itself.
func TestScoresOfFilesAreKept(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]string{
		`"value":0.5,"passed":true,%s`:                  `0.5 true true "" eval.Graded`,
		`"value":0,"passed":false,%s`:                   `0 true false "" eval.Graded`,
		`"value":null,"passed":false,%s,"unscored":"x"`: `0 false false "x" eval.Unscored`,
		`"value":null,"passed":false,%s`:                `0 false false "" <nil>`, // as in an export
		`"value":null,"passed":true,%s`:                 `0 false true "" eval.writtenGrade`,
		`"value":null,"passed":true,%s,"unscored":"x"`:  `0 false true "x" eval.writtenGrade`,
		`"value":1,"passed":false,%s,"unscored":"x"`:    `1 true false "x" eval.writtenGrade`,
	} {
		text := `{"scorer":"s","name":"n",` + fmt.Sprintf(part, `"weight":2,"required":true,"reason":"<r>"`) + `}`
		var s Score
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Errorf("%s: %v, want no error", text, err)
		}
		value, ok := s.Value()
		expect.Same(t, "read of "+text, fmt.Sprintf("%v %t %t %q %T", value, ok, s.Passed(), s.Unscored(), s.Grade), want)
		line, err := wirejson.Append(nil, &s)
		expect.OK(t, err)
		expect.Same(t, "written", string(line), text)
	}
}

// An ending of a file is read as what it says, and written as it was, even where it contradicts itself or is of a later version.
func TestEndingsOfFilesAreKept(t *testing.T) {
	t.Parallel()
	const failure = `"error":{"kind":"timeout","message":"late"}`
	for part, want := range map[string]string{
		`"outcome":"pass"%s`:                                      `pass <nil> "" eval.Passed`,
		`"outcome":"fail"%s`:                                      `fail <nil> "" eval.Failed`,
		`"outcome":"error"%s,` + failure:                          `error late "" eval.Errored`,
		`"outcome":"error"%s`:                                     `error <nil> "" eval.Errored`,
		`"outcome":"skip"%s,"skipReason":"budget"`:                `skip <nil> "budget" eval.Skipped`,
		`"outcome":"skip"%s,"skipReason":"earlyStop"`:             `skip <nil> "earlyStop" eval.SkippedDecided`,
		`"outcome":"skip"%s,"skipReason":"race"`:                  `skip <nil> "race" eval.SkippedRuledOut`,
		`"outcome":"fail"%s,"skipReason":"race"`:                  `fail <nil> "race" eval.writtenEnding`,
		`"outcome":"skip"%s`:                                      `skip <nil> "" eval.Skipped`,
		`"outcome":""%s`:                                          ` <nil> "" <nil>`,
		`"outcome":""%s,` + failure:                               ` late "" eval.writtenEnding`,
		`"outcome":"pass"%s,` + failure:                           `pass late "" eval.writtenEnding`,
		`"outcome":"fail"%s,"skipReason":"budget"`:                `fail <nil> "budget" eval.writtenEnding`,
		`"outcome":"error"%s,` + failure + `,"skipReason":"both"`: `error late "both" eval.writtenEnding`,
		`"outcome":"paused"%s`:                                    `paused <nil> "" eval.writtenEnding`,
	} {
		blank, err := wirejson.Append(nil, &Result{})
		expect.OK(t, err)
		text := strings.Replace(string(blank), `"outcome":"","scores":null`, fmt.Sprintf(part, `,"scores":[]`), 1)
		var r Result
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Errorf("%s: %v, want no error", text, err)
		}
		expect.Same(t, "read of "+text, fmt.Sprintf("%s %v %q %T", r.Outcome(), r.Err(), r.SkipReason(), r.Ending), want)
		line, err := wirejson.Append(nil, &r)
		expect.OK(t, err)
		expect.Same(t, "written", string(line), text)
	}
}

func TestErrorsAreWithheldWhateverTheOutcome(t *testing.T) {
	t.Parallel()
	failure := &Error{Kind: KindStatus, Message: secretText}
	for _, ending := range []Ending{
		Errored{failure}, writtenEnding{outcome: Pass, err: failure}, writtenEnding{"paused", failure, "r"},
	} {
		r := Result{Ending: ending}
		r.Withhold()
		expect.Same(t, "outcome", r.Outcome(), ending.written().outcome)
		expect.Same(t, "reason of the skip", r.SkipReason(), ending.written().skipReason)
		expect.Same(t, "message", r.Err().Message, withoutContent)
		expect.Same(t, "message before", failure.Message, secretText)
	}
}

// Whatever way unknown fields come in, they are compact: a record of the run file is one line.
func TestExtraIsCompact(t *testing.T) {
	t.Parallel()
	const indented = "{\n  \"a\": [\n    1,\n    \"two words\\n\"\n  ],\n  \"b\": null\n}"
	const want = `{"a":[1,"two words\n"],"b":null}`
	var read Extra
	expect.OK(t, json.Unmarshal([]byte(indented), &read))
	var fields map[string]json.RawMessage
	expect.OK(t, json.Unmarshal([]byte(indented), &fields))
	var config GenerationConfig
	expect.OK(t, json.Unmarshal([]byte(indented), &config))
	for name, x := range map[string]Extra{"read": read, "made": NewExtra(fields), "config": config.Extra, "joined": NewExtra(nil).Join(read)} {
		line, err := wirejson.Append(nil, x)
		if err != nil || string(line) != want {
			t.Errorf("%s: got %s, %v; want %s", name, line, err, want)
		}
	}
	if x := NewExtra(map[string]json.RawMessage{}); x != nil {
		t.Errorf("no fields: got %v, want nil", x)
	}
}

func TestTextsOfADiffComeBack(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ want, got string }{
		{"Paris", "Lyon"}, {"", ""}, {"a\nb\n", "\na\nb"}, {"expected: x", "y\nactual:   z"}, {"actual:   x", "expected: y"},
	} {
		text := TextDiff(test.want, test.got)
		want, got, ok := CutTextDiff(text)
		expect.Same(t, text, []any{want, got, ok}, []any{test.want, test.got, true})
	}
	for _, text := range []string{"", "expected: a", "-a\n+b", "/x: expected: 1\nactual:   2", "actual:   a\nexpected: b"} {
		want, got, ok := CutTextDiff(text)
		expect.Same(t, text, []any{want, got, ok}, []any{"", "", false})
	}
}
