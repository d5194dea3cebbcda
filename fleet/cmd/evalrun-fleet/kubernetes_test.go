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

// The containers of examples/kubernetes/fleet.yaml run as processes, with folders as volumes. The coordinator's pod dies once,
// and a worker's.
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
				Template struct {
					Spec struct {
						Containers []struct{ Command, Args []string }
					}
				}
			}
		}
		if decoder.Decode(&one) != nil {
			break
		}
		for _, c := range one.Spec.Template.Spec.Containers {
			commands[one.Kind] = append(c.Command, c.Args...)
		}
	}
	here := strings.NewReplacer(
		"/runs", b.dir+"/runs", "/suites", b.dir,
		"/tls/tls.crt", b.dir+"/cert.pem", "/tls/tls.key", b.dir+"/key.pem", "/tls/ca.crt", b.dir+"/cert.pem",
		"0.0.0.0:4222", "0.0.0.0:"+freePort(t),
	)
	pod := func(kind string) *exec.Cmd {
		var words []string
		for _, word := range commands[kind] {
			if word == "evalrun-fleet" && len(words) > 0 { // the name of the service, which only a cluster knows
				word = "localhost"
			}
			words = append(words, here.Replace(word))
		}
		cmd := exec.Command("env", append([]string{"PATH=" + b.dir + ":" + os.Getenv("PATH")}, words...)...)
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
	coordinator := pod("Job")
	first, second := pod("Deployment"), pod("Deployment")
	for s.count() < 50 {
		time.Sleep(5 * time.Millisecond)
	}
	_ = coordinator.Process.Kill()
	_ = coordinator.Wait()
	_ = first.Process.Kill()
	coordinator = pod("Job")
	if err := coordinator.Wait(); err != nil {
		t.Fatalf("the coordinator: %v, want no error", err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("the worker: %v, want no error", err)
	}
	if got := len(b.judged(filepath.Join("runs", "nightly"))); got != 200 {
		t.Errorf("%d trials, want 200", got)
	}
}
