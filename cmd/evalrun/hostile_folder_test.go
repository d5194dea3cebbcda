package main

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

// A history that somebody else prepared runs nothing: it is set aside, and a new one begins.
func TestAHostileHistoryIsSetAside(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"trigger": "CREATE TRIGGER x AFTER INSERT ON run BEGIN INSERT INTO word (text) " + endless + "; END",
		"view":    "ALTER TABLE run RENAME TO old; CREATE VIEW run AS SELECT * FROM old WHERE (" + endless + ") > 0",
		"pragma":  "CREATE VIEW pragma_user_version AS SELECT 4 AS user_version WHERE (" + endless + ") > 0",
		"index":   "CREATE INDEX x ON run (length(zeroblob(100000000)))",
		"column":  "ALTER TABLE run ADD COLUMN x INTEGER GENERATED ALWAYS AS (length(zeroblob(100000000)))",
		"table":   "CREATE TABLE other (x)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, nil, map[string]string{"suite.yaml": plainSuite})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // it may hang
			defer cancel()
			run := func(args ...string) (code int, said string) {
				cmd := b.command(args...)
				var out strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &out
				expect.OK(t, cmd.Start())
				defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
				_ = cmd.Wait()
				return cmd.ProcessState.ExitCode(), out.String()
			}
			prepare := func() {
				t.Helper()
				db, err := sql.Open("sqlite", b.path(".evalrun/history.db"))
				expect.OK(t, err)
				_, err = db.Exec(change)
				expect.OK(t, err, db.Close())
			}
			b.exits(1, "run", "suite.yaml", "--emulator")
			prepare()
			code, said := run("run", "suite.yaml", "--emulator", "--untrusted")
			expect.Same(t, "exit code of run", code, 1)
			expect.Contains(t, "run", said, "has tables, triggers or views that evalrun did not write: it was renamed to history.db.set-aside")
			b.exits(0, "history")
			prepare()
			code, said = run("history")
			expect.Same(t, "exit code of history", code, 2)
			expect.Contains(t, "history", said, "set-aside; `evalrun history --rebuild` makes the history from the runs")
			b.exits(0, "history", "--rebuild")
			if _, err := os.Stat(b.path(".evalrun/history.db.set-aside")); err != nil || strings.Contains(b.errs, "set-aside") {
				t.Errorf("after --rebuild: %v, %s, want the old file next to a new history", err, b.errs)
			}
		})
	}
}

