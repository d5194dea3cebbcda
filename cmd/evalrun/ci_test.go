package main

import (
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/forgetest"
)

type recipe struct {
	On          yaml.Node
	Permissions map[string]string
	Jobs        map[string]struct {
		If    string
		Steps []step
		Env   map[string]string
	}
}

func recipes(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../examples/ci")
	expect.OK(t, err)
	return path
}

func recipeOf(t *testing.T, name string) (r recipe, steps []step) {
	t.Helper()
	expect.OK(t, yaml.Unmarshal([]byte(readText(t, recipes(t), "github/"+name+".yml")), &r))
	for _, job := range r.Jobs {
		steps = job.Steps
	}
	return r, steps
}

// workflow runs the steps of a recipe, with our actions as they are in this repository.
func (r *ciRunner) workflow(name string) bool {
	r.t.Helper()
	_, steps := recipeOf(r.t, name)
	ok, said := true, ""
	maps.DeleteFunc(r.known, func(name, _ string) bool { return strings.HasPrefix(name, "steps.") }) // of the job before
	for i := range steps {
		s := &steps[i]
		ours, is := strings.CutPrefix(s.Uses, "evalrun/evalrun")
		switch {
		case is:
			folder, version, _ := strings.Cut(ours, "@")
			expect.Same(r.t, "version", version, "v0.2.0")
			s.With = withChecksum(r.t, s.With)
			for key, value := range s.Env {
				r.env[key] = r.value(value)
			}
			ok = r.uses(filepath.Join("..", "..", folder), s.With) && ok
		case strings.Contains(s.If, "hashFiles"):
			s.If = ""
			fallthrough
		default:
			ok = r.job([]step{*s}) && ok
		}
		said += r.out
	}
	r.out = said
	return ok
}

// project has a suite in a checkout whose answers are recorded, and a service to ask.
func (r *ciRunner) project() {
	r.t.Helper()
	server := httptest.NewServer(emulator.New(emulator.Options{}))
	r.t.Cleanup(server.Close)
	r.known["secrets.EVALRUN_API_KEY"], r.known["vars.EVALRUN_BASE_URL"] = "none", server.URL
	r.write(filepath.Join(r.dir, "evals", "suite.yaml"), manyWords())
	cmd := exec.Command(program(r.t), "run", "evals/suite.yaml", "--record", "evals/answers", "-q")
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "EVALRUN_API_KEY=none", "EVALRUN_BASE_URL="+server.URL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	// From now on the suite names a baseline, which no machine of CI has, and the first night no file either.
	r.write(filepath.Join(r.dir, "evals", "suite.yaml"), manyWords()+"gate: {baseline: {run: main, margin: 0.05}}\n")
	git := exec.Command("sh", "-c", "git init -qb main && git add evals/suite.yaml && "+
		"git -c user.name=e -c user.email=e@example.com commit -qm suite && git update-ref refs/remotes/origin/main HEAD")
	git.Dir = r.dir
	if out, err := git.CombinedOutput(); err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
}

// manyWords is a suite that passes where an answer repeats its word.
func manyWords() string {
	var b strings.Builder
	b.WriteString("version: 1\nname: words\ntargets: [{name: pro, model: svc-pro}]\n" +
		"prompts: [{name: p, text: \"Say {{.word}}\"}]\ndefaults: {scorers: [{contains: w}]}\ncases:\n")
	for i := range 60 {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26))
		b.WriteString("  - {name: c" + name + ", vars: {word: w" + name + "}}\n")
	}
	return b.String()
}

