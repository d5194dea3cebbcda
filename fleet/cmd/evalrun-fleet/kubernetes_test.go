package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// podSpec is what a pod runs.
type podSpec struct {
	Template struct {
		Spec struct {
			Containers []struct{ Command, Args []string }
		}
	}
}

// The containers of examples/kubernetes/fleet.yaml run as processes, with folders as volumes. The coordinator's pod dies once,
// and a worker's. The next night has its own run and verdict.
func TestTheFleetOnKubernetesSurvivesKilledPods(t *testing.T) {
	t.Parallel()
	s := newService(t, 20*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(200))
	b.write("suite.yaml", many)
	b.certificate()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(b.dir, "evalrun-fleet"))
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../examples/kubernetes/fleet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string][]string{} // by kind
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var one struct {
			Kind string
			Spec struct {
				podSpec     `yaml:",inline"`
				JobTemplate struct{ Spec podSpec } `yaml:"jobTemplate"`
			}
		}
		if decoder.Decode(&one) != nil {
			break
		}
		for _, c := range append(one.Spec.Template.Spec.Containers, one.Spec.JobTemplate.Spec.Template.Spec.Containers...) {
			commands[one.Kind] = append(c.Command, c.Args...)
		}
	}
	here := strings.NewReplacer(
		"/runs", b.dir+"/runs", "/suites", b.dir,
		"/tls/tls.crt", b.dir+"/cert.pem", "/tls/tls.key", b.dir+"/key.pem", "/tls/ca.crt", b.dir+"/cert.pem",
		"0.0.0.0:4222", "0.0.0.0:"+freePort(t), "--host evalrun-fleet", "--host localhost", // a name that only a cluster knows
	)
	pod := func(kind, run string) *exec.Cmd {
		var words []string
		for _, word := range commands[kind] {
			words = append(words, here.Replace(word))
		}
		key := "EVALRUN_API_KEY=" // the coordinator has none
		if kind == "Deployment" {
			key += "a-key"
		}
		cmd := exec.Command("env", append([]string{"PATH=" + b.dir + ":" + os.Getenv("PATH"), "RUN=" + run, key}, words...)...)
		cmd.Dir, cmd.Env = b.dir, b.env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	coordinator := pod("CronJob", "night-1")
	first, second := pod("Deployment", ""), pod("Deployment", "")
	s.begun(50)
	_ = coordinator.Process.Kill()
	_ = coordinator.Wait()
	_ = first.Process.Kill()
	coordinator = pod("CronJob", "night-1")
	if err := coordinator.Wait(); err != nil {
		t.Fatalf("the coordinator: %v, want no error", err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("the worker: %v, want no error", err)
	}
	if got := len(b.judged(filepath.Join("runs", "night-1"))); got != 200 {
		t.Errorf("%d trials, want 200", got)
	}
	before := s.count()
	b.write("suite.yaml", strings.Replace(many, `equals: "yes"`, "equals: never", 1))
	coordinator = pod("CronJob", "night-2")
	pod("Deployment", "")
	if _ = coordinator.Wait(); coordinator.ProcessState.ExitCode() != 1 || s.count()-before != 200 {
		t.Errorf("the next night: exit %d and %d calls, want 1 and 200", coordinator.ProcessState.ExitCode(), s.count()-before)
	}
}
