package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/evalrun/evalrun/eval"
)

type gitLab struct {
	client
	project string
	request string // CI_MERGE_REQUEST_IID
	page    string // the project's web page
	source  string // what forkOf says of the project of the change
}

const gitLabAdvice = "EVALRUN_GITLAB_TOKEN needs the scope `api` and the role Reporter in this project; " +
	"the job token of GitLab cannot write notes"

func newGitLab(getenv func(string) string) (*gitLab, error) {
	token := cmp.Or(getenv("EVALRUN_GITLAB_TOKEN"), getenv("GITLAB_TOKEN"))
	if token == "" {
		return nil, eval.BadInput("EVALRUN_GITLAB_TOKEN is not set; it is a project access token with the scope `api`: " +
			"the job token of GitLab cannot write notes")
	}
	c, err := newClient(
		cmp.Or(getenv("CI_API_V4_URL"), "https://gitlab.com/api/v4"), token, http.Header{"Private-Token": {token}}, gitLabAdvice,
	)
	l := &gitLab{client: c, project: getenv("CI_PROJECT_ID"), request: getenv("CI_MERGE_REQUEST_IID"), page: getenv("CI_PROJECT_URL")}
	if getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_ID") != getenv("CI_MERGE_REQUEST_PROJECT_ID") {
		l.source = forkOf(getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"), getenv("CI_MERGE_REQUEST_PROJECT_PATH"))
	}
	return l, err
}

func (l *gitLab) viewer(ctx context.Context) (string, error) {
	var user struct{ Username string }
	err := l.call(ctx, http.MethodGet, "/user", nil, &user)
	if err == nil && user.Username == "" {
		err = eval.Incomplete("the forge does not say whose token EVALRUN_GITLAB_TOKEN is")
	}
	return user.Username, err
}

func (l *gitLab) thread(context.Context) (int, error) {
	n, err := strconv.Atoi(l.request)
	if err != nil || n <= 0 {
		return 0, eval.BadInput("the job is not about a merge request (CI_MERGE_REQUEST_IID is %q); name one with --number", l.request)
	}
	return n, nil
}

func (l *gitLab) fork() string { return l.source }

func (l *gitLab) path(rest string) string {
	return "/projects/" + url.PathEscape(l.project) + "/" + rest
}

type gitLabNote struct {
	ID, IID     int64
	Body        string
	Description string
	Author      struct{ Username string }
	WebURL      string `json:"web_url"` //nolint:tagliatelle // GitLab's
}

func (l *gitLab) notes(ctx context.Context, thread, page int) ([]note, error) {
	return l.list(ctx, fmt.Sprintf("merge_requests/%d/notes?per_page=%d&page=%d", thread, pageSize, page), false)
}

func (l *gitLab) issues(ctx context.Context, page int) ([]note, error) {
	return l.list(ctx, fmt.Sprintf("issues?state=opened&per_page=%d&page=%d", pageSize, page), true)
}

func (l *gitLab) list(ctx context.Context, path string, issues bool) ([]note, error) {
	var all []gitLabNote
	if err := l.call(ctx, http.MethodGet, l.path(path), nil, &all); err != nil {
		return nil, err
	}
	out := make([]note, len(all))
	for i, n := range all {
		out[i] = note{id: n.ID, author: n.Author.Username, body: n.Body}
		if issues {
			out[i].id, out[i].body = n.IID, n.Description
		}
	}
	return out, nil
}

func (l *gitLab) add(ctx context.Context, thread int, body string) (string, error) {
	return l.writeNote(ctx, http.MethodPost, thread, "", body)
}

func (l *gitLab) edit(ctx context.Context, thread int, id int64, body string) (string, error) {
	return l.writeNote(ctx, http.MethodPut, thread, fmt.Sprintf("/%d", id), body)
}

// writeNote builds the address of the note, because GitLab does not send it.
func (l *gitLab) writeNote(ctx context.Context, method string, thread int, id, body string) (string, error) {
	var n gitLabNote
	err := l.call(ctx, method, l.path(fmt.Sprintf("merge_requests/%d/notes%s", thread, id)), map[string]string{"body": body}, &n)
	if err != nil || l.page == "" {
		return "", err
	}
	return fmt.Sprintf("%s/-/merge_requests/%d#note_%d", l.page, thread, n.ID), nil
}

func (l *gitLab) open(ctx context.Context, title, body string) (string, error) {
	return l.writeIssue(ctx, http.MethodPost, "issues", map[string]string{"title": title, "description": body})
}

func (l *gitLab) change(ctx context.Context, id int64, body string, closed bool) (string, error) {
	fields := map[string]string{"description": body}
	if closed {
		fields["state_event"] = "close"
	}
	return l.writeIssue(ctx, http.MethodPut, fmt.Sprintf("issues/%d", id), fields)
}

func (l *gitLab) writeIssue(ctx context.Context, method, path string, fields map[string]string) (string, error) {
	var n gitLabNote
	err := l.call(ctx, method, l.path(path), fields, &n)
	return n.WebURL, err
}
