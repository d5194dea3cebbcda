package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers/labels"
)

// trustKey is the environment of somebody who shares a key.
func trustKey(name string) string {
	return map[string]string{rundir.Variable: "a key of these tests alone"}[name]
}

// recordOwn makes a run that is signed; change is what somebody does to it afterwards.
func recordOwn(t *testing.T, id string, change func(*eval.Run), trials ...*eval.Result) {
	t.Helper()
	dir := filepath.Join(".evalrun", "runs", id)
	run := &eval.Run{
		ID: id, StartedAt: "2025-01-01T00:00:00Z", Suites: []eval.RunSuite{{Name: "s", File: "s.yaml"}},
		Plan: eval.RunPlan{Trials: len(trials), Arms: []string{"t/p"}},
	}
	keys, err := rundir.Load(trustKey)
	expect.OK(t, err)
	expect.OK(t, keys.SignRun(run, dir))
	if change != nil {
		change(run)
	}
	w, err := journal.Create(dir, run, nil)
	expect.OK(t, err)
	write(t, w, trials...)
	finish(t, w)
}

func serveLabels(t *testing.T) *Server {
	t.Helper()
	s, err := Start(Options{Listen: "127.0.0.1:0", Every: time.Millisecond, Label: true, As: "Ada", Getenv: trustKey})
	expect.OK(t, err)
	t.Cleanup(s.Close)
	return s
}

func keyOfRun(t *testing.T, s *Server, id string) string {
	t.Helper()
	for _, one := range data[[]viewedRun](t, s, "/data/runs") {
		if one.ID == id {
			return one.Key
		}
	}
	t.Fatalf("got no run %s, want one", id)
	return ""
}

// label sends a label as the page does, but for what change changes.
func label(t *testing.T, s *Server, path string, body any, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	text, err := json.Marshal(body)
	expect.OK(t, err)
	return ask(t, s, path, func(r *http.Request) {
		r.Method = http.MethodPost
		r.Header.Set("Origin", strings.TrimSuffix(s.URL, "/"))
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(tokenHeader, s.labelling.token)
		r.Body = io.NopCloser(bytes.NewReader(text))
		if change != nil {
			change(r)
		}
	})
}

// none holds that nothing was labelled.
func none(t *testing.T, what string) {
	t.Helper()
	if found, _ := filepath.Glob("*" + labels.Suffix); len(found) > 0 {
		t.Errorf("%s: labels in %q, want none", what, found)
		expect.OK(t, os.Remove(found[0]))
	}
}