// The recipes run as their jobs would. A night makes the baseline. A pull request is compared with it and gets one
// comment; a worse one fails. A fork's gets its comment from a workflow that runs nothing of the fork.
func TestRecipesOfGitHubCommentAndFail(t *testing.T) {
	t.Parallel()
	forge := forgetest.New(t, "body")
	r := newCIRunner(t, forge)
	r.project()

	r.env["GITHUB_REF"], r.known["github.event_name"] = "refs/heads/main", "schedule"
	r.event(`{}`)
	if !r.workflow("nightly") {
		t.Fatalf("the night failed, want it to pass:\n%s", r.out)
	}
	r.says("PASS  60 trials", "no issue is open")
	expect.OK(t, os.Rename(filepath.Join(r.dir, "main.jsonl"), filepath.Join(r.dir, "evals", "main.jsonl")))
	if !r.workflow("nightly") {
		t.Fatalf("the second night failed, want it to pass:\n%s", r.out)
	}
	r.says("compared with evals/main.jsonl", "not worse")

	r.env["GITHUB_REF"], r.known["github.event_name"] = "refs/pull/5/merge", "pull_request"
	r.event(`{"pull_request":{"number":5,"head":{"repo":{"full_name":"o/r"}}}}`)
	for range 2 {
		if !r.workflow("pull-request") {
			t.Fatalf("the pull request failed, want it to pass:\n%s", r.out)
		}
	}
	expect.Same(t, "writes", forge.Writes(), []string{"POST /repos/o/r/issues/5/comments", "PATCH /repos/o/r/issues/comments/1"})
	comment := forge.Notes()[0]["body"].(string)
	for _, want := range []string{
		"<!-- evalrun: words -->\n", "\n## evalrun: PASS\n\n[HTML report](<https://forge.example/artifact/evaluation-html>) · " +
			"[job](<https://forge.example/o/r/actions/runs/77>)\n", "60 passed",
	} {
		expect.Contains(t, "the comment", comment, want)
	}

	worse := strings.Replace(manyWords(), "Say {{.word}}", "SAY {{upper .word}}", 1)
	r.write(filepath.Join(r.dir, "evals", "suite.yaml"), worse)
	if r.workflow("pull-request") {
		t.Error("a worse pull request passed, want it to fail")
	}
	r.says("::error title=", "newly failing")
	expect.Contains(t, "the comment that was updated", forge.Notes()[0]["body"].(string), "## evalrun: FAIL")
	expect.Same(t, "summaries of five runs", strings.Count(readText(t, r.temp, "github-summary"), "## evalrun: "), 5)
}

// A night in batches is submitted by one job and collected by a later one on another machine, and only the last one has a verdict, which
// the issue follows. Without a run that waits there is nothing to collect.
func TestRecipesOfBatchesCollectWhatTheyHaveSubmitted(t *testing.T) {
	t.Parallel()
	forge := forgetest.New(t, "body")
	r := newCIRunner(t, forge)
	r.project()
	r.env["GITHUB_REF"], r.known["github.event_name"] = "refs/heads/main", "schedule"
	r.event(`{}`)
	night := func(schedule string, ok bool, words ...string) {
		t.Helper()
		r.env["HOME"], r.known["github.event.schedule"] = t.TempDir(), schedule
		if r.workflow("nightly-batch") != ok {
			t.Fatalf("got the opposite of %t:\n%s", ok, r.out)
		}
		r.says(words...)
	}
	const evening, hourly = "17 20 * * *", "47 * * * *"
	night(hourly, true, "no run waits")
	for _, good := range []bool{false, true} {
		suite := manyWords()
		if !good {
			suite = strings.Replace(suite, "Say {{.word}}", "SAY {{upper .word}}", 1)
		}
		r.write(filepath.Join(r.dir, "evals", "suite.yaml"), suite)
		before := len(forge.Writes())
		night(evening, true, "submitted the batch", "WAITING", "::warning file=", "the issue stays as it is")
		expect.Same(t, "writes while the run waits", len(forge.Writes()), before)
		night(hourly, good, map[bool]string{true: "PASS  60 trials", false: "FAIL  60 trials"}[good])
		night(hourly, true, "no run waits")
	}
	expect.Same(t, "writes", forge.Writes(), []string{"POST /repos/o/r/issues", "PATCH /repos/o/r/issues/1"})
	r.known["github.event_name"] = "pull_request" // which nobody collects
	night(evening, false, "WAITING")
}

