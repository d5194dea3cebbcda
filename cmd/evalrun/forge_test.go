package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/forgetest"
)

const mark = "<!-- evalrun: s -->"

func saysOf(body string) func(string) (string, error) {
	return func(string) (string, error) { return body, nil }
}

// thread is a server with the environments of jobs that use it.
type thread struct {
	*forgetest.FakeForge
	t *testing.T
}

func newThread(t *testing.T, key string) *thread {
	t.Helper()
	return &thread{forgetest.New(t, key), t}
}

// on finds a forge in the environment of a job.
func (h *thread) on(env map[string]string) *forgeProject {
	h.t.Helper()
	f, err := find(func(name string) string { return strings.ReplaceAll(env[name], "URL", h.URL) })
	expect.OK(h.t, err)
	return f
}

func (h *thread) gitHub(event string) *forgeProject {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "event.json")
	expect.OK(h.t, os.WriteFile(path, []byte(event), 0o600))
	return h.on(map[string]string{
		"GITHUB_REPOSITORY": "o/r", "GITHUB_TOKEN": "t", "GITHUB_API_URL": "URL", "GITHUB_EVENT_PATH": path,
	})
}

func (h *thread) gitLab() *forgeProject {
	h.t.Helper()
	return h.on(map[string]string{
		"CI_PROJECT_ID": "9", "EVALRUN_GITLAB_TOKEN": "t", "CI_API_V4_URL": "URL", "CI_MERGE_REQUEST_IID": "5",
		"CI_PROJECT_URL": "https://forge.example/g/p",
	})
}

// The second run edits the comment of the first, however many comments others wrote, and never one that somebody else marked.
func TestEachSuiteKeepsOneComment(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		forge func(*thread) *forgeProject
		edit  string
	}{
		"GitHub": {func(h *thread) *forgeProject {
			return h.gitHub(`{"pull_request":{"number":5,"head":{"repo":{"full_name":"o/r"}}}}`)
		}, "PATCH /repos/o/r/issues/comments/"},
		"GitLab": {(*thread).gitLab, "PUT /projects/9/merge_requests/5/notes/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newThread(t, "body")
			h.AddNotes("mallory", "User", mark+" not evalrun's")
			h.AddNotes("robot", "Bot", "<!-- evalrun: another -->")
			f := one.forge(h)
			first, err := f.Comment(t.Context(), 0, mark, saysOf(mark+"\nfirst"))
			expect.OK(t, err)
			for range 250 {
				h.AddNotes("ann", "User", "a remark")
			}
			second, err := f.Comment(t.Context(), 0, mark, saysOf(mark+"\nsecond"))
			expect.OK(t, err)
			expect.Same(t, "done", []string{first.Did, second.Did}, []string{"created", "updated"})
			expect.Same(t, "writes", len(h.Writes()), 2)
			expect.Same(t, "edit", h.Writes()[1], one.edit+"3")
			expect.Same(t, "comment", h.Notes()[2]["body"], any(mark+"\nsecond"))
			expect.Same(t, "the stranger's", h.Notes()[0]["body"], any(mark+" not evalrun's"))
		})
	}
}

// A workflow that comments for a fork finds the pull request by its commit, and not in what the fork made.
func TestAForksPullRequestIsFoundByItsCommit(t *testing.T) {
	t.Parallel()
	event := `{"workflow_run":{"head_sha":"abc","head_branch":"b","head_repository":{"owner":{"login":"fork"}}}}`
	h := newThread(t, "body")
	h.Pulls = `[{"number":3,"head":{"sha":"old"}},{"number":8,"head":{"sha":"abc"}}]`
	_, err := h.gitHub(event).Comment(t.Context(), 0, mark, saysOf(mark))
	expect.OK(t, err)
	expect.Same(t, "writes", h.Writes(), []string{"POST /repos/o/r/issues/8/comments"})

	_, err = h.gitHub(strings.Replace(event, "abc", "gone", 1)).Comment(t.Context(), 0, mark, saysOf(mark))
	expect.Contains(
		t, "without a pull request", fmt.Sprint(err),
		"no open pull request has the commit gone any more: it was closed, or pushed to since",
	)
}

