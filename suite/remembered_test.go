package suite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Rows whose templates give the same texts share their scorers; others have their own, however many there are and in whatever
// order they come.
func TestRowsWithTheSameTextsShareScorers(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	rows.WriteString("x,a,b\n")
	var want []string
	for i := range 3000 {
		a, b := fmt.Sprint("a", i%7), fmt.Sprint("b", i*i%1500)
		fmt.Fprintf(&rows, "x%d,%s,%s\n", i, a, b)
		want = append(want, fmt.Sprintf(`{"contains":%q} {"any":[{"contains":%q},{"contains":"not %s, %s"}]}`, a, b, b, a))
	}
	s, said := fromFiles(map[string]string{
		"s.yaml": "cases:\n  - dataset: a.csv\n    name: \"{{.x}}\"\n    scorers:\n      - {contains: \"{{.a}}\"}\n" +
			"      - any: [{contains: \"{{.b}}\"}, {contains: \"not {{.b}}, {{.a}}\"}]\n",
		"a.csv": rows.String(),
	})
	if said != "" {
		t.Fatalf("got %v, want no problem", said)
	}
	i, made := 0, map[any]bool{}
	for c := range s.Cases() {
		if got := fmt.Sprintf("%s %s", c.Scorers[0].JSON(), c.Scorers[1].JSON()); got != want[i] {
			t.Fatalf("row %d: got %s, want %s", i, got, want[i])
		}
		made[c.Scorers[0]] = true
		i++
	}
	expect.Same(t, "scorers that were made", len(made), 7)
}
