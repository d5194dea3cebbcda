package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/docs"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// built is the website of this repository, by address.
func built(t *testing.T) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "site")
	expect.OK(t, build("../..", out))
	files := map[string]string{}
	err := filepath.WalkDir(out, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		rel, _ := filepath.Rel(out, file)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	expect.OK(t, err)
	return files
}

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	id        = regexp.MustCompile(`id="([^"]*)"`)
)

func TestLinksLeadToFilesAndHeadingsOfTheSite(t *testing.T) {
	t.Parallel()
	files, n := built(t), 0
	for file, text := range files {
		if !strings.HasSuffix(file, ".html") {
			continue
		}
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			to, err := url.Parse(m[1])
			expect.OK(t, err)
			if to.Host != "" {
				continue
			}
			n++
			target := file
			if to.Path != "" {
				target = path.Join(path.Dir(file), to.Path)
			}
			if _, ok := files[target]; !ok {
				t.Errorf("%s: got a link to %s, want a page that exists", file, m[1])
			}
			if to.Fragment != "" && !hasHeading(files[target], to.Fragment) {
				t.Errorf("%s: got a link to %s, want a heading that exists", file, m[1])
			}
		}
	}
	if n < 1000 {
		t.Errorf("got %d links, want at least 1000", n)
	}
}

func hasHeading(text, anchor string) bool {
	for _, m := range id.FindAllStringSubmatch(text, -1) {
		if m[1] == anchor {
			return true
		}
	}
	return false
}

// Pages work from files and without a network: styles, programs and pictures are the site's own.
func TestNothingIsLoadedFromElsewhere(t *testing.T) {
	t.Parallel()
	loads := regexp.MustCompile(`(?:src="|url\(|@import|<link[^>]*href=")([^")]*)`)
	for file, text := range built(t) {
		if ext := path.Ext(file); ext != ".html" && ext != ".css" {
			continue
		}
		for _, m := range loads.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "//") || strings.HasPrefix(m[1], "/") {
				t.Errorf("%s: got %s loaded, want only what is on the site", file, m[1])
			}
		}
		if path.Ext(file) == ".css" && !strings.Contains(text, "prefers-color-scheme: dark") {
			t.Errorf("%s: got no dark scheme, want one", file)
		}
	}
}

func TestSearchFindsEverySection(t *testing.T) {
	t.Parallel()
	files := built(t)
	_, text, ok := strings.Cut(strings.TrimSuffix(files["index.js"], ";\n"), "\nconst sections = ")
	if !ok {
		t.Fatalf("got an index that begins with %.40q, want its prefix", files["index.js"])
	}
	var index []section
	expect.OK(t, json.Unmarshal([]byte(text), &index))
	found := map[string]bool{}
	for _, s := range index {
		found[s.Address] = true
	}
	for _, p := range docs.Pages() {
		for i, anchor := range p.Anchors() {
			address := p.Part + "/" + p.Name + ".html"
			if i > 0 {
				address += "#" + anchor
			}
			if !found[address] {
				t.Errorf("got no %s by the search, want it", address)
			}
		}
	}
}

func TestALinkToNothingIsAnError(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	expect.OK(t, os.MkdirAll(filepath.Join(root, "docs", "how-to"), 0o755))
	expect.OK(t, os.WriteFile(filepath.Join(root, "docs", "README.md"), []byte("# Index\n\n[a](how-to/a.md)\n"), 0o600))
	expect.OK(t, os.WriteFile(filepath.Join(root, "docs", "how-to", "a.md"), []byte("# A\n\n[gone](gone.md)\n"), 0o600))
	err := build(root, filepath.Join(root, "site"))
	if err == nil || !strings.Contains(err.Error(), "docs/how-to/a.md") || !strings.Contains(err.Error(), "gone.md") {
		t.Errorf("got %v, want the page and the link", err)
	}
	if _, err := os.Stat(filepath.Join(root, "site")); err == nil {
		t.Error("a website with a broken link was written, want none")
	}
}
