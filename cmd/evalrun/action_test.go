package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/forgetest"
)

// ciRunner runs the steps of actions as a job of GitHub does: each script in its own shell, with what earlier ones left in its
// environment. Of the actions that others wrote it knows what they are for: files are kept and fetched in a folder.
type ciRunner struct {
	t     *testing.T
	dir   string // the checkout
	temp  string
	env   map[string]string
	known map[string]string // values of expressions
	kept  map[string]string // folder by the name of what was uploaded
	out   string            // of the last job
}

func newCIRunner(t *testing.T, forge *forgetest.FakeForge) *ciRunner {
	t.Helper()
	r := &ciRunner{t: t, dir: t.TempDir(), temp: t.TempDir(), kept: map[string]string{}}
	r.known = map[string]string{
		"github.base_ref": "main",
		"contains(github.event.pull_request.labels.*.name, 'accept-suite-changes') && '--accept-suite-changes' || ''": "",
		"github.token": "token", "github.action_ref": "v0.2.0", "github.repository": "o/r", "github.server_url": "https://forge.example",
		"github.run_id": "77", "runner.temp": r.temp, "github.event_name": "pull_request",
		"github.event.pull_request.head.repo.full_name": "o/r", "github.event.pull_request.url": "https://forge.example/5",
	}
	r.env = map[string]string{
		"GORACE": os.Getenv("GORACE"), // or each program of the steps sleeps for a second before it exits
		"HOME":   t.TempDir(), "PATH": os.Getenv("PATH"), "RUNNER_TEMP": r.temp, "GITHUB_REPOSITORY": "o/r", "GITHUB_REF": "refs/pull/5/merge",
		"GITHUB_API_URL": forge.URL, "EVALRUN_RELEASES": releases(t), "GOCACHE": goEnv(t, "GOCACHE"), "GOMODCACHE": goEnv(t, "GOMODCACHE"),
	}
	r.event(`{"pull_request":{"number":5,"head":{"repo":{"full_name":"o/r"}}}}`)
	return r
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	expect.OK(t, err)
	return strings.TrimSpace(string(out))
}

func (r *ciRunner) event(text string) {
	r.env["GITHUB_EVENT_PATH"] = r.write(filepath.Join(r.temp, "event.json"), text)
}

