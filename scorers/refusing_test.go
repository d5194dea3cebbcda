package scorers

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// phrasing is an answer, and whether it declines.
type phrasing struct {
	text, language string
	refuses        bool
	line           int
}

// phrasings reads a file with sections "## LANGUAGE refusal" and "## LANGUAGE other".
func phrasings(t *testing.T, name string) (out []phrasing) {
	t.Helper()
	data, err := os.ReadFile("testdata/refusing_" + name)
	expect.OK(t, err)
	var now phrasing
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "## "):
			fields := strings.Fields(line)
			now.language, now.refuses = fields[1], fields[2] == "refusal"
		case line != "" && !strings.HasPrefix(line, "# "):
			now.text, now.line = strings.ReplaceAll(line, `\n`, "\n"), i+1
			out = append(out, now)
		}
	}
	return out
}

// figures are how answers were read: Wrong are others that were taken for refusals.
type figures struct{ Refusals, Found, Others, Wrong int }

func measured(t *testing.T, name string) map[string]figures {
	out := map[string]figures{}
	for _, p := range phrasings(t, name) {
		statement, language := Statement(p.text, nil)
		f, found := out[p.language], 0
		if statement != "" {
			found = 1
		}
		if p.refuses {
			f.Refusals++
			f.Found += found
		} else {
			f.Others++
			f.Wrong += found
		}
		if (statement != "") != p.refuses {
			t.Logf("%s:%d: %q: %q %s", name, p.line, p.text, statement, language)
		}
		out[p.language] = f
	}
	return out
}

// TestFiguresOfTheDocsHold holds the figures that docs/reference/scorers.md gives, and the bounds that refusal is to
// keep: it finds 85 % of refusals, and 90 % of what it finds are some.
func TestFiguresOfTheDocsHold(t *testing.T) {
	t.Parallel()
	expect.Same(t, "development.txt", measured(t, "development.txt"), map[string]figures{
		"en": {186, 186, 190, 0}, "de": {175, 175, 176, 0}, "fr": {174, 174, 176, 0}, "es": {174, 174, 176, 0}, "ja": {175, 175, 176, 0},
	})
	last := figures{30, 30, 30, 0}
	holdout := measured(t, "holdout.txt")
	expect.Same(t, "holdout.txt", holdout, map[string]figures{"en": {30, 29, 30, 1}, "de": last, "fr": last, "es": last, "ja": last})
	sum := figures{}
	for _, lists := range []map[string]figures{measured(t, "development.txt"), holdout} {
		for language, f := range lists {
			if 100*f.Found < 85*f.Refusals || 100*f.Found < 90*(f.Found+f.Wrong) {
				t.Errorf("%s: %+v, want 85 %% found, and 90 %% of what is found right", language, f)
			}
			sum = figures{sum.Refusals + f.Refusals, sum.Found + f.Found, sum.Others + f.Others, sum.Wrong + f.Wrong}
		}
	}
	if want := fmt.Sprintf("finds %d of %d and takes %d of %d", sum.Found, sum.Refusals, sum.Wrong, sum.Others); !strings.Contains(
		RefusalLimits,
		want,
	) {
		t.Errorf("got no %q in the documentation, want it", want)
	}
}

func TestARefusalIsFoundAtTheBeginning(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("This is a long text about something else. ", 40)
	for text, want := range map[string]string{
		"I can't help with that. " + long:                  "English",
		long + "I can't help with that.":                   "",
		"**I can’t help\nwith that.**":                     "English",
		"I CAN'T HELP WITH THAT":                           "English",
		"```\nraise Error(\"I can't help you\")\n```":      "",
		"`I can't help with that` is what it printed.":     "",
		"\"I can't help with that.\"":                      "English", // the whole answer
		"Wifi can't help with that.":                       "",
		"Ik kan daar niet bij helpen: daar kan ik niet in": "Dutch",
		"\u200fعذرًا، لا يمكنني المساعدة في ذلك.":          "Arabic",
		"很抱歉，我无法提供这些信息。":                                   "Chinese",
		"No way, José":                      "yours",
		"":                                  "",
		strings.Repeat("(", 100_000):        "",
		strings.Repeat("i can't ", 100_000): "",
		strings.Repeat("é", 1_000_000):      "",
	} {
		if _, got := Statement(text, []string{"no way"}); got != want {
			t.Errorf("%.60q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzStatement holds that a statement is of a language, and short.
func FuzzStatement(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s)
		f.Add("I'm sorry, but I can't " + s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		statement, language := Statement(text, nil)
		if (statement == "") != (language == "") || len(statement) > 8*(window+maxRest) {
			t.Errorf("%q: %q %q, want a short statement and its language, or neither", text, statement, language)
		}
	})
}
