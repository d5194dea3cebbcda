package session

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func (s *site) files() (all []string) {
	s.Helper()
	err := filepath.WalkDir(s.at.Abs(""), func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	expect.OK(s, err)
	return all
}

// A refused connection says what to do, makes no call and leaves no file.
func TestConnectRefusesAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	source := func(o eval.SourceOptions) eval.Options { return eval.Options{SourceOptions: o} }
	private := source(eval.SourceOptions{Record: "rec"})
	private.NoContent = true
	cached := source(eval.SourceOptions{Cache: true})
	cached.NoContent = true
	for name, test := range map[string]struct {
		options eval.Options
		unset   string // of the environment
		says    []string
	}{
		"no service":       {unset: "EVALRUN_BASE_URL", says: []string{"--base-url", "EVALRUN_BASE_URL", "--emulator"}},
		"no key":           {unset: "EVALRUN_API_KEY", says: []string{"EVALRUN_API_KEY"}},
		"no key to record": {options: source(eval.SourceOptions{Record: "rec"}), unset: "EVALRUN_API_KEY", says: []string{"EVALRUN_API_KEY"}},
		"no service to record": {
			options: source(eval.SourceOptions{ReplayOr: "deep/rec"}), unset: "EVALRUN_BASE_URL", says: []string{"EVALRUN_BASE_URL"},
		},
		"no script":              {options: eval.Options{Emulator: "gone.yaml"}, says: []string{"gone.yaml"}},
		"a bad script":           {options: eval.Options{Emulator: "bad.yaml"}, says: []string{"bad.yaml:2:6", "`reply`"}},
		"two sources":            {options: source(eval.SourceOptions{Record: "rec", Replay: "rep"}), says: []string{"--record", "--replay"}},
		"nothing to replay":      {options: source(eval.SourceOptions{Replay: "rep"}), says: []string{"rep"}},
		"recording no content":   {options: private, says: []string{"--no-content"}},
		"a cache of no content":  {options: cached, says: []string{"--no-content", "--cache"}},
		"answers with a problem": {options: source(eval.SourceOptions{Answers: "answers.jsonl"}), says: []string{"answers.jsonl:2", "`case`"}},
		"no answers":             {options: source(eval.SourceOptions{Answers: "gone.jsonl"}), says: []string{"gone.jsonl"}},
		"no run to score again":  {options: source(eval.SourceOptions{Rescore: "gone"}), says: []string{"gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			delete(s.env, test.unset)
			s.write("s.yaml", fourSuite)
			s.write("bad.yaml", "rules:\n  - {replyy: x}\n")
			s.write("answers.jsonl", `{"case":"one","text":"a"}`+"\n"+`{"text":"a"}`)
			o := test.options
			for _, path := range []*string{&o.Record, &o.Replay, &o.ReplayOr, &o.Answers} { // as the face of the module does
				*path = s.at.Join(*path)
			}
			before := s.files()
			j, err := s.settle(Options{Options: o}, "s.yaml")
			if err == nil {
				_, err = Connect(j, "test", s.notice)
			}
			s.refused(err, eval.CodeBadInput, test.says...)
			expect.Same(t, "files", s.files(), before)
			expect.Same(t, "calls", s.calls(), 0)
		})
	}
}

// Connecting alone makes no call, and the job of the caller stays what it was.
func TestConnectMakesNoCall(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", fourSuite)
	for _, emulated := range []string{"", eval.DemoScript} {
		j, err := s.settle(Options{Options: eval.Options{Emulator: emulated}}, "s.yaml")
		expect.OK(t, err)
		url, key := j.Settings.Service.BaseURL, j.Settings.Key()
		session, err := Connect(j, "test", s.notice)
		expect.OK(t, err)
		defer session.Close()
		if j.Settings.Service.BaseURL != url || j.Settings.Key() != key {
			t.Errorf("the job sends to %s now, and before to %s, want no change of address or key", j.Settings.Service.BaseURL, url)
		}
		expect.Same(t, "emulated with the script "+emulated, session.Emulated(), emulated != "")
		if emulated != "" && session.Settings.Key() == siteKey {
			t.Error("the user's key goes to the emulator, want another key")
		}
	}
	if n := s.calls(); n != 0 || len(s.notices) != 0 {
		t.Errorf("%d calls and the notices %v, want none", n, s.notices)
	}
}

// A key that would travel in the clear is a warning, except to this machine.
func TestPlainHTTPIsAWarning(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]int{
		"http://service.example": 1, "https://service.example": 0, "http://127.0.0.1:9": 0, "http://localhost:9": 0,
	} {
		s := newSite(t)
		s.env["EVALRUN_BASE_URL"] = url
		s.write("s.yaml", fourSuite)
		j, err := s.settle(Options{}, "s.yaml")
		expect.OK(t, err)
		session, err := Connect(j, "test", s.notice)
		expect.OK(t, err)
		session.Close()
		if len(s.notices) != want || want > 0 && !strings.Contains(s.notices[0], url) {
			t.Errorf("%s: %q, want %d warnings", url, s.notices, want)
		}
	}
}

// planned connects to a service and plans; the error is that of Session.Plan.
func (s *site) planned(o eval.Options, files ...string) error {
	s.Helper()
	j, err := s.settle(Options{Options: o}, files...)
	expect.OK(s, err)
	session, err := Connect(j, "test", s.notice)
	expect.OK(s, err)
	defer session.Close()
	_, err = session.Plan(s.Context())
	return err
}

// A plan that the service cannot run is refused before a generate call: exit 2 for the input, exit 4 for the service.
func TestPlanRefusesBeforeTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", fourSuite)
	s.write("model.yaml", strings.Replace(fourSuite, "svc-pro", "svc-prro", 1))
	s.write("method.yaml", strings.Replace(fourSuite, "svc-pro", "embedding-001", 1))
	s.refused(s.planned(eval.Options{}, "model.yaml"), eval.CodeBadInput, "model.yaml:3:", "svc-prro", "svc-pro")
	s.refused(s.planned(eval.Options{}, "method.yaml"), eval.CodeBadInput, "method.yaml:3:", "embedding-001")
	s.write("prices.yaml", "currency: USD\nmodels: {other: {input: 1, output: 2}}\n")
	money := eval.Options{LimitOptions: eval.LimitOptions{BudgetMoney: 1, Prices: s.at.Join("prices.yaml")}}
	s.refused(s.planned(money, "s.yaml"), eval.CodeBadInput, "svc-pro")
	s.write("cost.yaml", strings.Replace(fourSuite, "contains: x", "cost: {max: 1}", 1))
	s.refused(s.planned(eval.Options{}, "cost.yaml"), eval.CodeBadInput, "cost.yaml:5:", "--prices")
	expect.Same(t, "generate calls", s.generated(), 0)

	once := eval.Options{LimitOptions: eval.LimitOptions{Attempts: 1}}
	s.env["EVALRUN_API_KEY"] = "another"
	s.refused(s.planned(once, "s.yaml"), eval.CodeIncomplete, s.env["EVALRUN_BASE_URL"], "EVALRUN_API_KEY")
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s.env["EVALRUN_BASE_URL"] = gone.URL
	s.refused(s.planned(once, "s.yaml"), eval.CodeIncomplete, gone.URL)
}
