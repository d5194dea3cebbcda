package scorers

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// maxNesting bounds the depth of structured answers.
const maxNesting = 500

// wordLetter reports a letter of a script that separates words from numbers by spaces.
func wordLetter(r rune) bool {
	return unicode.IsLetter(r) && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}

func pointer(path []string) string {
	if len(path) == 0 {
		return "(root)"
	}
	out := ""
	for _, s := range path {
		out += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
	}
	return visibleText(out)
}

// compiled compiles a pattern when it is first used, because a run uses few kinds.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