// GitLab's night in batches ends with exit 5, which its job allows, until a later one on another machine has the verdict.
func TestRecipeOfGitLabCollectsBatches(t *testing.T) {
	t.Parallel()
	forge := forgetest.New(t, "body")
	r := newCIRunner(t, forge)
	r.project()
	var jobs map[string]yaml.Node
	expect.OK(t, yaml.Unmarshal([]byte(readText(t, recipes(t), "gitlab-ci.yml")), &jobs))
	env := map[string]string{
		"EVALRUN_VERSION": "v0.2.0", "EVALRUN_SHA256": checksum(t), "CI_PROJECT_ID": "9", "CI_API_V4_URL": forge.URL,
		"CI_JOB_URL": forge.URL, "GITHUB_REPOSITORY": "", "EVALRUN_API_KEY": "none", "EVALRUN_BASE_URL": r.known["vars.EVALRUN_BASE_URL"],
		"EVALRUN_GITLAB_TOKEN": "t",
	}
	for i, job := range []struct {
		batch string
		ok    bool
		says  string
	}{
		{"submit", false, "(exit 5)"}, {"collect", true, "PASS  60 trials"}, {"collect", true, "no run waits"},
	} {
		r.env["HOME"], env["EVALRUN_BATCH"] = t.TempDir(), job.batch
		if _, ok := tryPipelineJob(t, r, jobs, "nightly in batches", env); ok != job.ok {
			t.Errorf("job %d: got %t, want %t\n%s", i, ok, job.ok, r.out)
		}
		r.says(job.says)
		expect.OK(t, os.RemoveAll(filepath.Join(r.dir, "run")))
	}
	expect.Same(t, "writes", len(forge.Writes()), 0)
}

// A fork's pull request has no key and may not write; its comment comes from the second workflow.
func TestRecipesOfForksNeedNoKey(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pull-request", "fork-comment"} {
		if text := readText(t, recipes(t), "github/"+name+".yml"); regexpPullRequestTarget.MatchString(text) {
			t.Errorf("got %s on pull_request_target, want no code of a fork where secrets are", name)
		}
	}
	second, steps := recipeOf(t, "fork-comment")
	if len(steps) != 1 || strings.Contains(readText(t, recipes(t), "github/fork-comment.yml"), "secrets.") {
		t.Errorf("got %d steps, want only the comment, without secrets", len(steps))
	}
	expect.Same(t, "permissions", second.Permissions, map[string]string{"actions": "read", "pull-requests": "write"})

	forge := forgetest.New(t, "body")
	r := newCIRunner(t, forge)
	r.project()
	r.known["secrets.EVALRUN_API_KEY"] = "" // forks get none
	r.known["github.event.pull_request.url"], r.known["github.event.pull_request.head.repo.full_name"] = "https://forge.example/5", "fork/r"
	r.write(filepath.Join(r.dir, "evals", "main.jsonl"), "")
	if r.workflow("pull-request") {
		t.Error("a pull request with a broken baseline passed, want it to fail")
	}
	baseline(r)
	if !r.workflow("pull-request") {
		t.Fatalf("the fork failed, want it to pass:\n%s", r.out)
	}
	r.says("PASS  60 trials")
	expect.Same(t, "writes", len(forge.Writes()), 0)

	r.env["GITHUB_REF"] = "refs/heads/main"
	r.known["github.event.workflow_run.id"], r.known["github.event.workflow_run.html_url"] = "77", "https://forge.example/run/77"
	r.event(`{"workflow_run":{"head_sha":"abc","head_branch":"b","head_repository":{"full_name":"fork/r","owner":{"login":"fork"}}}}`)
	forge.Pulls = `[{"number":8,"head":{"sha":"abc"}}]`
	if !r.workflow("fork-comment") {
		t.Fatalf("the comment failed, want it to pass:\n%s", r.out)
	}
	expect.Same(t, "writes", forge.Writes(), []string{"POST /repos/o/r/issues/8/comments"})
	expect.Contains(t, "whose numbers they are", forge.Notes()[0]["body"].(string),
		"<!-- evalrun: words -->\n> These numbers are of the fork `fork/r`. "+
			"Its author controls the suite and the run; this repository has checked neither.\n",
	)
}