// A label is written for the answer that the person saw, by a page of this server that has the token, and by no other.
func TestOnlyPagesWithTheTokenMayLabel(t *testing.T) {
	t.Chdir(t.TempDir())
	recordOwn(t, "r1", nil, trial(0, eval.Pass))
	s := serveLabels(t)
	path := fmt.Sprintf("/run/%s/labels/%016x", keyOfRun(t, s, "r1"), 0)
	said := data[opinions](t, s, path)
	good := sent{Hash: said.Hash, Label: "fail", Comment: " wrong "}
	header := func(key, value string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(key, value) } }
	body := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(text)) }
	}
	for what, test := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"no token":            {func(r *http.Request) { r.Header.Del(tokenHeader) }, 403},
		"another token":       {header(tokenHeader, "ABC"), 403},
		"a longer token":      {header(tokenHeader, s.labelling.token+"A"), 403},
		"no origin":           {func(r *http.Request) { r.Header.Del("Origin") }, 403},
		"another site":        {header("Origin", "http://evil.example"), 403},
		"another port":        {header("Origin", "http://127.0.0.1:1"), 403},
		"another scheme":      {header("Origin", "https://"+s.hosts.own), 403},
		"another own name":    {header("Origin", strings.Replace(strings.TrimSuffix(s.URL, "/"), "127.0.0.1", "localhost", 1)), 403},
		"a file":              {header("Origin", "null"), 403},
		"same site":           {header("Sec-Fetch-Site", "same-site"), 403},
		"cross site":          {header("Sec-Fetch-Site", "cross-site"), 403},
		"a form":              {header("Content-Type", "application/x-www-form-urlencoded"), 403},
		"a plain text":        {header("Content-Type", "text/plain"), 403},
		"another host":        {func(r *http.Request) { r.Host = "evil.example" }, 421},
		"put":                 {func(r *http.Request) { r.Method = http.MethodPut }, 405},
		"delete":              {func(r *http.Request) { r.Method = http.MethodDelete }, 405},
		"to the list":         {func(r *http.Request) { r.URL.Path = "/data/labels" }, 405},
		"another trial":       {func(r *http.Request) { r.URL.Path = path[:len(path)-1] + "1" }, 404},
		"another run":         {func(r *http.Request) { r.URL.Path = "/run/0000000000000000/labels/0000000000000000" }, 404},
		"an earlier reading":  {func(r *http.Request) { r.URL.RawQuery = "of=other" }, 409},
		"another answer":      {body(`{"hash":"` + strings.Repeat("0", 64) + `","label":"fail"}`), 409},
		"no hash":             {body(`{"label":"fail"}`), 409},
		"another word":        {body(`{"hash":"` + said.Hash + `","label":"maybe"}`), 400},
		"no object":           {body(`[]`), 400},
		"nothing":             {body(``), 400},
		"two":                 {body(`{}{}`), 400},
		"no UTF-8":            {body("{\"comment\":\"\xff\"}"), 400},
		"a long comment":      {body(`{"comment":"` + strings.Repeat("x", labels.MaxComment+1) + `"}`), 400},
		"a very long comment": {body(`{"comment":"` + strings.Repeat("x", mostSent) + `"}`), 400},
	} {
		if resp, text := label(t, s, path, good, test.change); resp.StatusCode != test.want || strings.Contains(text, s.labelling.token) {
			t.Errorf("%s: %s: %s, want %d", what, resp.Status, text, test.want)
		} else if !strings.Contains(text, refusals[what]) {
			t.Errorf("%s: got %q, want %q in it", what, text, refusals[what])
		}
		none(t, what)
	}
	if resp, text := label(t, s, path, good, func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }); resp.StatusCode != 200 {
		t.Errorf("good: %s: %s, want 200", resp.Status, text)
	}
	got := data[opinions](t, s, path).Labels
	if len(got) != 1 || got[0].Who != "Ada" || got[0].Label != "fail" || got[0].Comment != "wrong" || !got[0].Own {
		t.Errorf("got %+v, want fail of Ada", got)
	}
}

// The token is on no page, and only behind the # of the address that is printed.
func TestTheTokenIsOnNoPage(t *testing.T) {
	t.Chdir(t.TempDir())
	recordOwn(t, "r1", nil, trial(0, eval.Pass))
	s := serveLabels(t)
	key := keyOfRun(t, s, "r1")
	if got, want := s.WithToken("http://x/"), "http://x/#token="+s.labelling.token; got != want || len(s.labelling.token) < 26 {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, path := range []string{
		"/", "/labels", "/data/labels", "/program.js", "/style.css", "/run/" + key + "/", "/run/" + key + "/data/head",
	} {
		resp, text := ask(t, s, path, nil)
		if resp.StatusCode != 200 || strings.Contains(text+fmt.Sprint(resp.Header), s.labelling.token) {
			t.Errorf("%s: got %s or the token, want 200 without it", path, resp.Status)
		}
	}
	if other := serveLabels(t); other.labelling.token == s.labelling.token {
		t.Error("two starts have one token, want two")
	}
}

// The code is good once, for a page of this server.
func TestTheCodeIsGoodOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	s := serveLabels(t)
	code, _ := strings.CutPrefix(s.WithCode(""), "#code=")
	for _, wrong := range []any{map[string]string{"code": code + "A"}, map[string]string{"code": ""}, map[string]string{}, 3} {
		if resp, _ := label(t, s, "/token", wrong, nil); resp.StatusCode != 403 {
			t.Errorf("%v: %s, want 403", wrong, resp.Status)
		}
	}
	good := map[string]string{"code": code}
	elsewhere := func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }
	if resp, text := label(t, s, "/token", good, elsewhere); resp.StatusCode != 403 || strings.Contains(text, s.labelling.token) {
		t.Errorf("of another page: %s, want 403 without the token", resp.Status)
	}
	resp, text := label(t, s, "/token", good, func(r *http.Request) { r.Header.Del(tokenHeader) })
	if resp.StatusCode != 200 || !strings.Contains(text, s.labelling.token) {
		t.Errorf("got %s: %s, want the token", resp.Status, text)
	}
	for _, spent := range []map[string]string{good, {"code": ""}} {
		if resp, _ := label(t, s, "/token", spent, nil); resp.StatusCode != 403 {
			t.Errorf("%v again: %s, want 403", spent, resp.Status)
		}
	}
}

