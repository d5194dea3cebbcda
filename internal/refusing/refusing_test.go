package refusing

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

type phrasing struct {
	text, language string
	refuses        bool
	line           int
}

func phrasings(t *testing.T, name string) (out []phrasing) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
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

func TestDev(t *testing.T) {
	file := os.Getenv("F")
	if file == "" {
		file = "development.txt"
	}
	type fig struct{ refusals, found, others, wrong int }
	figs := map[string]fig{}
	for _, p := range phrasings(t, file) {
		s, l := Statement(p.text)
		f := figs[p.language]
		if p.refuses {
			f.refusals++
			if s != "" {
				f.found++
			} else if os.Getenv("QUIET") == "" {
				fmt.Printf("MISSED %s:%d %s\n", p.language, p.line, p.text)
			}
		} else {
			f.others++
			if s != "" {
				f.wrong++
				if os.Getenv("QUIET") == "" {
					fmt.Printf("WRONG %s:%d %s [%s %s]\n", p.language, p.line, p.text, l, s)
				}
			}
		}
		figs[p.language] = f
	}
	fmt.Println(figs)
}
