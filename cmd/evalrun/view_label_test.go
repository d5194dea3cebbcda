package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// labelled labels answers of a run, by its name, as people do in the page: labelled NAME WHO:CASE=WORD[:COMMENT]... Each person has a
// process of evalrun view --label, and all of these run at once.
func labelled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: labelled NAME WHO:CASE=WORD[:COMMENT]...")
	}
	people := map[string]*labeller{}
	for _, one := range args[1:] {
		who, _, _ := strings.Cut(one, ":")
		if people[who] == nil {
			people[who] = newLabeller(ts, args[0], who)
		}
	}
	done := make(chan error)
	for who, p := range people {
		go func() {
			var err error
			for _, one := range args[1:] {
				if name, rest, _ := strings.Cut(one, ":"); name == who {
					err = errors.Join(err, p.label(rest))
				}
			}
			done <- err
		}()
	}
	for range people {
		ts.Check(<-done)
	}
	for _, p := range people {
		ts.Check(p.cmd.Process.Signal(os.Interrupt))
		ts.Check(p.cmd.Wait())
	}
}

type labeller struct {
	cmd           *exec.Cmd
	origin, token string
	run           string              // the address of its page
	trials        map[string][]string // the ids of the trials of each case
}

func newLabeller(ts *testscript.TestScript, run, who string) *labeller {
	exe := filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], "evalrun")
	p := &labeller{cmd: exec.Command(exe, "view", "--label", "--as", who), trials: map[string][]string{}}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = []string{noNap, "PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "XDG_CONFIG_HOME=" + ts.Getenv("XDG_CONFIG_HOME")}
	out, err := p.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	ts.Defer(func() { _ = p.cmd.Process.Kill() })
	first, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	address, token, ok := strings.Cut(strings.TrimSpace(first), "/#token=")
	if !ok {
		ts.Fatalf("the address %q has no token", first)
	}
	p.origin, p.token = address, token
	var runs []struct {
		Key   string
		Marks []string
	}
	ts.Check(p.get("/data/runs", &runs))
	for _, one := range runs {
		if slices.Contains(one.Marks, run) {
			p.run = "/run/" + one.Key
		}
	}
	var trials []struct{ ID, Case string }
	ts.Check(p.get(p.run+"/data/trials/0", &trials))
	for _, t := range trials {
		p.trials[t.Case] = append(p.trials[t.Case], t.ID)
	}
	return p
}

func (p *labeller) get(path string, into any) error {
	resp, err := http.Get(p.origin + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// label gives the answers to a case a label, CASE=WORD or CASE=WORD:COMMENT.
func (p *labeller) label(text string) error {
	name, rest, _ := strings.Cut(text, "=")
	word, comment, _ := strings.Cut(rest, ":")
	for _, id := range p.trials[name] {
		var said struct{ Hash, Closed string }
		if err := p.get(p.run+"/labels/"+id, &said); err != nil {
			return err
		}
		body, err := json.Marshal(map[string]string{"hash": said.Hash, "label": word, "comment": comment})
		if err != nil {
			return err
		}
		r, err := http.NewRequest(http.MethodPost, p.origin+p.run+"/labels/"+id, strings.NewReader(string(body)))
		if err != nil {
			return err
		}
		r.Header.Set("Origin", p.origin)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Evalrun-Token", p.token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		why, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s, %s %w", text, resp.Status, why, err)
		}
	}
	return nil
}
