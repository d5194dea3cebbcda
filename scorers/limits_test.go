//go:build unix

package scorers_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

var update = flag.Bool("update", false, "write the measured figures into limits.txt")

type limit struct {
	kinds   []string
	measure func(t *testing.T) string
}

// corpus reads pairs, one a line with an arrow between them, with escapes as in Go.
func corpus(t *testing.T, name string) (pairs [][2]string) {
	t.Helper()
	data, err := os.ReadFile("testdata/limits/" + name + ".txt")
	expect.OK(t, err)
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(line, `\"`, `"`), `"`, `\"`) + `"`)
		expect.OK(t, err)
		first, second, _ := strings.Cut(text, " => ")
		pairs = append(pairs, [2]string{first, second})
	}
	return pairs
}

func passes(t *testing.T, entry, text string) bool {
	t.Helper()
	return letter(score(t, entry, answer(text))) == "p"
}

func allLimits() []limit {
	return slices.Concat(textLimits(), formLimits(), overlapLimits(), modelLimits(), serviceLimits(), programLimits(), combinedLimits())
}

// TestLimitsAreWhatTheFileSays measures every kind and holds that limits.txt, which help and documentation show, says what came of it.
func TestLimitsAreWhatTheFileSays(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, one := range allLimits() {
		text := one.measure(t)
		for _, kind := range one.kinds {
			texts[kind] += text + "\n"
		}
	}
	var b strings.Builder
	for _, k := range scorers.Builtin() {
		fmt.Fprintf(&b, "## %s\n%s\n", k.Name, texts[k.Name])
		if !strings.ContainsAny(texts[k.Name], "0123456789") {
			t.Errorf("%s: got no measured figure, want one", k.Name)
		}
	}
	if *update {
		expect.OK(t, os.WriteFile("limits.txt", []byte(b.String()), 0o600))
		return
	}
	got, err := os.ReadFile("limits.txt")
	expect.OK(t, err)
	expect.Same(t, "limits.txt (make golden renews it)", string(got), b.String())
}