// Runs of others, of untrusted suites, or whose head was changed take no labels; nor do trials without an answer, and
// suites whose name would lead elsewhere.
func TestWhatTakesNoLabelsIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	lost := trial(1, eval.Err)
	lost.Response = nil
	elsewhere := trial(2, eval.Pass)
	elsewhere.Suite = "../../evil"
	noCase := trial(3, eval.Pass)
	noCase.CaseID = ""
	recordOwn(t, "own1", nil, trial(0, eval.Pass), lost, elsewhere, noCase)
	recordOwn(t, "changed1", func(r *eval.Run) { r.Name = "another" }, trial(0, eval.Pass))
	record(t, "unsigned1", trial(0, eval.Pass))
	recordOwn(t, "forged1", func(r *eval.Run) { r.Signature = strings.Repeat("0", 64) }, trial(0, eval.Pass))
	dir := filepath.Join(".evalrun", "runs", "untrusted1")
	run := &eval.Run{
		ID: "untrusted1", StartedAt: "2025-01-01T00:00:00Z",
		CommandOptions: &eval.RunOptions{Options: eval.Options{Untrusted: true}}, Plan: eval.RunPlan{Trials: 1},
	}
	keys, err := rundir.Load(trustKey)
	expect.OK(t, err)
	expect.OK(t, keys.SignRun(run, dir))
	w, err := journal.Create(dir, run, nil)
	expect.OK(t, err)
	write(t, w, trial(0, eval.Pass))
	finish(t, w)
	s := serveLabels(t)
	for _, test := range []struct {
		id   string
		n    int
		want string
	}{
		{"changed1", 0, "not made here"},
		{"unsigned1", 0, "not made here"},
		{"forged1", 0, "not made here"},
		{"untrusted1", 0, "untrusted"},
		{"own1", 1, "no answer"},
		{"own1", 2, "not the name of a suite"},
		{"own1", 3, "which case"},
	} {
		path := fmt.Sprintf("/run/%s/labels/%016x", keyOfRun(t, s, test.id), test.n)
		said := data[opinions](t, s, path)
		resp, text := label(t, s, path, sent{Hash: said.Hash, Label: "pass"}, nil)
		if resp.StatusCode != 403 || !strings.Contains(text, test.want) || !strings.Contains(said.Closed, test.want) {
			t.Errorf("%s %d: %s: %s, and %q, want %s", test.id, test.n, resp.Status, text, said.Closed, test.want)
		}
		none(t, test.id)
	}
	if found, _ := filepath.Glob("../../evil*"); len(found) > 0 {
		t.Errorf("got the labels %q, want none outside of the folder", found)
	}
}