// baseline makes evals/main.jsonl of the recorded answers.
func baseline(r *ciRunner) {
	r.t.Helper()
	for _, args := range [][]string{
		{"run", "evals/suite.yaml", "--replay", "evals/answers", "--out", "main", "-q", "--no-baseline"},
		{"baseline", "set", "main", "main"},
		{"baseline", "export", "main", "-o", "evals/main.jsonl"},
	} {
		cmd := exec.Command(program(r.t), args...)
		cmd.Dir = r.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			r.t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}

// What cannot be installed is not run, and a suite with a typo fails the job without a comment.
func TestActionErrorsFailTheJobWithoutAComment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with map[string]string
		says string
	}{
		"replaced":  {map[string]string{"version": "v6.6.6"}, "it was not installed"},
		"pinned":    {map[string]string{"version": "v0.2.0", "checksum": strings.Repeat("0", 64)}, "it was not installed"},
		"no digest": {map[string]string{"version": "v1.0.0", "checksum": ""}, "version v1.0.0 needs checksum"},
		"no hex":    {map[string]string{"checksum": "x"}, "invalid checksum"},
		"of what":   {map[string]string{"version": "checkout"}, "checksum is of the archive of a release"},
		"a path":    {map[string]string{"version": "v1.2.3/../../x"}, `invalid version "v1.2.3/../../x"`},
		"a line":    {map[string]string{"version": "v1.2.3\nbuild=false"}, `invalid version "v1.2.3build`},
		"outside":   {map[string]string{"name": "../x"}, "invalid name"},
		"missing":   {map[string]string{"version": "v9.9.9"}, "cannot download"},
		"a word":    {map[string]string{"version": "newest"}, `invalid version "newest"`},
		"a typo":    {map[string]string{}, "did you mean `prompts`"},
		"no suite":  {map[string]string{"suite": "evals/none.yaml"}, "evals/none.yaml"},
		"an option": {map[string]string{"args": "--basline x"}, "--baseline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forge := forgetest.New(t, "body")
			r := newCIRunner(t, forge)
			suite := manyWords()
			if name == "a typo" {
				suite = strings.Replace(suite, "prompts:", "promts:", 1)
			}
			r.write(filepath.Join(r.dir, "evals", "suite.yaml"), suite)
			with := withChecksum(t, map[string]string{"suite": "evals/suite.yaml"})
			for key, value := range c.with {
				with[key] = value
			}
			if r.uses("../..", with) {
				t.Errorf("got a job that succeeded, want it to fail:\n%s", r.out)
			}
			r.says(c.says)
			if strings.Contains(r.out, "PASS") || forge.Requests() > 0 {
				t.Errorf("got a run, or %d requests to the forge, want none:\n%s", forge.Requests(), r.out)
			}
		})
	}
}

// A commit of the action is built from its own sources; quotes in args group words.
func TestACommitOfTheActionIsBuiltFromItsSources(t *testing.T) {
	t.Parallel()
	r := newCIRunner(t, forgetest.New(t, "body"))
	r.project()
	r.env["EVALRUN_API_KEY"], r.env["EVALRUN_BASE_URL"] = "none", r.known["vars.EVALRUN_BASE_URL"]
	r.known["github.action_ref"] = "main"
	if !r.uses("../..", map[string]string{"suite": "evals/suite.yaml", "args": `--no-baseline --case 'c*a' -o "json=two words.json"`}) {
		t.Fatalf("the job failed, want it to pass:\n%s", r.out)
	}
	r.says("PASS  3 trials")
	if _, err := os.Stat(filepath.Join(r.dir, "two words.json")); err != nil {
		t.Error(err)
	}
}

