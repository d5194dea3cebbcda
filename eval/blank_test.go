package eval

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

var nothing = map[string]string{
	"empty":                    "",
	"white space of ASCII":     " \t\r\n\v\f",
	"other white space":        "\u0085\u00a0\u1680\u2000\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
	"zero width":               "\u200b\u200c\u200d\u2060\ufeff",
	"soft hyphen":              "\u00ad",
	"Mongolian separator":      "\u180e",
	"combining joiner":         "\u034f",
	"writing direction":        "\u200e\u200f\u061c\u202a\u202e\u2066\u2069",
	"invisible operators":      "\u2061\u2062\u2063\u2064",
	"fillers of Hangul":        "\u115f\u1160\u3164\uffa0",
	"blank of Braille":         "\u2800",
	"variation selectors":      "\ufe00\ufe0f\U000e0100",
	"tags":                     "\U000e0001\U000e0041\U000e007f",
	"control characters":       "\x00\x01\x1b\x7f\u0080\u009f",
	"no characters":            "\uffff\ufdd0\U0001ffff",
	"Khmer inherent vowels":    "\u17b4\u17b5",
	"musical format":           "\U0001d173\U0001d17a",
	"unassigned and ignorable": "\u2065\U000e0fff",
}

func TestTextsThatShowNothingAreBlank(t *testing.T) {
	t.Parallel()
	for name, text := range nothing {
		if !IsBlank(text) {
			t.Errorf("%s: %+q shows something, want it blank", name, text)
		}
		for _, visible := range []string{"a", ".", "\u0301", "\u0600", "\ufffd", "😀", "한", "\xff", "\ue000", "\ufffc"} {
			if got := text + visible + text; IsBlank(got) {
				t.Errorf("%s: %+q is blank, want it to show %q", name, got, visible)
			}
		}
	}
}

func TestVisibleKeepsWhatShows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   "",
		"plain text\n":       "plain text\n",
		"4\u200b2":           "42",
		"re\u00adfuse":       "refuse",
		"\ufeffa\u00a0b\x00": "a\u00a0b",
		"\u3164a":            "\u3164a", // it has a width
	} {
		expect.Same(t, fmt.Sprintf("Visible(%+q)", text), Visible(text), want)
	}
}

// TestNothingShownIsTaken holds for all of Unicode that what is graphic and no space is visible, but for what Unicode itself ignores.
func TestNothingShownIsTaken(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune + 1) {
		ignored := unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800'
		if graphic := unicode.IsGraphic(r) && !unicode.IsSpace(r) && !ignored; graphic && !shows(r) {
			t.Errorf("%U is hidden, want it visible", r)
		}
		if Hidden(r) && unicode.IsSpace(r) {
			t.Errorf("%U is hidden, want it to be white space", r)
		}
	}
}

// FuzzVisible holds that a text is blank exactly when what is left of it is white space.
func FuzzVisible(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if IsBlank(text) != (strings.TrimFunc(Visible(text), space) == "") || Visible(Visible(text)) != Visible(text) {
			t.Errorf("%+q: blank %v, visible %+q, want blank where nothing is visible", text, IsBlank(text), Visible(text))
		}
	})
}
