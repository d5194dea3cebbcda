package arch

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

var (
	definition  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	goTest      = regexp.MustCompile("(cd fleet && )?[^\n`&]*(?:go|\\$\\(GO\\)) test [^\n`]*")
	selection   = regexp.MustCompile(`-run '?([^' ]+)`)
	alternative = regexp.MustCompile(`(\([^)]*\)|[^|])+`)
	packageArg  = regexp.MustCompile(` \./(\S+)`)
)

// A command of the Makefile or of a page for contributors that names tests finds each of them: go test passes when a
// pattern selects nothing.
func TestCommandsSelectTestsThatThereAre(t *testing.T) {
	t.Parallel()
	tests := testsByFolder(t)
	files, err := filepath.Glob("../../docs/contributing/*.md")
	expect.OK(t, err)
	commands := 0
	for _, file := range append(files, "../../Makefile", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(file)
		expect.OK(t, err)
		for _, command := range goTest.FindAllString(string(text), -1) {
			names := selection.FindStringSubmatch(strings.ReplaceAll(command, `\|`, "|"))
			folder := packageArg.FindStringSubmatch(command)
			if names == nil || folder == nil || strings.HasPrefix(names[1], "^$") {
				continue
			}
			commands++
			in := folder[1]
			if strings.HasPrefix(command, "cd fleet") {
				in = "fleet/" + in
			}
			for _, name := range alternative.FindAllString(names[1], -1) {
				pattern := regexp.MustCompile(strings.Split(name, "/")[0])
				if !slices.ContainsFunc(tests[in], pattern.MatchString) {
					t.Errorf("%s: %s: got no test of %s for %s, want one", file, command, in, name)
				}
			}
		}
	}
	if commands < 40 {
		t.Errorf("got %d commands that name tests, want those of reliability-scenarios.md at least", commands)
	}
}

// testsByFolder lists the tests of each folder of the repository, other modules included.
func testsByFolder(t *testing.T) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	expect.OK(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "../.." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		in, _ := filepath.Rel("../..", filepath.Dir(path))
		for _, m := range definition.FindAllStringSubmatch(string(text), -1) {
			tests[filepath.ToSlash(in)] = append(tests[filepath.ToSlash(in)], m[1])
		}
		return err
	}))
	if len(tests) < 60 {
		t.Fatalf("got tests in %v, want those of every package", slices.Sorted(maps.Keys(tests)))
	}
	return tests
}
