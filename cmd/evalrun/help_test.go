package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/docs"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// named is how messages and pages name a page or a section.
var named = regexp.MustCompile("evalrun help ([a-z][a-z/-]*)(?:#([a-z0-9_-]+))?")

// Every page and section that a message of the program, or a page, names is there.
func TestNamedPagesExist(t *testing.T) {
	t.Parallel()
	root := (&app{}).root()
	n := 0
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		switch ext := filepath.Ext(file); {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".git") || entry.Name() == ".evalrun"):
			return filepath.SkipDir
		case entry.IsDir() || ext != ".go" && ext != ".md" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			n++
			expect.Same(t, file+": page that is missing", missing(root, m[1], m[2]), "")
		}
		return err
	})
	expect.OK(t, err)
	if n < 10 {
		t.Errorf("got %d pages that are named, want at least 10", n)
	}
}

// missing says why `evalrun help PAGE#SECTION` shows nothing; "" when it shows something.
func missing(root *cobra.Command, page, section string) string {
	p := docs.Find(page)
	target, _, err := root.Find([]string{page})
	switch isCommand := err == nil && target != root; {
	case p == nil && (!isCommand || section != ""):
		return page + ", which is not there"
	case section != "" && p.Section(section) == "":
		return fmt.Sprintf("%s#%s; the page has %v", page, section, p.Anchors())
	}
	return ""
}

// Every page fits a terminal of 60 columns, but for code and for words that are longer.
func TestPagesFitNarrowTerminals(t *testing.T) {
	t.Parallel()
	for _, p := range docs.Pages() {
		var out bytes.Buffer
		a := &app{out: &out, err: &out, outWidth: 60, getenv: func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] }}
		expect.Same(t, p.Name+": exit code", a.main(t.Context(), []string{"help", p.Name}), 0)
		for line := range strings.Lines(out.String()) {
			line = strings.TrimRight(line, "\n")
			if len([]rune(line)) > 60 && !strings.HasPrefix(line, "    ") && strings.Contains(strings.Trim(line, "- "), " ") {
				t.Errorf("%s: %d columns: %s, want at most 60", p.Name, len([]rune(line)), line)
			}
		}
	}
}

// The pages that a check-up names are there, too. They stand in its code without the command before them.
func TestDoctorPagesExist(t *testing.T) {
	t.Parallel()
	var pages [][]string
	for _, file := range []string{"", "_service", "_named"} {
		code, err := os.ReadFile("../../internal/session/doctor" + file + ".go")
		expect.OK(t, err)
		named := regexp.MustCompile(`(?s)d\.(?:problem|warning)\(.{1,600}?"([^",\n]*)",?\s*\)\n`).FindAllStringSubmatch(string(code), -1)
		pages = append(pages, named...)
	}
	for _, m := range pages {
		name, anchor, cut := strings.Cut(m[1], "#")
		if p := docs.Find(name); m[1] != "" && (p == nil || cut && p.Section(anchor) == "") {
			t.Errorf("got no page %s, want it as it is named", m[1])
		}
	}
	if len(pages) < 12 {
		t.Errorf("%d pages are named, want at least 12", len(pages))
	}
}

// otherWords were written before the search was.
const otherWords = `timeout: limits services
concurrency: running limits
budget: limits
variables: prompts
template: prompts expressions
api key: services vendors
openai: vendors
ollama: vendors
azure: vendors
baseline: compare baseline
pull request comment: github
html report: html-report
exit code: running
llm as judge: judges
embeddings: scorers-similarity services
conversation: live-chats prompts
shards: shards
latency: scorers-response http-targets
statistical significance: statistics verdicts
sample size: statistics verdicts
migrate from promptfoo: import-promptfoo
vscode autocomplete: editors
human labels: labels
python scorer: program-scorers
agent: programs applications
jsonl dataset: datasets
snapshot: snapshots scorers-text
oauth login: oauth
confusion matrix: classification
ab test: compare best choose`

// Words lead to a page that answers, among the first three: all of the first list, and nine of ten of the second.
func TestHelpFindsWhatPeopleSearchFor(t *testing.T) {
	t.Parallel()
	words, err := os.ReadFile("../../docs/testdata/words.txt") // each with the pages that answer; the site's search has them too
	expect.OK(t, err)
	for list, most := range map[string]int{strings.TrimSpace(string(words)): 0, otherWords: 3} {
		var missed []string
		for line := range strings.Lines(list) {
			words, pages, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if !leads(t, strings.Fields(words), strings.Fields(pages)) {
				missed = append(missed, words)
			}
		}
		if len(missed) > most {
			t.Errorf("%d words of %d lead elsewhere, want at most %d: %s", len(missed), strings.Count(list, "\n")+1, most, missed)
		}
	}
}

// listedPage is a page of a list, with its title, or the one whose section is shown.
var listedPage = regexp.MustCompile(
	"(?m)^    ([a-z-]+) +[A-Z].*$|`?evalrun help ([a-z-]+)`? shows the whole page|" +
		"`?evalrun ([a-z-]+) --help`? lists|Usage:\\n  evalrun ([a-z-]+)",
)

func leads(t *testing.T, words, pages []string) bool {
	t.Helper()
	out, err := newBox(t, nil, nil).command(append([]string{"help"}, words...)...).Output()
	expect.OK(t, err)
	for _, m := range listedPage.FindAllStringSubmatch(string(out), 3) {
		if slices.ContainsFunc(m[1:], func(name string) bool { return slices.Contains(pages, name) }) {
			return true
		}
	}
	page := docs.Find(words[0]) // whose text is shown
	return page != nil && slices.Contains(pages, page.Name) && strings.HasPrefix(string(out), page.Title)
}
