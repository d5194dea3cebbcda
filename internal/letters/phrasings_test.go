package letters

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// phrasing is an answer and what is to be read in it.
type phrasing struct {
	text, want, kind, language string
	line                       int
}

// phrasings reads a file with sections "## LANGUAGE KIND WANT".
func phrasings(t testing.TB, path string) (out []phrasing) {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	var now phrasing
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "## "):
			if _, err := fmt.Sscanf(line, "## %s %s %s", &now.language, &now.kind, &now.want); err != nil {
				t.Fatalf("%s:%d: %v", path, i+1, err)
			}
		case line != "" && !strings.HasPrefix(line, "# "):
			now.text, now.line = strings.ReplaceAll(line, `\n`, "\n"), i+1
			out = append(out, now)
		}
	}
	return out
}

func TestChoiceDev(t *testing.T) {
	file := os.Getenv("F")
	if file == "" {
		file = "development"
	}
	plain, read, adv, falsePass, missed := 0, 0, 0, 0, 0
	for _, p := range phrasings(t, "testdata/"+file+".txt") {
		marks, _ := marksOf(plainText(p.text), []string{"A", "B", "C", "D"})
		ss := ""
		for _, s := range sentencesOf(marks) {
			ss += " | " + s.normal().classes()
		}
		labels, how := Named(p.text, []string{"A", "B", "C", "D"})
		got := "-"
		if how != "" {
			got = strings.Join(labels, "")
		}
		show := func(what string) {
			if os.Getenv("QUIET") == "" {
				fmt.Printf("%s %s:%d %q want %s got %s   %s\n", what, p.language, p.line, p.text, p.want, got, ss)
			}
		}
		if p.kind == "plain" {
			plain++
			if got == p.want {
				read++
			} else {
				show("PLAIN")
			}
			continue
		}
		adv++
		if len(labels) == 1 && got != p.want {
			falsePass++
			show("FALSE")
		} else if got != p.want && p.want != "-" {
			missed++
			show("missed")
		}
	}
	fmt.Println("plain", read, "/", plain, " adversarial", adv, "false", falsePass, "missed", missed)
}
