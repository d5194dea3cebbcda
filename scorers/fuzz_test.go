package scorers

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzQuote holds that a text in a reason is one line of printable characters, of bounded length, and that its quotes
// and escapes can be undone.
func FuzzQuote(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s)
		f.Add(strings.Repeat(s, 5))
	}
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	f.Fuzz(func(t *testing.T, text string) {
		got := quote(text)
		if len(got) > 6*maxQuoted+5 || !utf8.ValidString(got) || strings.ContainsFunc(got, hidden) {
			t.Errorf("%q, want at most %d visible characters", got, maxQuoted)
		}
		if back, err := strconv.Unquote(visible(text)); err != nil || back != string([]rune(text)) {
			t.Errorf("%s: got %q, want %q: %v", visible(text), back, text, err)
		}
		checkCut(t, text)
	})
}

// checkCut holds that a text is cut between characters, and only when it is long.
func checkCut(t *testing.T, text string) {
	t.Helper()
	cut := cutText(text)
	if len(text) <= maxQuoted && cut != text || len(cut) > maxQuoted+3 {
		t.Errorf("%q: got %q, want it whole, or at most its beginning", text, cut)
	}
	if utf8.ValidString(text) && !utf8.ValidString(cut) {
		t.Errorf("got %q, want it cut between characters", cut)
	}
}

// Whatever a program writes is a finding with a value in [0,1], a doubt, or an error.
func FuzzReadFinding(f *testing.F) {
	for _, seed := range []string{
		"true", " 0.5\r\n", `{"score":1,"passed":false,"reason":"x"}`, `{"score":null}`, `{"passed":true}`, `{"score":{}}`,
		`{"score":1e-400}`, "[1]", "nul", `{"SCORE":2}`, "{}{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		got, err := readFinding(out)
		if err != nil {
			return
		}
		if !(got.value >= 0 && got.value <= 1) || got.state == brokeUp || len(got.Reason) > maxReason+3 ||
			!utf8.ValidString(got.Reason) {
			t.Errorf("%q: %+v, want a value from 0 to 1 with a short reason", out, got)
		}
	})
}
