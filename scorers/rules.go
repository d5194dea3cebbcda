package scorers

import (
	_ "embed" // the rules
	"strings"
	"sync"

	"github.com/evalrun/evalrun/internal/lazy"
)

//go:embed rules.txt
var rulesFile string

// language has the rules of one language by kind; rules.txt explains the kinds.
type refusalLanguage struct {
	name  string
	rules map[string]lazy.Regex
}

// find returns where a text matches a rule of a kind, nil if it does not.
func (l *refusalLanguage) find(kind, text string) []int {
	rule := l.rules[kind]
	if rule == "" {
		return nil
	}
	return rule.Regexp().FindStringIndex(text)
}

func (l *refusalLanguage) matches(kind, text string) bool { return l.find(kind, text) != nil }

// languages are in the order of rules.txt, in which refuses tries them.
var languages = sync.OnceValue(func() (out []*refusalLanguage) {
	for section := range strings.SplitSeq(rulesFile, "\n## ") {
		if strings.HasPrefix(section, "#") { // the explanation at the top of the file
			continue
		}
		name, text, _ := strings.Cut(section, "\n")
		out = append(out, &refusalLanguage{name, rulesOf(text)})
	}
	return out
})

// rulesOf reads a section: named parts of rules, and the alternatives of each kind.
func rulesOf(section string) map[string]lazy.Regex {
	parts, kinds := []string{}, map[string][]string{}
	for line := range strings.SplitSeq(section, "\n") {
		if name, part, ok := strings.Cut(line, " := "); ok {
			parts = append(parts, "{"+name+"}", strings.NewReplacer(parts...).Replace(part))
		} else if kind, rule, ok := strings.Cut(line, ": "); ok {
			kinds[kind] = append(kinds[kind], strings.NewReplacer(parts...).Replace(rule))
		}
	}
	rules := map[string]lazy.Regex{}
	for kind, alternatives := range kinds {
		rules[kind] = lazy.Regex(withoutAccents(`(?:` + strings.Join(alternatives, `|`) + `)`))
	}
	return rules
}
