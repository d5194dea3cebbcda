package letters

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDbg(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range phrasings(t, "testdata/development.txt") {
		if p.kind != "plain" || p.language != "en" || len(p.text) > 60 || strings.Contains(p.text, "\n") {
			continue
		}
		for _, ins := range strings.Split(os.Getenv("INS"), "|") {
			ws := strings.Fields(p.text)
			for i := 0; i <= len(ws); i++ {
				q := strings.Join(append(append(append([]string{}, ws[:i]...), ins), ws[i:]...), " ")
				l, how := Named(q, []string{"A", "B", "C", "D"})
				if how != "" && len(l) == 1 && l[0] == p.want {
					marks, _ := marksOf(plainText(q), []string{"A", "B", "C", "D"})
					ss := ""
					for _, s := range sentencesOf(marks) {
						ss += " | " + s.normal().classes()
					}
					if !seen[ss] {
						seen[ss] = true
						fmt.Println(q, " => ", l, ss)
					}
				}
			}
		}
	}
}
