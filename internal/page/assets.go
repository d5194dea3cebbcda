package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"strings"
	"sync"
)

//go:embed html
var files embed.FS

var markup = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "html/page.html")) })

// scripts make up the program, in this order. The first one says where data comes from.
var scripts = []string{
	"blocks", "unpack", "data", "dom", "diff", "plots", "charts", "spread", "scores", "tradeoff", "versus", "against", "judges", "summary",
	"classes", "comparison", "ranking", "query", "compile", "field", "cases", "sheet", "cells", "matrix",
	"copy", "inline", "markdown", "json", "reading", "keys", "request", "answer", "chat", "case", "side", "main",
}

// Style returns the CSS of the page.
func Style() string { return asset("app.css") + asset("matrix.css") + asset("read.css") }

// Program returns the program of the page for a server, as one closure. load defines the function load,
// which returns the content of a block. more is appended.
func Program(load string, more ...string) string {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n" + load)
	for _, name := range scripts[1:] {
		b.WriteString(asset(name + ".js"))
	}
	b.WriteString(strings.Join(more, "") + "})();\n")
	return b.String()
}

// program returns the program of the page that is a file.
func program() string { return Program(asset(scripts[0]+".js"), "start();\n") }

func asset(name string) string {
	data, err := files.ReadFile("html/" + name)
	if err != nil { // the assets are embedded in the program
		panic(err)
	}
	return string(data)
}

// policy allows the style and the program by their hashes, images in the page, and nothing else.
func policy() string {
	return "default-src 'none'; img-src data:; style-src " + hashOf(Style()) + "; script-src " + hashOf(program()) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
