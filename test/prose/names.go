package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// listedInNames are the words of the list that fit into a name, and some that only names have.
var listedInNames = regexp.MustCompile(`\b(?:` + strings.Join([]string{
	"told", "tells?", "asks", "asked", "nobody", "whoever", "whose", "stands", "beside", "mistakes?", "strangers?", "anew", "kase",
	"goes on", "go on", "went on",
}, "|") + `)\b`)

var (
	endOfWord    = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	endOfAcronym = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// wordsOf takes a name apart: maxJSONReason is "max json reason".
func wordsOf(name string) string {
	name = endOfAcronym.ReplaceAllString(endOfWord.ReplaceAllString(name, "$1 $2"), "$1 $2")
	return strings.ToLower(strings.ReplaceAll(name, "_", " "))
}

// names returns the names that a file of Go declares, each as a sentence: of packages, types, functions, fields,
// parameters and variables.
func names(file string, text []byte) ([]proseSentence, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []proseSentence
	ast.Inspect(parsed, func(node ast.Node) bool {
		for _, name := range declared(node) {
			split := wordsOf(name.Name)
			out = append(out, proseSentence{
				file: file, line: set.Position(name.Pos()).Line, text: name.Name, words: words(split),
				listed: listedInNames.FindAllString(split, -1),
			})
		}
		return true
	})
	return out, nil
}

// declared are the names that a node declares by itself, without the nodes inside.
func declared(node ast.Node) []*ast.Ident {
	switch n := node.(type) {
	case *ast.File:
		return []*ast.Ident{n.Name}
	case *ast.ImportSpec:
		if n.Name != nil {
			return []*ast.Ident{n.Name}
		}
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.Field:
		return n.Names
	case *ast.LabeledStmt:
		return []*ast.Ident{n.Label}
	case *ast.AssignStmt:
		return defined(n.Tok, n.Lhs...)
	case *ast.RangeStmt:
		return defined(n.Tok, n.Key, n.Value)
	}
	return nil
}

// defined are the names on the left of `:=`.
func defined(tok token.Token, left ...ast.Expr) (out []*ast.Ident) {
	if tok != token.DEFINE {
		return nil
	}
	for _, expr := range left {
		if name, ok := expr.(*ast.Ident); ok {
			out = append(out, name)
		}
	}
	return out
}
