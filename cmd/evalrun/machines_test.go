package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// pods runs the containers of a manifest as processes, and folders of the test are their volumes.
type pods struct {
	*box
}

// shell is the environment of a process that finds the program in its path.
func (p *pods) shell(env ...string) []string {
	return append(append(slices.Clone(p.env), "PATH="+filepath.Dir(p.evalrun)+":"+os.Getenv("PATH")), env...)
}

type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Completions int
		Template    struct {
			Spec struct {
				Containers []struct {
					Command, Args []string
					Env           []struct{ Name, Value string }
				}
			}
		}
	}
}

func manifests(t *testing.T, name string) []manifest {
	t.Helper()
	file, err := os.Open(filepath.Join("../../examples/kubernetes", name))
	expect.OK(t, err)
	defer file.Close()
	var out []manifest
	for decoder := yaml.NewDecoder(file); ; {
		var one manifest
		if decoder.Decode(&one) != nil {
			return out
		}
		out = append(out, one)
	}
}

// pod is the process of a Job's pod.
func (p *pods) pod(m *manifest, env ...string) *exec.Cmd {
	p.t.Helper()
	one := m.Spec.Template.Spec.Containers[0]
	volumes := strings.NewReplacer("/runs", p.dir+"/runs", "/suites", p.dir)
	words := slices.Clone(one.Command)
	for _, arg := range one.Args {
		words = append(words, volumes.Replace(arg))
	}
	cmd := exec.Command(words[0], words[1:]...)
	home := p.t.TempDir() // a pod brings nothing from another one
	cmd.Dir, cmd.Env = p.dir, p.shell(append(env, "HOME="+home, "XDG_CONFIG_HOME=")...)
	for _, v := range one.Env {
		if v.Value != "" && !strings.HasPrefix(v.Name, "EVALRUN_") { // addresses and keys are the test's
			cmd.Env = append(cmd.Env, v.Name+"="+volumes.Replace(v.Value))
		}
	}
	return cmd
}

// The pods of an indexed Job share a ledger. One is killed, starts again, and resumes its shard; the merged run has each trial once.
func TestShardsOnKubernetesShareALedger(t *testing.T) {
	t.Parallel()
	service := &strictService{window: time.Minute, used: 20}
	p := &pods{newBox(t, service, nil)}
	const trials = 120
	p.write("answer.sh", "echo an answer\n") // what starts programs is resumed by its owner alone
	p.write("suite.yaml", "version: 1\nname: s\ntargets: [{name: m, model: m}, {name: p, program: {command: [sh, answer.sh]}}]\n"+
		"prompts: [{name: p, text: \"{{.n}}\"}]\nlimits: {concurrency: 2}\n"+
		"cases: [{dataset: rows.csv, name: \"c{{.n}}\", scorers: [{contains: answer}]}]\ngate: {passRate: {min: 1}}\n")
	p.write("rows.csv", "n\n"+numbers(trials))
	p.startLedger(`{service: "*", model: "*", concurrency: 8, budget: {calls: 1000}}`)

	all := manifests(t, "shards.yaml")
	expect.Same(t, "manifests", len(all), 2)
	jobs, merge := &all[0], &all[1]
	var running []*exec.Cmd
	for i := range jobs.Spec.Completions {
		cmd := p.pod(jobs, "JOB_COMPLETION_INDEX="+strconv.Itoa(i))
		expect.OK(t, cmd.Start())
		running = append(running, cmd)
	}
	until(t, "a trial of the pod that is killed", func() bool {
		lines, _ := os.ReadFile(filepath.Join(p.dir, "runs", "first", "shard-2", "run.jsonl")) // not there yet
		return strings.Contains(string(lines), `{"type":"trial"`)
	})
	expect.OK(t, running[1].Process.Kill())
	_ = running[1].Wait()
	second := p.pod(jobs, "JOB_COMPLETION_INDEX=1")
	out, err := second.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "to run") {
		t.Fatalf("the pod that starts again: %v, want what is to run\n%s", err, out)
	}
	for i, cmd := range running {
		if i != 1 {
			expect.OK(t, cmd.Wait())
		}
	}
	out, err = p.pod(merge).CombinedOutput()
	expect.OK(t, err)
	expect.Contains(t, "the merge", string(out), "PASS  240 trials")
	if n := service.calls(); n > trials+2 {
		t.Errorf("%d calls for %d trials and a kill with 2 in progress, want at most 2 more", n, trials)
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Itoa(i+1) + "\n")
	}
	return b.String()
}

// The jobs of a matrix run their shards with one ledger, and the last job has the verdict.
func TestMatrixOfGitHubSharesALedger(t *testing.T) {
	t.Parallel()
	service := &strictService{window: time.Minute, used: 20}
	p := &pods{newBox(t, service, nil)}
	p.write("evals/suite.yaml", "version: 1\nname: s\ntargets: [{name: m, model: m}]\nprompts: [{name: p, text: \"{{.n}}\"}]\n"+
		"cases: [{dataset: rows.csv, name: \"c{{.n}}\", scorers: [{contains: answer}]}]\ngate: {passRate: {min: 1}}\n")
	p.write("evals/rows.csv", "n\n"+numbers(40))
	p.startLedger(`{service: "*", model: "*", concurrency: 8, budget: {calls: 40}}`)

	var workflow struct {
		Jobs map[string]struct {
			Strategy struct{ Matrix struct{ Shard []string } }
			Steps    []step
		}
	}
	expect.OK(t, yaml.Unmarshal([]byte(readText(t, recipes(t), "github/matrix.yml")), &workflow))
	run := func(job, shard string) string {
		said := ""
		for _, s := range workflow.Jobs[job].Steps {
			if s.Run == "" || strings.HasPrefix(s.Run, "go install") { // the program of these tests is in the path
				continue
			}
			cmd := exec.Command("bash", "-e", "-c", s.Run)
			cmd.Dir, cmd.Env = p.dir, p.shell("SHARD="+shard, "GITHUB_STEP_SUMMARY="+p.path("summary.md"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s %s: %v\n%s", job, shard, err, out)
			}
			said += string(out)
		}
		return said
	}
	shards := workflow.Jobs["shard"].Strategy.Matrix.Shard
	expect.Same(t, "shards", len(shards), 4)
	for _, shard := range shards {
		run("shard", shard)
	}
	expect.Contains(t, "the verdict", run("verdict", ""), "PASS  40 trials")
	expect.Same(t, "calls", service.calls(), 40)
	expect.Contains(t, "summary", p.read("summary.md"), "evalrun: PASS")
}