// A link that the author of a suite made leads no command anywhere: nothing is sent, printed or kept.
func TestLinksOfAnUntrustedSuiteAreRefused(t *testing.T) {
	t.Parallel()
	filed := filePrompt("canary.txt")
	for name, test := range map[string]struct {
		links map[string]string // by name: where they lead
		args  []string
		says  string
	}{
		"suite": {
			map[string]string{"evals.yaml": "private/suite.yaml"},
			[]string{"evals.yaml"},
			"evals.yaml is a link, which the author of the suite could lead to any file; name the file itself",
		},
		"suite to text": {map[string]string{"evals.yaml": "private/canary.txt"}, []string{"evals.yaml"}, "evals.yaml is a link"},
		"dangling":      {map[string]string{"evals.yaml": "nowhere"}, []string{"evals.yaml"}, "evals.yaml is a link"},
		"folder":        {map[string]string{"evals": "private"}, []string{"evals/suite.yaml"}, "evals is a link"},
		"above":         {map[string]string{"evals": "private"}, []string{"evals/../suite.yaml"}, "evals is a link"},
		"inner folder": {
			map[string]string{"in": "private"},
			[]string{"in.yaml"},
			"an untrusted suite cannot read in/canary.txt: it is a link, or a folder on the way is",
		},
		"prices": {
			map[string]string{"p.yaml": "private/canary.txt"},
			[]string{"suite.yaml", "--prices", "p.yaml"},
			"p.yaml is a link",
		},
		"emulator": {
			map[string]string{"e.yaml": "private/canary.txt"},
			[]string{"suite.yaml", "--emulator=e.yaml"},
			"e.yaml is a link",
		},
		"answers": {
			map[string]string{"a.jsonl": "private/canary.txt"},
			[]string{"suite.yaml", "--answers", "a.jsonl"},
			"a.jsonl is a link",
		},
		"replay": {map[string]string{"rec": "private"}, []string{"suite.yaml", "--replay", "rec"}, "rec is a link"},
		"record": {map[string]string{"rec": "private"}, []string{"suite.yaml", "--record", "rec"}, "rec is a link"},
		"recorded": {
			map[string]string{"kept/x.json": "../private/canary.txt"},
			[]string{"suite.yaml", "--replay-or-record", "kept"},
			"kept/x.json is a link",
		},
		"out": {map[string]string{"out": "private"}, []string{"suite.yaml", "--out", "out/run"}, "out is a link"},
		"own": {
			map[string]string{".evalrun": "private"},
			[]string{"suite.yaml"},
			".evalrun is a link, and with --untrusted nothing is written through links: remove it, or name another folder",
		},
		"runs":    {map[string]string{".evalrun/runs": "../private"}, []string{"suite.yaml"}, ".evalrun/runs is a link"},
		"history": {map[string]string{".evalrun/history.db": "../private/h"}, []string{"suite.yaml"}, "history.db is a link"},
		"lock": {
			map[string]string{".evalrun/history.db.lock": "../private/h"},
			[]string{"suite.yaml"},
			"history.db.lock is a link",
		},
		"baselines": {
			map[string]string{"baselines.json": "private/canary.txt"},
			[]string{"suite.yaml", "--baseline", "main", "--margin", "0.1", "--gate-of", "mine.yaml"},
			"baselines.json is a link, which is not followed with --untrusted: name the run itself",
		},
		"baseline": {
			map[string]string{"base.jsonl": "private/canary.txt"},
			[]string{"suite.yaml", "--baseline", "base.jsonl", "--margin", "0.1", "--gate-of", "mine.yaml"},
			"base.jsonl is a link",
		},
		"expected": {map[string]string{"expected": "private"}, []string{"snapshot.yaml"}, "expected/canary.txt: it is a link"},
		"labels":   {map[string]string{"s.labels.jsonl": "private/canary.txt"}, []string{"people.yaml"}, "s.labels.jsonl is a link"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpied(t, map[string]string{
				"suite.yaml": plainSuite, "mine.yaml": plainSuite, "private/suite.yaml": filed, "kept/.keep": "", ".evalrun/.keep": "",
				"in.yaml":       filePrompt("in/canary.txt"),
				"snapshot.yaml": strings.Replace(plainSuite, "equals: hi", "snapshot: canary.txt", 1),
				"people.yaml":   strings.Replace(plainSuite, "{equals: hi}", "{label: true}", 1),
			})
			for link, to := range test.links {
				expect.OK(t, os.RemoveAll(s.path(link)), os.Symlink(to, s.path(link)))
			}
			s.attempt(append([]string{"run", "--untrusted"}, test.args...)...)
			s.says(test.says)
			s.silent()
			expect.Same(t, "calls", s.calls(), 0)
		})
	}
}

// Files whose names begin with a dot often hold keys: an untrusted suite reads none, in no spelling and no role.
func TestAnUntrustedSuiteReadsNoDotFiles(t *testing.T) {
	t.Parallel()
	s := newSpied(t, nil)
	for _, name := range []string{".env", ".ENV", "sub/.git/config", ".evalrun/x.txt", "./.env", "sub/../.env"} {
		s.write(name, canary+"\n")
	}
	for _, name := range []string{".env", ".ENV", "sub/.git/config", ".evalrun/x.txt", "./.env", "sub/../.env"} {
		for role, text := range map[string]string{
			"prompt":   filePrompt(name),
			"include":  "include: [" + name + "]\n" + plainSuite,
			"image":    strings.Replace(plainSuite, "text: hello", "parts: [{text: hello}, {image: "+name+"}]", 1),
			"document": strings.Replace(plainSuite, "text: hello", "parts: [{text: hello}, {data: "+name+"}]", 1),
			"schema":   strings.Replace(plainSuite, "equals: hi", "jsonSchema: {file: "+name+"}", 1),
			"prices":   "prices: " + name + "\n" + plainSuite,
			"rows":     strings.Replace(plainSuite, "{name: c", "{name: \"{{.text}}\", dataset: "+name+", format: file", 1),
		} {
			s.write("suite.yaml", text)
			s.exits(2, "run", "suite.yaml", "--untrusted")
			s.says("an untrusted suite cannot read", "its name, or that of a folder on the way, begins with a dot")
			if strings.Contains(s.out+s.errs, canary) {
				t.Errorf("%s as %s was printed, want it refused:\n%s", name, role, s.errs)
			}
			expect.Same(t, "calls", s.calls(), 0)
		}
	}
}

