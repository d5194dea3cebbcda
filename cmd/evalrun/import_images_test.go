package main

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/evalrun/evalrun/internal/promptfoo"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/reports"
)

// An import fetches images only with --fetch-images, once each, bounded, and from no private address that is not named.
func TestAnImportFetchesImagesWhenAsked(t *testing.T) {
	t.Parallel()
	const png = "\x89PNG\r\n\x1a\n"
	pixel, err := base64.StdEncoding.DecodeString(
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	expect.OK(t, err)
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		switch r.URL.Path {
		case "/pixel":
			_, _ = w.Write(pixel)
		case "/page":
			_, _ = w.Write([]byte("<html><body>no image"))
		case "/huge":
			_, _ = w.Write([]byte(png + strings.Repeat("x", 9<<20)))
		case "/elsewhere":
			http.Redirect(w, r, "http://localhost:1/pixel", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	expect.OK(t, err)
	b := newBox(t, nil, map[string]string{
		"promptfooconfig.yaml": "prompts: [file://p.json]\nproviders: [openai:gpt-4o]\ntests: [{assert: [{type: contains, value: x}]}]\n",
	})
	message := func(address string) string {
		return `{"type": "image_url", "image_url": {"url": "` + address + `", "detail": "low"}}`
	}
	imports := func(flags, suite, report string, addresses ...string) {
		t.Helper()
		expect.OK(t, os.RemoveAll(b.path("evalrun")))
		var parts []string
		for _, address := range addresses {
			parts = append(parts, message(address))
		}
		b.write("p.json", `[{"role": "user", "content": [{"type": "text", "text": "What is it?"}, `+strings.Join(parts, ", ")+`]}]`)
		b.exits(0, strings.Fields("import promptfoo "+flags)...)
		expect.Contains(t, "suite", b.read("evalrun/suite.yaml"), suite)
		expect.Contains(t, "report", b.read("evalrun/import-report.md"), report)
	}
	const kept, lost = "image: images/image-1.png", "- unscored: "
	mine := "--fetch-images=" + at.Hostname()
	imports("", kept, "", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(pixel))
	imports("", lost, "is not fetched: import with --fetch-images", server.URL+"/pixel")
	imports("--fetch-images", lost, "its host has a private address", server.URL+"/pixel")
	expect.Same(t, "requests without leave", calls.Load(), 0)
	imports(mine, kept, "", server.URL+"/pixel", server.URL+"/pixel")
	expect.Same(t, "requests", calls.Load(), 1)
	expect.Same(t, "image", b.read("evalrun/images/image-1.png"), string(pixel))
	b.exits(0, "validate", "evalrun/suite.yaml")
	imports(mine, lost, "it is text/html", server.URL+"/page")
	imports(mine, lost, "it has more than 8 MiB", server.URL+"/huge")
	imports(mine, lost, "the server answers 404", server.URL+"/gone")
	imports(mine, lost, "its host has a private address", server.URL+"/elsewhere")
	imports(mine, lost, "not an address of https or http", "ftp://example.com/x.png")
	imports(mine, lost, "an image that a variable chooses", "{{picture}}")
	imports("", lost, "illegal base64", "data:image/png;base64,%%%")
}

// An import suggests -o with formats that there are.
func TestOutputsOfPromptfooBecomeFormats(t *testing.T) {
	t.Parallel()
	for ending, format := range promptfoo.OutputFormats() {
		if !slices.Contains(reports.Names(), format) {
			t.Errorf("%q becomes -o %s, want one of %v", ending, format, reports.Names())
		}
	}
}
