package promptfoo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	unicodeEscape = regexp.MustCompile(`\\\\|\\u\{([0-9A-Fa-f]{1,6})\}|` +
		`\\u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})`)
	jsGroup = regexp.MustCompile(`\(\?<([A-Za-z_]\w*)>`)
)

// toRE2 converts a JavaScript regular expression to RE2. ok is false for features that RE2 lacks, such as
// lookahead.
func toRE2(in string) (out, note string, ok bool) {
	out = convertEscapes(in)
	out = jsGroup.ReplaceAllString(out, "(?P<$1>")
	probe := strings.NewReplacer("{{", "", "}}", "").Replace(templateAction.ReplaceAllString(out, "x"))
	if _, err := regexp.Compile(probe); err != nil {
		return "", "", false
	}
	if strings.HasPrefix(in, "(?i)") || strings.HasPrefix(in, "(?s)") || strings.HasPrefix(in, "(?m)") ||
		strings.HasPrefix(in, "(?is)") {
		note = "JavaScript refuses flags inside the expression, so that promptfoo fails here whatever the answer"
	}
	return out, note, true
}

var templateAction = regexp.MustCompile(`\{\{.*?\}\}`)

// convertEscapes converts escapes that RE2 writes differently.
func convertEscapes(in string) string {
	in = unicodeEscape.ReplaceAllStringFunc(in, func(m string) string {
		p := unicodeEscape.FindStringSubmatch(m)
		switch {
		case m == `\\`:
			return m
		case p[1] != "":
			return `\x{` + p[1] + `}`
		case p[2] != "":
			hi, _ := strconv.ParseUint(p[2], 16, 32)
			lo, _ := strconv.ParseUint(p[3], 16, 32)
			return fmt.Sprintf(`\x{%x}`, 0x10000+(hi-0xd800)<<10+(lo-0xdc00))
		}
		return `\x{` + p[4] + `}`
	})
	return strings.NewReplacer(`\\`, `\\`, `[^]`, `[\s\S]`, `\/`, `/`).Replace(in)
}