// A key goes to a host only where both were allowed by name, and never the user's own.
func TestAnUntrustedSuiteGetsOnlyTheKeyThatWasNamed(t *testing.T) {
	t.Parallel()
	s := newSpied(t, nil)
	host := strings.TrimPrefix(s.url, "http://")
	s.env = append(s.env, "OTHER_API_KEY="+canary, "EVALRUN_OTHER="+canary)
	for _, variable := range []string{"EVALRUN_API_KEY", "EVALRUN_OTHER", "OTHER_API_KEY", "THIRD_API_KEY"} {
		suite := strings.Replace(plainSuite, "model: m", "service: x, model: m", 1)
		s.write("suite.yaml", "services: {x: {baseUrl: \""+s.url+"\", keyEnv: "+variable+"}}\n"+suite)
		for _, allowed := range []string{host, "127.0.0.1", host + ":THIRD_API_KEY", "elsewhere.example:" + "OTHER_API_KEY"} {
			if strings.HasSuffix(allowed, variable) && strings.HasPrefix(allowed, host) {
				continue
			}
			s.exits(2, "run", "suite.yaml", "--untrusted", "--allow", "services="+allowed)
			expect.Same(t, variable+": calls", s.calls(), 0)
		}
		if strings.HasPrefix(variable, "EVALRUN_") {
			s.says("an untrusted suite cannot use the key in " + variable)
			s.exits(2, "run", "suite.yaml", "--untrusted", "--allow", "services="+host+":"+variable)
			s.says("is never sent for an untrusted suite")
		}
	}
	s.write("suite.yaml", strings.Replace(s.read("suite.yaml"), "THIRD", "OTHER", 1))
	s.exits(0, "run", "suite.yaml", "--untrusted", "--allow", "services="+host+":OTHER_API_KEY")
	expect.Same(t, "calls", s.calls(), 4)
	expect.Contains(t, "the request", s.sent[0], canary)
	if strings.Contains(strings.Join(s.sent, ""), "key-of-the-box") {
		t.Error("the key of the unnamed service was sent, want it kept")
	}
}

// The number of calls is bounded, whatever the suite says, and the user can change the bound.
func TestCallsOfAnUntrustedSuiteAreBounded(t *testing.T) {
	t.Parallel()
	s := newSpied(t, map[string]string{
		"suite.yaml": strings.Replace(plainSuite, "repeats: 4", "repeats: 100", 1),
		"greedy.yaml": strings.NewReplacer("repeats: 4", "repeats: 10100", "countTokens: never", "countTokens: never, budget: {calls: 900000}").
			Replace(plainSuite),
		"modest.yaml": strings.NewReplacer("countTokens: never", "countTokens: never, budget: {calls: 2}").Replace(plainSuite),
	})
	s.exits(4, "run", "suite.yaml", "--untrusted", "--budget-calls", "3", "--max-failures", "1")
	expect.Same(t, "calls under --budget-calls", s.calls(), 3)
	s.exits(4, "run", "modest.yaml", "--untrusted")
	expect.Same(t, "calls of a lower budget", s.calls(), 5)
	s.exits(4, "run", "greedy.yaml", "--untrusted", "--no-content", "-j", "64")
	s.says("the budget of 10000 calls is spent")
	expect.Same(t, "calls of a higher budget", s.calls(), 10_005)
}

// Recorded answers that come with a suite do not answer for the model: the cache is left alone.
func TestTheCacheDoesNotAnswerForAnUntrustedSuite(t *testing.T) {
	t.Parallel()
	s := newSpied(t, map[string]string{"suite.yaml": plainSuite})
	s.exits(0, "run", "suite.yaml", "--cache")
	s.exits(0, "run", "suite.yaml", "--cache")
	expect.Same(t, "calls with a cache", s.calls(), 4)
	s.exits(0, "run", "suite.yaml", "--cache", "--untrusted")
	s.says("--cache is not used with --untrusted")
	expect.Same(t, "calls of an untrusted suite", s.calls(), 8)
	s.exits(0, "run", "suite.yaml", "--untrusted", "--record", "kept")
	s.exits(0, "run", "suite.yaml", "--untrusted", "--replay", "kept")
	expect.Same(t, "calls with a folder that the user names", s.calls(), 12)
}