func (r *ciRunner) write(path, text string) string {
	r.t.Helper()
	expect.OK(r.t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
	return path
}

// archive is a release: its program starts the one of these tests, which is too large to be packed, sent and unpacked for each job.
var archive = sync.OnceValues(func() (data []byte, err error) {
	path, err := built()
	if err != nil {
		return nil, err
	}
	program := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", path)
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	files := tar.NewWriter(packed)
	err = files.WriteHeader(&tar.Header{Name: "evalrun-x/evalrun", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = io.WriteString(files, program)
	}
	err = errors.Join(err, files.Close(), packed.Close())
	return out.Bytes(), err
})

// releases is a server with the release v0.2.0, which is the program of these tests, and v6.6.6, whose archive was replaced.
func releases(t *testing.T) string {
	t.Helper()
	archive, err := archive()
	expect.OK(t, err)
	name := fmt.Sprintf("evalrun-%s-%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/v0.2.0/" + name:
			_, _ = w.Write(archive)
		case "/v6.6.6/" + name:
			_, _ = w.Write(archive)
			_, _ = io.WriteString(w, "more")
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// checksum is the digest of the archive of v0.2.0.
func checksum(t *testing.T) string {
	t.Helper()
	archive, err := archive()
	expect.OK(t, err)
	return fmt.Sprintf("%x", sha256.Sum256(archive))
}

// withChecksum adds the checksum of the archive to inputs, which saves a build.
func withChecksum(t *testing.T, with map[string]string) map[string]string {
	t.Helper()
	all := map[string]string{"checksum": checksum(t)}
	maps.Copy(all, with)
	return all
}

type step struct {
	ID, If, Uses, Run, Shell string
	With, Env                map[string]string
}

// uses runs an action of this repository, and reports whether all its steps succeeded.
func (r *ciRunner) uses(folder string, with map[string]string) bool {
	r.t.Helper()
	folder, err := filepath.Abs(folder)
	expect.OK(r.t, err)
	data, err := os.ReadFile(filepath.Join(folder, "action.yml"))
	expect.OK(r.t, err)
	var action struct {
		Inputs map[string]struct {
			Required bool
			Default  string
		}
		Runs struct{ Steps []step }
	}
	expect.OK(r.t, yaml.Unmarshal(data, &action))
	for name, input := range action.Inputs {
		value, given := with[name]
		if !given && input.Required {
			r.t.Fatalf("%s: the input %s is missing, want it given because it is required", folder, name)
		}
		if !given {
			value = input.Default
		}
		r.known["inputs."+name] = r.value(value)
	}
	for name := range with {
		if _, declared := action.Inputs[name]; !declared {
			r.t.Fatalf("%s: there is no input %s, want only inputs that the action declares", folder, name)
		}
	}
	r.known["github.action_path"], r.env["GITHUB_ACTION_PATH"] = folder, folder
	return r.job(action.Runs.Steps)
}

// job runs steps; after a failed step, it runs only the steps that always run.
func (r *ciRunner) job(steps []step) bool {
	r.t.Helper()
	ok := true
	r.out = ""
	for i := range steps {
		s := &steps[i]
		if s.If != "" && !r.holds(s.If) || !ok && !strings.HasPrefix(s.If, "always()") {
			continue
		}
		if s.Uses != "" {
			ok = r.other(s) && ok
		} else {
			ok = r.script(s) && ok
		}
	}
	return ok
}

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// value replaces the expressions in a text.
func (r *ciRunner) value(text string) string {
	return expression.ReplaceAllStringFunc(text, func(one string) string {
		inner := expression.FindStringSubmatch(one)[1]
		if strings.Contains(inner, "==") {
			return fmt.Sprint(r.holds(inner))
		}
		return r.lookUp(inner)
	})
}

// whereFile is an expression that is one text when a file exists, and else another one.
var whereFile = regexp.MustCompile(`^hashFiles\('(\S+)'\) != '' && '(.*)' \|\| '(.*)'$`)

func (r *ciRunner) lookUp(name string) string {
	if m := whereFile.FindStringSubmatch(name); m != nil {
		if _, err := os.Stat(filepath.Join(r.dir, m[1])); err == nil {
			return m[2]
		}
		return m[3]
	}
	value, known := r.known[name]
	if !known && !strings.HasPrefix(name, "steps.") && !strings.HasPrefix(name, "github.event.") {
		r.t.Fatalf("no value for the expression %s, want one", name)
	}
	return value
}

// holds evaluates a condition of terms joined by &&, each a comparison with a text or another value.
func (r *ciRunner) holds(condition string) bool {
	for term := range strings.SplitSeq(condition, "&&") {
		term = strings.TrimSpace(term)
		if term == "always()" {
			continue
		}
		left, right, equal := strings.Cut(term, " == ")
		if !equal {
			left, right, _ = strings.Cut(term, " != ")
		}
		if text, is := strings.CutPrefix(right, "'"); is {
			right = strings.TrimSuffix(text, "'")
		} else {
			right = r.lookUp(right)
		}
		if (r.lookUp(left) == right) != equal {
			return false
		}
	}
	return true
}

func (r *ciRunner) script(s *step) bool {
	r.t.Helper()
	at := func(name string) string { return filepath.Join(r.temp, "github-"+name) }
	for _, name := range []string{"output", "path"} {
		r.write(at(name), "")
	}
	cmd := exec.Command("bash", "-e", "-c", s.Run)
	cmd.Dir = r.dir
	for name, value := range r.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+r.value(value))
	}
	cmd.Env = append(cmd.Env, "GITHUB_OUTPUT="+at("output"), "GITHUB_PATH="+at("path"), "GITHUB_STEP_SUMMARY="+at("summary"))
	out, err := cmd.CombinedOutput()
	r.out += string(out)
	for line := range strings.Lines(readText(r.t, r.temp, "github-output")) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		r.known["steps."+s.ID+".outputs."+name] = value
	}
	for line := range strings.Lines(readText(r.t, r.temp, "github-path")) {
		r.env["PATH"] = strings.TrimSpace(line) + ":" + r.env["PATH"]
	}
	return err == nil
}

// other replaces an action that others wrote.
func (r *ciRunner) other(s *step) bool {
	r.t.Helper()
	name, _, _ := strings.Cut(s.Uses, "@")
	switch name {
	case "actions/checkout", "actions/setup-go", "actions/cache/restore", "actions/cache/save", "actions/deploy-pages",
		"actions/upload-pages-artifact":
	case "actions/upload-artifact":
		r.kept[r.value(s.With["name"])] = strings.Fields(r.value(s.With["path"]))[0]
		r.known["steps."+s.ID+".outputs.artifact-url"] = "https://forge.example/artifact/" + r.value(s.With["name"])
	case "actions/download-artifact":
		from := r.kept[r.value(s.With["name"])]
		if from == "" {
			r.out += "no artifact " + r.value(s.With["name"])
			return false
		}
		expect.OK(r.t, os.CopyFS(r.value(s.With["path"]), os.DirFS(from)))
	default:
		r.t.Fatalf("unknown action %s, want one that the runner has", s.Uses)
	}
	return true
}

// says wants words in what the last job printed.
func (r *ciRunner) says(words ...string) {
	r.t.Helper()
	for _, w := range words {
		if !strings.Contains(r.out, w) {
			r.t.Errorf("got\n%.4000s\nwant it to contain %q", r.out, w)
		}
	}
}
