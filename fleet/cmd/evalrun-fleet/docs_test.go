package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/fleet"
	"github.com/evalrun/evalrun/runner"
)

var shown = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// The commands of docs/how-to/fleet.md work as they are shown, with the address that the coordinator prints.
func TestDocsOfTheFleetWorkAsShown(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/how-to/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	for _, m := range shown.FindAllStringSubmatch(string(page), -1) {
		commands = append(commands, strings.Fields(strings.ReplaceAll(m[1], "\\\n", " "))[1:])
	}
	if len(commands) != 3 {
		t.Fatalf("%d commands in docs/how-to/fleet.md, want serve, work, and serve with a certificate", len(commands))
	}
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(20))
	b.write("suite.yaml", many)
	b.certificate()
	if err := os.Rename(filepath.Join(b.dir, "cert.pem"), filepath.Join(b.dir, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(b.dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	b.write("cert.pem", string(text))
	for _, serve := range []int{0, 2} {
		for i, word := range commands[serve] {
			switch word { // a name and a port that every machine has, and a run of its own
			case "fleet.example":
				commands[serve][i] = "localhost"
			case "0.0.0.0:4222":
				commands[serve][i] = "0.0.0.0:0"
			}
		}
		_ = os.RemoveAll(filepath.Join(b.dir, "nightly"))
		coordinator := b.serve(commands[serve][1:]...)
		work := append([]string{}, commands[1]...)
		for i, word := range work {
			if strings.HasPrefix(word, "nats://") {
				work[i] = coordinator.url
			}
		}
		worker := b.start(work...)
		if got := coordinator.end(); got != 0 {
			t.Errorf("%v: exit %d, want 0\n%s%s", commands[serve], got, coordinator.err.String(), worker.err.String())
		}
		if got := worker.end(); got != 0 {
			t.Errorf("%v: exit %d, want 0\n%s", work, got, worker.err.String())
		}
	}
}

// A worker of another version is refused, with both versions in words, before it gets anything.
func TestAWorkerOfAnotherVersionGetsNothing(t *testing.T) {
	t.Parallel()
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(3))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	creds, err := fleet.ReadCreds(filepath.Join(b.dir, "run", "fleet.creds"))
	if err != nil {
		t.Fatal(err)
	}
	err = fleet.Work(t.Context(), fleet.WorkerConfig{
		Creds: creds, URL: coordinator.url, Places: 1, Version: "v9", Notice: func(string) {},
		Options: evalrun.Options{
			Caller:  runner.Caller{Getenv: b.getenv, Version: "v9"},
			Options: eval.Options{Untrusted: true},
		},
	})
	if eval.CodeOf(err) != eval.CodeBadInput || !strings.Contains(err.Error(), "evalrun-fleet development, and this worker is v9") {
		t.Errorf("exit %d: %v, want 2 and both versions", eval.CodeOf(err), err)
	}
	if n := s.count(); n != 0 {
		t.Errorf("%d calls were sent, want none", n)
	}
}
