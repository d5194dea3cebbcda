// Command house prints the budgets of the code next to what it is today. It judges nothing: whoever goes over a budget says why.
//
//	house BINARY
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: house BINARY")
		os.Exit(2)
	}
	if err := house(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func house(binary string) error {
	all, err := list()
	if err != nil {
		return err
	}
	exported, err := exportedNames(all)
	if err != nil {
		return err
	}
	tree, err := files()
	if err != nil {
		return err
	}
	program, err := commands(binary)
	if err != nil {
		return err
	}
	of, err := output("sh", "test/walk.sh")
	if err != nil {
		return err
	}
	edges := 0
	for _, p := range all {
		edges += len(p.Imports)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	row := func(what string, today, budget int) { fmt.Fprintf(w, "%s\t%d\t%d\n", what, today, budget) }
	fmt.Fprintln(w, "\ttoday\tbudget")
	row("packages", len(all), 50)
	row("public packages", len(slices.DeleteFunc(slices.Clone(all), func(p *pkg) bool { return !p.public() })), 12)
	row("folders at the root", len(tree.folders), 18)
	row("imports between packages", edges, 260)
	row("depth of imports", depth(all), 12)
	row("packages of one case", len(strings.Fields(of)), 25)
	row("exported names", exported, 1000)
	row("lines of Go without tests", tree.code, 105_000)
	row("lines of tests", tree.tests, 65_000)
	row("words of docs", tree.words, 50_000)
	row("commands", program.commands, 33)
	row("flags of run", program.flags, 72)
	row("keys of suites", program.keys, 576)
	row("lines of run --help", program.help, 50)
	return w.Flush()
}

const module = "github.com/evalrun/evalrun"

// pkg is a package of the program, as go list describes it.
type pkg struct {
	ImportPath, Dir string
	GoFiles         []string
	Imports         []string // those of the program
}

// public reports whether other programs can import a package.
func (p *pkg) public() bool {
	return !strings.Contains(p.ImportPath, "/internal/") && !strings.Contains(p.ImportPath, "/cmd/")
}

// aside holds what is not part of the program.
var aside = regexp.MustCompile(`^(test|e2e|tools|examples|internal/testing|docs)/`)

// list returns the packages of the program, those imported before those that import them.
func list() ([]*pkg, error) {
	out, err := output("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	if err != nil {
		return nil, err
	}
	var all []*pkg
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		p := &pkg{}
		if err := d.Decode(p); err != nil {
			return nil, err
		}
		if ours(p.ImportPath) {
			p.Imports = slices.DeleteFunc(p.Imports, func(path string) bool { return !ours(path) })
			all = append(all, p)
		}
	}
	return all, nil
}

func ours(path string) bool {
	return strings.HasPrefix(path+"/", module+"/") && !aside.MatchString(strings.TrimPrefix(path+"/", module+"/"))
}

// depth is the number of packages on the longest way from the top of the program to its bottom.
func depth(all []*pkg) (deepest int) {
	of := map[string]int{}
	for _, p := range all {
		for _, imported := range p.Imports {
			of[p.ImportPath] = max(of[p.ImportPath], of[imported])
		}
		of[p.ImportPath]++
		deepest = max(deepest, of[p.ImportPath])
	}
	return deepest
}

// exportedNames counts constants, variables, functions and types, without methods and fields.
func exportedNames(all []*pkg) (n int, err error) {
	set := token.NewFileSet()
	for _, p := range all {
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return 0, err
			}
			for _, d := range file.Decls {
				n += len(slices.DeleteFunc(declared(d), func(id *ast.Ident) bool { return !id.IsExported() }))
			}
		}
	}
	return n, nil
}

// declared are the names that a declaration adds to its package.
func declared(d ast.Decl) (names []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}

// sizes are those of the files in the repository.
type sizes struct {
	folders            []string
	code, tests, words int
}

// files measures what git knows of: lines of the packages that list returns, not of tools, of skills or of the module fleet.
func files() (s sizes, err error) {
	names, err := output("git", "ls-files")
	if err != nil {
		return s, err
	}
	for name := range strings.Lines(names) {
		if err := s.add(strings.TrimSuffix(name, "\n")); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *sizes) add(name string) error {
	folder, _, below := strings.Cut(name, "/")
	if below && !strings.HasPrefix(folder, ".") && folder != "skills" && !slices.Contains(s.folders, folder) {
		s.folders = append(s.folders, folder)
	}
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil // removed and not committed
	}
	lines := bytes.Count(text, []byte("\n"))
	switch {
	case folder == "docs" && strings.HasSuffix(name, ".md"):
		s.words += len(bytes.Fields(text))
	case !strings.HasSuffix(name, ".go") || folder == "fleet" || aside.MatchString(name):
	case strings.HasSuffix(name, "_test.go"):
		s.tests += lines
	default:
		s.code += lines
	}
	return err
}

// surface is what a user meets.
type surface struct{ commands, flags, keys, help int }

var (
	command = regexp.MustCompile(`(?m)^  [a-z][a-z-]* {2,}\S`)
	flag    = regexp.MustCompile(`(?m)^ +(?:-\w, )?--[a-z]`)
)

func commands(binary string) (s surface, err error) {
	var texts []string
	for _, args := range []string{"--help", "run --help", "run --help=all", "schema"} {
		text, err := output(binary, strings.Fields(args)...)
		if err != nil {
			return s, err
		}
		texts = append(texts, text)
	}
	s.commands = len(command.FindAllString(texts[0], -1))
	s.help = strings.Count(texts[1], "\n")
	s.flags = len(flag.FindAllString(texts[2], -1))
	var schema any
	if err := json.Unmarshal([]byte(texts[3]), &schema); err != nil {
		return s, err
	}
	s.keys = keys(schema)
	return s, nil
}

// keys counts the properties of a JSON Schema, those that several rules of a mapping have once.
func keys(schema any) (n int) {
	switch v := schema.(type) {
	case map[string]any:
		names := map[string]any{}
		properties, _ := v["properties"].(map[string]any)
		maps.Copy(names, properties)
		rules, _ := v["allOf"].([]any)
		for _, rule := range rules {
			then, _ := rule.(map[string]any)["then"].(map[string]any)
			properties, _ := then["properties"].(map[string]any)
			maps.Copy(names, properties)
		}
		n = len(names)
		for key, below := range v {
			if key != "allOf" {
				n += keys(below)
			}
		}
	case []any:
		for _, below := range v {
			n += keys(below)
		}
	}
	return n
}

// output runs a program and returns what it prints.
func output(name string, args ...string) (string, error) {
	var complaint bytes.Buffer
	cmd := exec.Command(name, args...) //nolint:gosec // the program to measure, and tools
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, cmp.Or(strings.TrimSpace(complaint.String()), "no output"))
	}
	return string(out), nil
}