// The jobs of GitLab run as a runner would: script and before_script in one shell, after_script in another.
func TestRecipeOfGitLabRunsAsARunnerWould(t *testing.T) {
	t.Parallel()
	forge := forgetest.New(t, "body")
	r := newCIRunner(t, forge)
	r.project()
	var jobs map[string]yaml.Node
	expect.OK(t, yaml.Unmarshal([]byte(readText(t, recipes(t), "gitlab-ci.yml")), &jobs))
	for i, name := range []string{"nightly", "nightly", "merge request", "fork"} {
		env := map[string]string{
			"EVALRUN_VERSION": "v0.2.0", "EVALRUN_SHA256": checksum(t), "CI_PROJECT_ID": "9", "CI_API_V4_URL": forge.URL,
			"CI_JOB_URL": forge.URL, "GITHUB_REPOSITORY": "", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
			"CI_REPOSITORY_URL": ".", "CI_MERGE_REQUEST_PROJECT_URL": ".",
		}
		if name != "fork" {
			env["EVALRUN_API_KEY"], env["EVALRUN_BASE_URL"] = "none", r.known["vars.EVALRUN_BASE_URL"]
			env["EVALRUN_GITLAB_TOKEN"], env["CI_MERGE_REQUEST_IID"] = "t", "5"
		}
		for _, file := range pipelineJob(t, r, jobs, name, env) {
			if _, err := os.Stat(filepath.Join(r.dir, file)); err != nil && (file != "main.jsonl" || i == 0) { // one baseline is enough
				t.Errorf("%s: %v, want no error", name, err)
			}
			if file == "report.md" && i == 1 && !strings.Contains(readText(t, r.dir, file), "Compared with `evals/main.jsonl") {
				t.Error("the second night was compared with nothing, want it compared with the first")
			}
			if file == "main.jsonl" && i == 0 {
				expect.OK(t, os.Rename(filepath.Join(r.dir, file), filepath.Join(r.dir, "evals", file)))
			}
			expect.OK(t, os.RemoveAll(filepath.Join(r.dir, file)))
		}
	}
	expect.Same(t, "writes", forge.Writes(), []string{"POST /projects/9/merge_requests/5/notes"})
}

// pipelineJob runs a job of a pipeline, which passes, and gives the files that it keeps.
func pipelineJob(t *testing.T, r *ciRunner, jobs map[string]yaml.Node, name string, env map[string]string) []string {
	t.Helper()
	files, ok := tryPipelineJob(t, r, jobs, name, env)
	if !ok {
		t.Fatalf("%s failed, want it to pass:\n%s", name, r.out)
	}
	return files
}

func tryPipelineJob(t *testing.T, r *ciRunner, jobs map[string]yaml.Node, name string, env map[string]string) (files []string, ok bool) {
	t.Helper()
	type job struct {
		Script       []string
		BeforeScript []string `yaml:"before_script"`
		AfterScript  []string `yaml:"after_script"`
		Artifacts    struct{ Paths []string }
	}
	var base, own job
	for from, to := range map[string]*job{".evalrun": &base, name: &own} {
		node := jobs[from]
		expect.OK(t, node.Decode(to))
	}
	ok, said := true, ""
	for _, lines := range [][]string{slices.Concat(base.BeforeScript, own.Script), own.AfterScript} {
		ok = (len(lines) == 0 || r.job([]step{{Run: strings.Join(lines, "\n"), Env: env}})) && ok
		said += r.out
	}
	r.out = said
	if len(own.Artifacts.Paths) > 0 {
		return own.Artifacts.Paths, ok
	}
	return base.Artifacts.Paths, ok
}

// Two nights are published as a site with both, without prompts and answers: by GitHub Pages, and by GitLab Pages.
func TestRecipesOfPagesPublishBothNights(t *testing.T) {
	t.Parallel()
	r := newCIRunner(t, forgetest.New(t, "body"))
	r.project()
	r.env["GITHUB_REF"], r.known["github.event_name"] = "refs/heads/main", "schedule"
	r.event(`{}`)
	for range 2 {
		if !r.workflow("pages") {
			t.Fatalf("the night failed, want it to pass:\n%s", r.out)
		}
	}
	r.says("published 2 runs and 1 comparison", "no content")

	var jobs map[string]yaml.Node
	expect.OK(t, yaml.Unmarshal([]byte(readText(t, recipes(t), "gitlab-ci.yml")), &jobs))
	env := map[string]string{
		"EVALRUN_VERSION": "v0.2.0", "EVALRUN_SHA256": checksum(t), "CI_PROJECT_ID": "9",
		"CI_API_V4_URL": r.env["GITHUB_API_URL"], "GITHUB_REPOSITORY": "",
		"EVALRUN_API_KEY": "none", "EVALRUN_BASE_URL": r.known["vars.EVALRUN_BASE_URL"],
	}
	pipelineJob(t, r, jobs, "nightly", env)
	expect.Same(t, "what GitLab keeps", pipelineJob(t, r, jobs, "pages", env), []string{"public"})
	r.says("published 3 runs and 3 comparisons", "no content")
	index := readText(t, filepath.Join(r.dir, "public"), "index.html")
	expect.Contains(t, "the index", index, "Content-Security-Policy")
}