// One issue lives while runs fail.
func TestIssueFollowsTheVerdict(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		forge  func(*thread) *forgeProject
		key    string
		closed map[string]any
	}{
		"GitHub": {func(h *thread) *forgeProject { return h.gitHub(`{}`) }, "body", map[string]any{"state": "closed"}},
		"GitLab": {(*thread).gitLab, "description", map[string]any{"state_event": "close"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newThread(t, one.key)
			h.AddNotes("mallory", "User", mark)
			f := one.forge(h)
			var did []string
			for _, failing := range []bool{false, true, true, false} {
				done, err := f.Issue(t.Context(), mark, "evalrun: s", mark+"\nbody", failing)
				expect.OK(t, err)
				did = append(did, done.Did)
			}
			expect.Same(t, "done", did, []string{"", "created", "updated", "closed"})
			expect.Same(t, "writes", len(h.Writes()), 3)
			for key, want := range one.closed {
				expect.Same(t, key, h.Notes()[1][key], want)
			}
			if h.Notes()[0]["state"] != nil || h.Notes()[0]["state_event"] != nil {
				t.Error("got the issue of somebody else closed, want it open")
			}
		})
	}
}

// What is missing, refused or out of reach says what to do.
func TestForgeErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"address": {
			map[string]string{"CI_PROJECT_ID": "9", "GITLAB_TOKEN": "t", "CI_API_V4_URL": "file:///x"}, "not an http or https address",
		},
		"event": {
			map[string]string{"GITHUB_REPOSITORY": "o/r", "GH_TOKEN": "t", "GITHUB_EVENT_PATH": "no such file"}, "GITHUB_EVENT_PATH",
		},
	} {
		_, err := find(func(key string) string { return c.env[key] })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	h := newThread(t, "body")
	h.Refuse = http.StatusForbidden
	_, err := h.gitHub(`{"pull_request":{"number":5,"head":{"repo":{"full_name":"o/r"}}}}`).Comment(t.Context(), 0, mark, saysOf(mark))
	for _, want := range []string{
		"the forge refuses POST /repos/o/r/issues/5/comments: status 403: Resource not accessible by integration",
		"pull-requests: write", "evalrun help github#forks",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f := h.gitHub(`{}`)
	_, err = f.Comment(t.Context(), 0, mark, saysOf(mark))
	if err == nil || !strings.Contains(err.Error(), "the job is not about a pull request; name one with --number") {
		t.Errorf("got %v for a job without a pull request, want one that names --number", err)
	}
	f = h.on(map[string]string{"CI_PROJECT_ID": "9", "GITLAB_TOKEN": "t", "CI_API_V4_URL": "URL"})
	_, err = f.Comment(t.Context(), 0, mark, saysOf(mark))
	const want = `the job is not about a merge request (CI_MERGE_REQUEST_IID is ""); name one with --number`
	if err == nil || err.Error() != want {
		t.Errorf("got %v for a job without a merge request, want %s", err, want)
	}
	h.Close()
	if _, err = f.Comment(context.Background(), 1, mark, saysOf(mark)); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v from a dead forge, want one that says so", err)
	}
}

// A redirect does not take the token elsewhere.
func TestARedirectNeverTakesTheToken(t *testing.T) {
	t.Parallel()
	elsewhere := newThread(t, "body")
	away := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/user", http.StatusFound))
	defer away.Close()
	f, err := find(func(name string) string {
		return map[string]string{"CI_PROJECT_ID": "9", "GITLAB_TOKEN": "t", "CI_API_V4_URL": away.URL}[name]
	})
	expect.OK(t, err)
	if _, err := f.Comment(t.Context(), 1, mark, saysOf(mark)); err == nil || elsewhere.Requests() > 0 {
		t.Errorf("got %v, and elsewhere %d requests, want an error and no request", err, elsewhere.Requests())
	}
}