// The names of baselines come with the suite: with --untrusted they lead to runs in the folder alone.
func TestBaselinesOfAnUntrustedSuiteStayInTheFolder(t *testing.T) {
	t.Parallel()
	s := newSpied(t, map[string]string{"work/suite.yaml": plainSuite, "work/mine.yaml": plainSuite, "work/deep/.keep": ""})
	s.dir = s.path("work")
	s.exits(0, "run", "suite.yaml", "--out", "../elsewhere")
	s.exits(0, "run", "suite.yaml", "--out", "here")
	before := s.calls()
	for name, path := range map[string]string{"abs": s.path("../elsewhere"), "up": "../elsewhere", "winding": "deep/../../elsewhere"} {
		s.write("baselines.json", `{"main": {"run": "r", "path": "`+path+`", "setAt": ""}}`)
		s.exits(4, "run", "suite.yaml", "--untrusted", "--baseline", "main", "--margin", "0.5", "--gate-of", "mine.yaml")
		s.says("is outside this folder: with --untrusted, name the run itself")
		expect.Same(t, name+": calls", s.calls(), before)
	}
	s.write("baselines.json", `{"main": {"run": "r", "path": "here", "setAt": ""}}`)
	s.attempt("run", "suite.yaml", "--untrusted", "--baseline", "main", "--margin", "0.5", "--gate-of", "mine.yaml")
	if strings.Contains(s.errs, "outside") {
		t.Errorf("a run in the folder was refused, want it used: %s", s.errs)
	}
}

// Without --untrusted, links that lead what is written out of the folder are said. accept, publish and import refuse them.
func TestLinksAreSaidOrRefused(t *testing.T) {
	t.Parallel()
	s := newSpied(t, map[string]string{
		"w/suite.yaml": strings.Replace(plainSuite, "equals: hi", "snapshot: hi.txt", 1), "w/real/suite.yaml": plainSuite,
		"outside/.keep": "", "w/promptfooconfig.yaml": "",
	})
	s.dir = s.path("w")
	expect.OK(t, os.Symlink("../outside", s.path(".evalrun")), os.Symlink("../outside", s.path("rec")), os.Symlink("real", s.path("in")))
	s.exits(4, "run", "suite.yaml", "--record", "rec", "--out", "in/run")
	s.says(".evalrun is a link that leads out of this folder", "rec is a link that leads out of this folder")
	s.exits(4, "resume", "in/run")
	s.says(".evalrun is a link that leads out of this folder")
	if strings.Contains(s.errs, "in is a link") {
		t.Errorf("a link inside the folder was said, want it followed: %s", s.errs)
	}
	s.env = append(s.env, "CI=")
	for to, flags := range map[string][]string{"../outside": nil, "real": {"--untrusted"}} {
		expect.OK(t, os.Symlink(to, s.path("expected")))
		s.exits(2, append([]string{"accept", "in/run", "--yes"}, flags...)...)
		s.says("expected/hi.txt")
		expect.OK(t, os.Remove(s.path("expected")))
	}
	expect.OK(t, os.Symlink("../outside", s.path("site")))
	s.exits(2, "publish", "in/run", "--out", "site")
	s.says("site is a link, and a site replaces files: name the folder itself with --out")
	s.exits(0, "publish", "in/run", "--out", "public")
	expect.OK(t, os.RemoveAll(s.path("public/data")), os.Symlink("../real", s.path("public/data")))
	s.exits(2, "publish", "in/run", "--out", "public")
	s.says("data in public is a link or a file; name another folder")
	expect.OK(t, os.Remove(s.path("promptfooconfig.yaml")), os.Symlink("../private/canary.txt", s.path("promptfooconfig.yaml")))
	s.exits(2, "import", "promptfoo")
	s.says("promptfooconfig.yaml is a link, and an import reads the files next to its configuration: name the file itself")
	s.exits(2, "import", "promptfoo", "suite.yaml", "--out", "site")
	s.says("site is a link, and an import writes into its folder: name the folder itself with --out")
	if strings.Contains(s.errs, canary) {
		t.Errorf("the private file was printed, want it left alone: %s", s.errs)
	}
	if _, err := os.Stat(s.path("real/suite.yaml")); err != nil {
		t.Errorf("publish deleted a file behind a link: %v", err)
	}
}
