package suite_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// expanded is what a case is after its defaults.
type expanded struct {
	Tags      []string
	Repeats   int
	Cluster   string
	Threshold float64
	Scorers   []string
	Text      string
}

// defaultsOf are cases, and what the defaults make of them.
var defaultsOf = map[string]struct {
	entry string
	want  expanded
}{
	"nothing of its own": {"{name: c}", expanded{[]string{"d"}, 3, "dc", 0.5, []string{"contains n", "contains "}, "da db"}},
	"a variable":         {"{name: c, vars: {b: own}}", expanded{[]string{"d"}, 3, "dc", 0.5, []string{"contains n", "contains "}, "da own"}},
	"an empty variable":  {"{name: c, vars: {b: ''}}", expanded{[]string{"d"}, 3, "dc", 0.5, []string{"contains n", "contains "}, "da "}},
	"a scorer more": {
		"{name: c, scorers: [{equals: z}]}",
		expanded{[]string{"d"}, 3, "dc", 0.5, []string{"contains n", "contains ", "equals "}, "da db"},
	},
	"a scorer of the same name": {
		"{name: c, scorers: [{equals: z, name: n}]}",
		expanded{[]string{"d"}, 3, "dc", 0.5, []string{"contains ", "equals n"}, "da db"},
	},
	"its scorers alone": {
		"{name: c, inheritScorers: false, scorers: [{equals: z}]}",
		expanded{[]string{"d"}, 3, "dc", 0.5, []string{"equals "}, "da db"},
	},
	"single values": {
		"{name: c, repeats: 1, cluster: own, threshold: 0.25}",
		expanded{[]string{"d"}, 1, "own", 0.25, []string{"contains n", "contains "}, "da db"},
	},
	"tags of its own": {"{name: c, tags: [own]}", expanded{[]string{"own"}, 3, "dc", 0.5, []string{"contains n", "contains "}, "da db"}},
}

func TestCasesInheritOrReplaceDefaults(t *testing.T) {
	t.Parallel()
	for name, test := range defaultsOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(
				with(`prompts: [{name: p, text: "{{.a}} {{.b}}"}]`), "cases: [{name: c, scorers: [{contains: x}]}]",
				defaults+"cases: ["+test.entry+"]", 1,
			)
			s, said := loaded(text)
			if len(said) > 0 {
				t.Fatalf("got %v, want no problem", said)
			}
			for c := range s.Cases() {
				prompt, err := s.Render(c, c.Arms[0])
				expect.OK(t, err)
				got := expanded{c.Tags, c.Repeats, c.Cluster, *c.Threshold, nil, prompt.Contents[0].Parts[0].(eval.TextPart).Text}
				for _, sc := range c.Scorers {
					got.Scorers = append(got.Scorers, sc.Kind+" "+sc.Name)
				}
				expect.Same(t, test.entry, got, test.want)
			}
		})
	}
}
