package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/clients/emulator"
)

// recipe is what the tests want of a workflow of GitHub.
type recipe struct {
	On          yaml.Node
	Permissions map[string]string
	Jobs        map[string]struct {
		Steps []struct {
			Uses, Run string
			With      map[string]string
		}
	}
}

// TestRecipes runs the commands of the recipes for continuous integration against the emulator, one recipe after the other, and wants
// the files that they keep.
func TestRecipes(t *testing.T) {
	recipes, err := filepath.Abs("../../examples/ci")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(emulator.New(emulator.Options{}))
	defer server.Close()
	env := map[string]string{"EVALRUN_API_KEY": "none", "EVALRUN_BASE_URL": server.URL}
	t.Chdir(t.TempDir())
	suite := "version: 1\nname: s\ntargets: [{name: pro, model: svc-pro}]\nprompts: [{name: p, text: \"Say {{.word}}\"}]\ncases:\n"
	for i := range 60 {
		suite += fmt.Sprintf("  - {name: c%d, vars: {word: w%d}, scorers: [{contains: w%d}]}\n", i, i, i)
	}
	if err := os.MkdirAll("evals", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("evals/suite.yaml", []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	ciCommand(t, env, "evalrun run evals/suite.yaml --record evals/answers -q")
	for _, name := range []string{"nightly", "nightly", "pull-request", "untrusted"} { // the first makes the baseline of the others
		text, err := os.ReadFile(filepath.Join(recipes, "github", name+".yml"))
		if err != nil {
			t.Fatal(err)
		}
		kept := workflow(t, env, name, text)
		keeps(t, name, kept)
		if name == "nightly" {
			if err := os.Rename("main.jsonl", "evals/main.jsonl"); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(recipes, "gitlab-ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	pipeline(t, env, text)
}

// workflow runs the commands of a workflow of GitHub, and gives the files that it keeps.
func workflow(t *testing.T, env map[string]string, name string, text []byte) (kept []string) {
	t.Helper()
	var r recipe
	if err := yaml.Unmarshal(text, &r); err != nil {
		t.Fatal(name, err)
	}
	if name == "untrusted" {
		if strings.Contains(string(text), "secrets.") || len(r.Permissions) != 1 || r.Permissions["contents"] != "read" {
			t.Errorf("%s gives more than a stranger may have", name)
		}
		for _, n := range r.On.Content {
			if n.Value == "pull_request_target" {
				t.Errorf("%s runs where secrets are", name)
			}
		}
		env = nil
	}
	for _, job := range r.Jobs {
		for _, step := range job.Steps {
			if step.Uses != "" && !regexp.MustCompile(`^actions/[a-z/-]+@v\d+$`).MatchString(step.Uses) {
				t.Errorf("%s uses %s", name, step.Uses)
			}
			if strings.HasPrefix(step.Uses, "actions/upload-artifact@") {
				kept = append(kept, strings.Fields(step.With["path"])...)
			}
			script(t, env, step.Run)
		}
	}
	return kept
}

// pipeline runs the jobs of a pipeline of GitLab, each in the place that the one before has left but for its run.
func pipeline(t *testing.T, env map[string]string, text []byte) {
	t.Helper()
	var jobs map[string]yaml.Node
	if err := yaml.Unmarshal(text, &jobs); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for name, node := range jobs {
		if node.Kind != yaml.MappingNode || strings.HasPrefix(name, ".") {
			continue
		}
		var j, base struct {
			Script       []string
			BeforeScript []string `yaml:"before_script"`
			AfterScript  []string `yaml:"after_script"`
			Artifacts    struct{ Paths []string }
			Extends      string
		}
		parent := jobs[".evalrun"]
		if err := parent.Decode(&base); err != nil {
			t.Fatal(err)
		}
		if err := node.Decode(&j); err != nil {
			t.Fatal(err)
		}
		jobEnv := env
		if name == "fork" {
			jobEnv = nil
		}
		for _, command := range slices.Concat(base.BeforeScript, j.Script, j.AfterScript) {
			script(t, jobEnv, command)
		}
		if len(j.Artifacts.Paths) == 0 {
			j.Artifacts.Paths = base.Artifacts.Paths
		}
		keeps(t, "gitlab "+name, j.Artifacts.Paths)
		ran++
	}
	if ran != 3 {
		t.Errorf("%d jobs", ran)
	}
}

// script runs those commands of a script that are evalrun's; of the others it knows what they are.
func script(t *testing.T, env map[string]string, text string) {
	t.Helper()
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, " # ")
		line = withBaseline(t, line)
		switch word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "":
		case "evalrun":
			ciCommand(t, env, line)
		case "go", "cat", "gh":
		default:
			t.Errorf("not a command of the recipes: %s", line)
		}
	}
}

// optional are the words by which a recipe gives flags when a file is there: those of GitHub, and those of a shell.
var optional = regexp.MustCompile(
	`\$\{\{ hashFiles\('(\S+)'\) != '' && '(.*?)' \|\| '' \}\}|\$\(test ! -f (\S+) \|\| echo (.*?)\)`,
)

// withBaseline gives a command the flags that it has when a file is there.
func withBaseline(t *testing.T, line string) string {
	t.Helper()
	return optional.ReplaceAllStringFunc(line, func(text string) string {
		m := optional.FindStringSubmatch(text)
		if _, err := os.Stat(m[1] + m[3]); err != nil {
			return ""
		}
		if flags := m[2] + m[4]; strings.HasPrefix(flags, "--baseline "+m[1]+m[3]+" --margin ") {
			return flags
		}
		t.Errorf("not the flags of a baseline: %s", text)
		return ""
	})
}

// ciCommand runs a command that must succeed.
func ciCommand(t *testing.T, env map[string]string, line string) {
	t.Helper()
	var out bytes.Buffer
	a := &app{
		out: &out, err: &out, getenv: func(name string) string { return env[name] },
		signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
	}
	if code := a.main(context.Background(), strings.Fields(line)[1:]); code != 0 {
		t.Errorf("$ %s: exit %d\n%s", line, code, out.String())
	}
}

// keeps wants files, and makes room for another run.
func keeps(t *testing.T, name string, files []string) {
	t.Helper()
	if !slices.Contains(files, "run") {
		t.Errorf("%s does not keep its run: %v", name, files)
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if file != "main.jsonl" {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}
