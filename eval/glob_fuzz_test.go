package eval

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzGlob holds that a glob matches what the regular expression with .* for each star does.
func FuzzGlob(f *testing.F) {
	for _, pair := range [][2]string{{"a*b*c", "aXbYc"}, {"*a*a", "aa"}, {"**", ""}, {"a*a", "a"}, {"*ab*ab", "ababab"}} {
		f.Add(pair[0], pair[1])
	}
	for _, s := range hostile.Strings() {
		f.Add(s, s)
		f.Add("*"+s+"*", "x"+s)
	}
	f.Fuzz(func(t *testing.T, glob, text string) {
		glob, text = strings.ToValidUTF8(glob, "?"), strings.ToValidUTF8(text, "?")
		want := regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, `.*`) + `$`).MatchString(text)
		expect.Same(t, fmt.Sprintf("%q on %q", glob, text), Pattern(glob).Match(text), want)
	})
}
