package emulator

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Each thing that can go wrong, with the key and the value that a script has for it.
var faultsAlone = []struct{ key, value string }{
	{"status", "500"},
	{"hang", "true"},
	{"cut", "true"},
	{"endless", "5ms"},
	{"malformed", "html"},
}

// The problems of a script with one fault, each with its place and hint.
func problemsOfFault(fault string) (string, *Script) {
	var diags diag.List
	s := LoadScript("s.yaml", []byte("rules:\n  - faults:\n      - "+fault+"\n"), &diags)
	out := ""
	for _, d := range diags.Sorted() {
		out += fmt.Sprintf("%d:%d %s (%s)", d.Pos.Line, d.Pos.Col, d.Message, d.Hint)
	}
	return out, s
}

func TestTwoKindsInOneFaultAreRefused(t *testing.T) {
	t.Parallel()
	for i, first := range faultsAlone {
		for j, second := range faultsAlone {
			if i == j {
				continue
			}
			fault := fmt.Sprintf("{%s: %s, %s: %s}", first.key, first.value, second.key, second.value)
			got, _ := problemsOfFault(fault)
			want := fmt.Sprintf("3:%d a fault is one thing, found `%s` and `%s` (keep one of them, or make two faults of them)",
				9+len("{"+first.key+": "+first.value+", "), first.key, second.key)
			expect.Same(t, fault, got, want)
		}
	}
}

func TestAFaultIsOneKindAndWhenItComes(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]faultKind{
		"{status: 429, retryAfter: 1s, message: busy, first: 1}":  errorStatus{429, 1e9},
		"{status: 500, rate: 0.5, hang: false, malformed: false}": errorStatus{status: 500},
		"{hang: true, first: 2, cut: false, endless: false}":      hanging{},
		"{cut: true, after: 2, first: 1}":                         cutOff{},
		"{endless: 5ms, after: 1}":                                endlessStream{5e6},
		"{endless: true}":                                         endlessStream{},
		"{malformed: error, message: no, after: 1}":               malformedAnswer{"error"},
		"{malformed: true}":                                       malformedAnswer{"json"},
	} {
		got, s := problemsOfFault(fault)
		expect.Same(t, "the problems of "+fault, got, "")
		if kind := s.rules[0].faults[0].kind; kind != want {
			t.Errorf("%s: got %#v, want %#v", fault, kind, want)
		}
	}
}

func TestFaultsAreRefusedAtTheirPlace(t *testing.T) {
	t.Parallel()
	const (
		twice = " (keep one of them, or make two faults of them)"
		none  = "3:9 a fault is one of status, hang, cut, endless and malformed ()"
	)
	for fault, want := range map[string]string{
		"{cut: true, hang: true, status: 500}": "3:21 a fault is one thing, found `cut` and `hang`" + twice +
			"3:33 a fault is one thing, found `cut` and `status`" + twice,
		"{hang: true, retryAfter: 2s}": "3:22 `retryAfter` is a header of answers with a status of errors (leave it out, or give a `status`)",
		"{}":                           none,
		"{first: 1}":                   none,
		"{hang: false}":                none,
		"{malformed: false}":           none,
		"{endless: false, cut: false}": none,
	} {
		got, _ := problemsOfFault(fault)
		expect.Same(t, fault, got, want)
	}
}
