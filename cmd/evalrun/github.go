package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

type gitHub struct {
	client
	repository string // owner/name
	event      gitHubEvent
}

// gitHubEvent is the event that started a workflow. `workflow_run` describes the head of the workflow before it.
type gitHubEvent struct {
	PullRequest struct {
		Number int
		Head   struct{ Repo repository }
	} `json:"pull_request"` //nolint:tagliatelle // GitHub's
	WorkflowRun struct {
		HeadSHA        string     `json:"head_sha"`        //nolint:tagliatelle // GitHub's
		HeadBranch     string     `json:"head_branch"`     //nolint:tagliatelle // GitHub's
		HeadRepository repository `json:"head_repository"` //nolint:tagliatelle // GitHub's
	} `json:"workflow_run"` //nolint:tagliatelle // GitHub's
}

type repository struct {
	FullName string `json:"full_name"` //nolint:tagliatelle // GitHub's
	Owner    struct{ Login string }
}

const gitHubAdvice = "give the job `pull-requests: write` for a comment, or `issues: write` for an issue\n" +
	"  a pull request from a fork may never write: `evalrun help github#forks` has a second workflow that comments"

func newGitHub(getenv func(string) string) (*gitHub, error) {
	token := cmp.Or(getenv("GITHUB_TOKEN"), getenv("GH_TOKEN"))
	if token == "" {
		return nil, eval.BadInput("GITHUB_TOKEN is not set; in the step: env: {GITHUB_TOKEN: \"${{ github.token }}\"}")
	}
	c, err := newClient(cmp.Or(getenv("GITHUB_API_URL"), "https://api.github.com"), token, http.Header{
		"Authorization": {"Bearer " + token}, "Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"},
	}, gitHubAdvice)
	if err != nil {
		return nil, err
	}
	h := &gitHub{client: c, repository: getenv("GITHUB_REPOSITORY")}
	if path := getenv("GITHUB_EVENT_PATH"); path != "" {
		data, err := files.ReadFile(path, maxReply)
		if err == nil {
			err = json.Unmarshal(data, &h.event)
		}
		if err != nil {
			return nil, eval.BadInput("GITHUB_EVENT_PATH: %w", err)
		}
	}
	return h, nil
}

// viewer returns "" for the token of a job, which may not read its user.
func (h *gitHub) viewer(ctx context.Context) (string, error) {
	var user struct{ Login string }
	err := h.call(ctx, http.MethodGet, "/user", nil, &user)
	if isRefused(err, http.StatusForbidden, http.StatusNotFound) {
		return "", nil
	}
	return user.Login, err
}

// thread returns the pull request of the event. For forks, GitHub omits it from workflow_run, so thread
// searches by the head.
func (h *gitHub) thread(ctx context.Context) (int, error) {
	if n := h.event.PullRequest.Number; n != 0 {
		return n, nil
	}
	first := h.event.WorkflowRun
	if first.HeadSHA == "" {
		return 0, eval.BadInput("the job is not about a pull request; name one with --number")
	}
	var open []struct {
		Number int
		Head   struct{ SHA string }
	}
	head := url.Values{"state": {"open"}, "per_page": {"100"}, "head": {first.HeadRepository.Owner.Login + ":" + first.HeadBranch}}
	if err := h.call(ctx, http.MethodGet, h.path("pulls?"+head.Encode()), nil, &open); err != nil {
		return 0, err
	}
	for _, pull := range open {
		if pull.Head.SHA == first.HeadSHA {
			return pull.Number, nil
		}
	}
	return 0, eval.Incomplete("no open pull request has the commit %s any more: it was closed, or pushed to since", first.HeadSHA)
}

func (h *gitHub) fork() string {
	switch {
	case h.event.PullRequest.Number != 0:
		return forkOf(h.event.PullRequest.Head.Repo.FullName, h.repository)
	case h.event.WorkflowRun.HeadSHA != "":
		return forkOf(h.event.WorkflowRun.HeadRepository.FullName, h.repository)
	}
	return ""
}

func (h *gitHub) path(rest string) string { return "/repos/" + h.repository + "/" + rest }

type gitHubNote struct {
	ID, Number  int64
	Body        string
	User        struct{ Login, Type string }
	HTMLURL     string          `json:"html_url"`     //nolint:tagliatelle // GitHub's
	PullRequest json.RawMessage `json:"pull_request"` //nolint:tagliatelle // GitHub's
}

func (h *gitHub) notes(ctx context.Context, thread, page int) ([]note, error) {
	return h.list(ctx, fmt.Sprintf("issues/%d/comments?per_page=%d&page=%d", thread, pageSize, page), false)
}

func (h *gitHub) issues(ctx context.Context, page int) ([]note, error) {
	return h.list(ctx, fmt.Sprintf("issues?state=open&per_page=%d&page=%d", pageSize, page), true)
}

// list returns a page of comments or issues. GitHub lists pull requests among issues; they stay as notes
// without a body, so that an empty page is still the last one.
func (h *gitHub) list(ctx context.Context, path string, issues bool) ([]note, error) {
	var all []gitHubNote
	if err := h.call(ctx, http.MethodGet, h.path(path), nil, &all); err != nil {
		return nil, err
	}
	out := make([]note, len(all))
	for i, n := range all {
		out[i] = note{id: n.ID, author: n.User.Login, bot: n.User.Type == "Bot", body: n.Body}
		if issues {
			out[i].id = n.Number
		}
		if n.PullRequest != nil {
			out[i].body = ""
		}
	}
	return out, nil
}

func (h *gitHub) add(ctx context.Context, thread int, body string) (string, error) {
	return h.write(ctx, http.MethodPost, fmt.Sprintf("issues/%d/comments", thread), map[string]string{"body": body})
}

func (h *gitHub) edit(ctx context.Context, _ int, id int64, body string) (string, error) {
	return h.write(ctx, http.MethodPatch, fmt.Sprintf("issues/comments/%d", id), map[string]string{"body": body})
}

func (h *gitHub) open(ctx context.Context, title, body string) (string, error) {
	return h.write(ctx, http.MethodPost, "issues", map[string]string{"title": title, "body": body})
}

func (h *gitHub) change(ctx context.Context, id int64, body string, closed bool) (string, error) {
	fields := map[string]string{"body": body}
	if closed {
		fields["state"] = "closed"
	}
	return h.write(ctx, http.MethodPatch, fmt.Sprintf("issues/%d", id), fields)
}

func (h *gitHub) write(ctx context.Context, method, path string, fields map[string]string) (string, error) {
	var n gitHubNote
	err := h.call(ctx, method, h.path(path), fields, &n)
	return n.HTMLURL, err
}