// A link is not followed, and the page says what is wrong with the file of labels.
func TestLabelsFollowNoLink(t *testing.T) {
	t.Chdir(t.TempDir())
	recordOwn(t, "r1", nil, trial(0, eval.Pass))
	s := serveLabels(t)
	path := fmt.Sprintf("/run/%s/labels/%016x", keyOfRun(t, s, "r1"), 0)
	expect.OK(t, os.WriteFile("precious", []byte("precious\n"), 0o600), os.Symlink("precious", "s.labels.jsonl"))
	said := data[opinions](t, s, path)
	resp, text := label(t, s, path, sent{Hash: said.Hash, Label: "pass"}, nil)
	after, err := os.ReadFile("precious")
	expect.OK(t, err)
	if resp.StatusCode != 500 || !strings.Contains(text, "not a regular file") || string(after) != "precious\n" {
		t.Errorf("got %s: %s, and the file is %q, want 500, and the file as it was", resp.Status, text, after)
	}
	expect.Contains(t, "the problem of the file", said.Problem, "not a label")
}

// Without --label there is nothing to label with.
func TestNothingIsLabelledWithoutTheFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	recordOwn(t, "r1", nil, trial(0, eval.Pass))
	s := serve(t)
	path := fmt.Sprintf("/run/%s/labels/%016x", keyOfRun(t, s, "r1"), 0)
	for _, one := range []string{path, "/labels", "/data/labels"} {
		if resp, _ := ask(t, s, one, nil); resp.StatusCode != 404 {
			t.Errorf("%s: %s, want 404", one, resp.Status)
		}
	}
	resp, _ := ask(t, s, path, func(r *http.Request) {
		r.Method = http.MethodPost
		r.Header.Set("Origin", strings.TrimSuffix(s.URL, "/"))
	})
	if resp.StatusCode != 405 || s.WithToken("x") != "x" || s.WithCode("x") != "x" {
		t.Errorf("got %s and %s, want 405 and no token", resp.Status, s.WithToken("x"))
	}
	if _, text := ask(t, s, "/", nil); strings.Contains(text, "/labels") {
		t.Error("the page leads to labels, want no link to them")
	}
}

// Labels are for this machine, and for somebody with a name.
func TestLabelsNeedANameAndThisMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	bad := func(string) string { return "short" }
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Listen: "0.0.0.0:0", Label: true, As: "Ada", Getenv: trustKey}, "this machine only"},
		{Options{Listen: "[::]:0", Label: true, As: "Ada", Getenv: trustKey}, "this machine only"},
		{Options{Listen: "127.0.0.1:0", Label: true, As: "A\nB", Getenv: trustKey}, "--as NAME"},
		{Options{Listen: "127.0.0.1:0", Label: true, As: strings.Repeat("x", 101), Getenv: trustKey}, "--as NAME"},
		{Options{Listen: "127.0.0.1:0", Label: true, As: "Ada", Getenv: bad}, rundir.Variable},
	} {
		s, err := Start(test.o)
		if s != nil || eval.CodeOf(err) != eval.CodeBadInput || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want bad input with %q", test.o.Listen, err, test.want)
		}
	}
}

// Without --as the name is that of git, else that of the account.
func TestUserNameIsThatOfGitOrTheAccount(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "config"))
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	account := func(name string) string { return map[string]string{"USER": "ada"}[name] }
	expect.Same(t, "without git's", rundir.At(dir).UserName(account), "ada")
	expect.OK(t, os.WriteFile(filepath.Join(dir, "config"), []byte("[user]\n\tname = Ada Lovelace\n"), 0o600))
	expect.Same(t, "with git's", rundir.At(dir).UserName(account), "Ada Lovelace")
}

