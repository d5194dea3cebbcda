package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// camelCase is the key of a project file that a flag has.
func camelCase(flag string) string {
	words := strings.Split(flag, "-")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// Every flag of run is a key of the project file, or one that is refused there with the reason; no other key is there.
func TestAProjectFileKnowsTheFlagsOfRun(t *testing.T) {
	t.Parallel()
	text, err := schemaText("project")
	expect.OK(t, err)
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	expect.OK(t, json.Unmarshal(text, &schema))
	keys := schema.Properties
	delete(keys, "suites")
	delete(keys, "services")
	delete(keys, "maxBlocked")    // suites and project files have it, and run has no flag for it
	delete(keys, "authScopeBase") // as above
	(&app{}).runCommand().Flags().VisitAll(func(f *pflag.Flag) {
		key := camelCase(f.Name)
		if f.Name == "label" {
			key = "labels"
		}
		if _, known := keys[key]; known {
			delete(keys, key)
			return
		}
		var diags diag.List
		session.LoadProject("/x/evalrun.yaml", "evalrun.yaml", []byte("suites: a\n"+key+": x\n"), nil, &diags)
		if err := diags.Err(); err == nil || !strings.Contains(err.Error(), "is chosen for each run") {
			t.Errorf("--%s: got %v for the key %s, want a key or the reason why it is none", f.Name, err, key)
		}
	})
	for key := range keys {
		t.Errorf("the key %s: got no flag of run, want one", key)
	}
}

// Every key reaches its flag or its default with the value of the file.
func TestKeysOfAProjectFileAreTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `suites: a.yaml
report: [json=r.json, table]
out: runs/{id}
record: rec
cache: true
noContent: false
allowEmpty: true
quiet: true
maxFailures: 3
seed: 7
name: n
`
	expect.OK(t, os.WriteFile(filepath.Join(dir, session.FileName), []byte(text), 0o600))
	var diags diag.List
	file := session.LoadProject(filepath.Join(dir, session.FileName), session.FileName, []byte(text), nil, &diags)
	expect.OK(t, diags.Err())
	cmd := (&app{}).runCommand()
	want := map[string]string{
		"report": "[json=r.json,table]", "out": filepath.FromSlash("runs/{id}"), "record": "rec", "cache": "true", "no-content": "false",
		"allow-empty": "true", "quiet": "true", "max-failures": "3", "seed": "7", "name": "n",
	}
	for _, one := range file.Flags {
		flag := cmd.Flags().Lookup(one.Name)
		if flag == nil {
			t.Errorf("got no flag --%s, want it", one.Name)
			continue
		}
		for _, value := range one.Values {
			expect.OK(t, flag.Value.Set(value))
		}
		expect.Same(t, "--"+one.Name, flag.Value.String(), want[one.Name])
		delete(want, one.Name)
	}
	for name := range want {
		t.Errorf("--%s: got no value, want one", name)
	}
}
