package scorers_test

import (
	"strings"
	"testing"
)

// Reasons name the character by which texts differ when only its Unicode form does.
func TestReasonsNameForms(t *testing.T) {
	t.Parallel()
	const composed, apart = "caf\u00e9", "cafe\u0301"
	said := "(equal after NFC normalization: \u00e9 is U+0065 U+0301 in the answer and U+00E9 in the expected text"
	nfc := said + "; `normalize: nfc` ignores it)"
	for _, test := range []struct{ entry, answer, want string }{
		{"- {equals: " + composed + ", normalize: none}", apart, nfc},
		{"- {equals: [tea, " + composed + "], normalize: none}", apart, nfc},
		{"- {contains: " + composed + ", normalize: none}", "A " + apart + ".", nfc},
		{"- {containsAll: [A, " + composed + "], normalize: none}", "A " + apart + ".", nfc},
		{"- {containsAny: [tea, " + composed + "], normalize: none}", "A " + apart + ".", nfc},
		{"- {startsWith: " + composed + ", normalize: none}", apart + " or tea", nfc},
		{"- {endsWith: " + composed + ", normalize: none}", "tea or " + apart, nfc},
		{"- {equals: " + composed + ", normalize: none, ignoreCase: true, trim: true}", " CAFE\u0301 ", said},
		{"- {equals: " + apart + ", normalize: none}", composed, "\u00e9 is U+00E9 in the answer and U+0065 U+0301 in the expected text"},
		{
			"- {equals: fine}", "\ufb01ne",
			"(equal after NFKC normalization: fi is U+FB01 in the answer and U+0066 U+0069 in the expected text; `normalize: nfkc` ignores it)",
		},
		{"- {equals: \ufb01ne}", "fine", "fi is U+0066 U+0069 in the answer and U+FB01 in the expected text"},
		{"- {equals: '10 km'}", "10\u00a0km", "is U+00A0 in the answer and U+0020 in the expected text"},
		{"- {equals: ABC}", "Ａ\uff22C", "A is U+FF21 in the answer and U+0041 in the expected text"},
		{"- {contains: km²}", "5 km2", "2 is U+0032 in the answer and U+00B2 in the expected text"},
		{"- exactMatch: " + composed, apart, said + ")"},
		{"- json: {equals: {a: " + composed + "}}", `{"a": "` + apart + `"}`, "(equal after NFC normalization: \u00e9 is"},
	} {
		s := score(t, test.entry, answer(test.answer))
		if s.Passed() || !strings.Contains(s.Reason, test.want) {
			t.Errorf("%s on %q:\n got %s\nwant %s", test.entry, test.answer, s.Reason, test.want)
		}
	}
	for _, test := range []struct{ entry, answer string }{
		{"- {equals: " + composed + ", normalize: none}", "cafe"},
		{"- {equals: " + composed + "}", "tea"},
		{"- {equals: ABC, normalize: nfkc}", "Ａ\uff22D"},
		{"- {contains: " + composed + ", normalize: none}", "cafe"},
		{"- json: {equals: {a: x}}", `{"a": "y"}`},
		{"- exactMatch: tea", apart},
		{"- {equals: x}", mega("é")},
		{"- {contains: x, normalize: none}", mega("\u0301")},
	} {
		if s := score(t, test.entry, answer(test.answer)); s.Passed() || strings.Contains(s.Reason, "normalization") {
			t.Errorf("%s on %.20q: %s, want no pass, and no word of normalization", test.entry, test.answer, s.Reason)
		}
	}
}