// The page of labels counts answers, people and agreement, and reports what is wrong with a file.
func TestThePageOfLabelsCountsAgreement(t *testing.T) {
	t.Chdir(t.TempDir())
	recordOwn(t, "r1", nil, trial(0, eval.Pass))
	s := serveLabels(t)
	for i, l := range []struct{ who, word string }{
		{"Ada", "pass"}, {"Ben", "fail"}, {"Ada", "pass"}, {"Ben", "pass"}, {"Ada", "fail"}, {"Ben", "fail"}, {"Cleo", "pass"},
	} {
		key, _ := labels.KeyOf(trial(i/2, eval.Pass))
		expect.OK(t, labels.Append(".", "lock", &labels.Label{
			Suite: "s", CaseID: key.CaseID, Arm: key.Arm, Repeat: 1, AnswerHash: key.AnswerHash, Label: l.word, Who: l.who,
			At: "2025-01-01T00:00:00Z",
		}))
	}
	file, err := os.OpenFile("s.labels.jsonl", os.O_APPEND|os.O_WRONLY, 0)
	expect.OK(t, err)
	_, err = file.WriteString("<<<<<<< HEAD\n")
	expect.OK(t, err, file.Close())
	got := data[struct{ Files []labelSums }](t, s, "/data/labels").Files
	if len(got) != 1 || len(got[0].Agreements) != 1 {
		t.Fatalf("got %+v, want a file and a pair", got)
	}
	expect.Same(t, "counts", []int{got[0].Answers, got[0].Pass, got[0].Fail, got[0].Split}, []int{4, 2, 1, 1})
	expect.Same(t, "people", got[0].People, []labeller{{"Ada", 3, 2}, {"Ben", 3, 1}, {"Cleo", 1, 1}})
	expect.Same(t, "divided", got[0].Divided, []divided{{"", "t/p"}})
	a := got[0].Agreements[0]
	if a.One != "Ada" || a.Other != "Ben" || a.Answers != 3 || a.Agree != 2 || *a.Kappa < 0.399 || *a.Kappa > 0.401 {
		t.Errorf("got %+v, want 2 of 3 and kappa 0.4", a)
	}
	expect.Contains(t, "the problem", got[0].Problem, "s.labels.jsonl:8:1: git left a conflict")
}

// The page learns which answers the person labelled, which wait for it, and nothing of the rest, which take no label.
func TestThePageLearnsWhichAnswersAreLabelled(t *testing.T) {
	t.Chdir(t.TempDir())
	lost := trial(1, eval.Err)
	lost.Response = nil
	elsewhere := trial(2, eval.Pass)
	elsewhere.Suite = "../../evil"
	recordOwn(t, "own1", nil, trial(0, eval.Pass), lost, elsewhere, trial(3, eval.Fail))
	record(t, "unsigned1", trial(0, eval.Pass))
	s := serveLabels(t)
	listed := func(id string) labelledTrials {
		t.Helper()
		return data[labelledTrials](t, s, "/run/"+keyOfRun(t, s, id)+"/labelled")
	}
	expect.Same(t, "at first", listed("own1"), labelledTrials{Yes: []int{}, No: []int{0, 3}})
	expect.Same(t, "a run from elsewhere", listed("unsigned1"), labelledTrials{Yes: []int{}, No: []int{}})
	path := fmt.Sprintf("/run/%s/labels/%016x", keyOfRun(t, s, "own1"), 3)
	said := data[opinions](t, s, path)
	for _, step := range []struct {
		label, comment string
		want           labelledTrials
	}{
		{"", "only a comment", labelledTrials{Yes: []int{}, No: []int{0, 3}}},
		{"fail", "", labelledTrials{Yes: []int{3}, No: []int{0}}},
		{"", "", labelledTrials{Yes: []int{}, No: []int{0, 3}}},
	} {
		label(t, s, path, sent{Hash: said.Hash, Label: step.label, Comment: step.comment}, nil)
		expect.Same(t, "after "+step.label+step.comment, listed("own1"), step.want)
	}
	if resp, _ := ask(t, s, "/run/"+keyOfRun(t, s, "own1")+"/labelled?of=other", nil); resp.StatusCode != 409 {
		t.Errorf("an earlier reading: %s, want 409", resp.Status)
	}
}

// refusals are what a page says of some of the requests that it refuses.
var refusals = map[string]string{
	"no token":       "this page may not label: open the address that evalrun view --label printed when it started",
	"another host":   "this is not the host name of the server: open http://127.0.0.1:",
	"delete":         "this server is read-only",
	"another run":    "there is no such run: see the list of runs",
	"another answer": "the trial has another answer than the one that you saw: reload the page",
}
