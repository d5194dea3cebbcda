package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/docs"
)

// named is how messages and pages name a page or a section.
var named = regexp.MustCompile("evalrun help ([a-z][a-z/-]*)(?:#([a-z0-9_-]+))?")

// Every page and section that a message of the program, or a page, names is there.
func TestNamedPagesExist(t *testing.T) {
	t.Parallel()
	root := (&app{}).root()
	n := 0
	look := func(file, text string) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			n++
			p := docs.Find(m[1])
			target, _, err := root.Find([]string{m[1]})
			switch isCommand := err == nil && target != root; {
			case p == nil && (!isCommand || m[2] != ""):
				t.Errorf("%s names the page %s, which is not there", file, m[1])
			case m[2] != "" && p.Section(m[2]) == "":
				t.Errorf("%s names %s#%s; the page has %v", file, m[1], m[2], p.Anchors())
			}
		}
	}
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
		look(file, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 10 {
		t.Errorf("%d pages are named", n)
	}
}

// The pages that a check-up names are there, too. They stand in its code without the command before them.
func TestDoctorPagesExist(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("../../internal/doctor/doctor.go")
	if err != nil {
		t.Fatal(err)
	}
	pages := regexp.MustCompile(`(?s)d\.(?:problem|warning)\(.{1,600}?"([^",\n]*)",?\s*\)\n`).FindAllStringSubmatch(string(code), -1)
	for _, m := range pages {
		name, anchor, cut := strings.Cut(m[1], "#")
		if p := docs.Find(name); m[1] != "" && (p == nil || cut && p.Section(anchor) == "") {
			t.Errorf("there is no page %s", m[1])
		}
	}
	if len(pages) < 12 {
		t.Errorf("%d pages are named", len(pages))
	}
}