// Everything that recipes and actions take from others is pinned: actions by commit, images by digest.
func TestRecipesPinWhatTheyTake(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(recipes(t), "*", "*.yml"))
	expect.OK(t, err)
	files = append(files, filepath.Join(recipes(t), "gitlab-ci.yml"), "../../action.yml", "../../action/comment/action.yml")
	files = append(files, "../../docs/how-to/github.md")
	pinned := regexp.MustCompile(
		`^(?:uses: (?:[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d|evalrun/evalrun(?:/[\w/]+)?@v)|image: \S+@sha256:[0-9a-f]{64}$)`,
	)
	found := 0
	for _, file := range files {
		for line := range strings.Lines(readText(t, file, "")) {
			line = strings.TrimLeft(strings.TrimSpace(line), "- ")
			if strings.HasPrefix(line, "uses: ") || strings.HasPrefix(line, "image: ") {
				found++
				if !pinned.MatchString(line) {
					t.Errorf("%s: got %s, want a commit or a digest", file, line)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("got %d actions and images, want at least 20", found)
	}
}

// Events of another repository, of a deleted one and of an unknown head are untrusted; those of this repository are not.
func TestActionDistrustsEveryEventOfAFork(t *testing.T) {
	t.Parallel()
	const pull, run, head, before = "github.event.pull_request.url", "github.event.workflow_run.url",
		"github.event.pull_request.head.repo.full_name", "github.event.workflow_run.head_repository.full_name"
	var action struct{ Runs struct{ Steps []step } }
	expect.OK(t, yaml.Unmarshal([]byte(readText(t, "../../action.yml", "")), &action))
	runs := action.Runs.Steps[slices.IndexFunc(action.Runs.Steps, func(s step) bool { return s.ID == "run" })]
	runs.Run = strings.ReplaceAll(runs.Run, "$GITHUB_ACTION_PATH", filepath.Dir(filepath.Dir(recipes(t))))
	for name, c := range map[string]struct {
		event   string
		known   map[string]string
		foreign bool
	}{
		"own":            {"pull_request", map[string]string{pull: "u", head: "o/r"}, false},
		"push":           {"push", map[string]string{}, false},
		"own run":        {"workflow_run", map[string]string{run: "u", before: "o/r"}, false},
		"fork":           {"pull_request", map[string]string{pull: "u", head: "fork/r"}, true},
		"target":         {"pull_request_target", map[string]string{pull: "u", head: "fork/r"}, true},
		"review":         {"pull_request_review", map[string]string{pull: "u", head: "fork/r"}, true},
		"deleted":        {"pull_request_target", map[string]string{pull: "u", head: ""}, true},
		"run of a fork":  {"workflow_run", map[string]string{run: "u", before: "fork/r"}, true},
		"run of nothing": {"workflow_run", map[string]string{run: "u", before: ""}, true},
		"comment":        {"issue_comment", map[string]string{"github.event.issue.pull_request.url": "u"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &ciRunner{t: t, dir: t.TempDir(), temp: t.TempDir(), known: c.known}
			r.write(filepath.Join(r.dir, "evalrun"), "#!/bin/sh\necho \"$@\"\n")
			expect.OK(t, os.Chmod(filepath.Join(r.dir, "evalrun"), 0o700))
			r.env = map[string]string{"PATH": r.dir + ":" + os.Getenv("PATH"), "RUNNER_TEMP": r.temp}
			for key, value := range map[string]string{"suite": "s", "args": "", "answers": "", "name": "n", "collect": "false"} {
				r.known["inputs."+key] = value
			}
			r.known["github.event_name"], r.known["github.repository"] = c.event, "o/r"
			r.job([]step{runs})
			expect.Same(t, "untrusted", strings.Contains(r.out, "untrusted"), c.foreign)
			r.write(filepath.Join(r.dir, ".evalrun", "waiting", "n", "run.jsonl"), "") // which a fork may neither resume nor replace
			r.job([]step{runs})
			expect.Same(t, "resumed", strings.Contains(r.out, "resume "), !c.foreign)
		})
	}
}

// regexpPullRequestTarget finds the event that gives a fork's workflow the secrets of the project.
var regexpPullRequestTarget = regexp.MustCompile(`(?m)^  pull_request_target`)
