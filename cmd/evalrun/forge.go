package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// forgeProject is a project on GitHub or GitLab, with a token. A run is posted there as one comment on a pull or merge
// request, or as one issue, which a marker finds again, so that it is edited in place.
//
// It calls the REST APIs itself, because the client libraries would add more to the program than all clients of models.
type forgeProject struct {
	api api
}

// api has the requests that GitHub and GitLab implement differently.
type api interface {
	// viewer returns the login of the token's owner, "" if the token belongs to no person.
	viewer(ctx context.Context) (string, error)
	// thread returns the number of the pull or merge request of this job.
	thread(ctx context.Context) (int, error)
	// notes returns a page of the comments on a thread, and issues a page of the project's open issues.
	// Callers stop at an empty page.
	notes(ctx context.Context, thread, page int) ([]note, error)
	issues(ctx context.Context, page int) ([]note, error)
	// add and edit write a comment; open and change write an issue. Each returns its web page.
	add(ctx context.Context, thread int, body string) (page string, err error)
	edit(ctx context.Context, thread int, id int64, body string) (page string, err error)
	open(ctx context.Context, title, body string) (page string, err error)
	change(ctx context.Context, id int64, body string, closed bool) (page string, err error)
	// fork returns whose numbers the job reports: the repository of the change if it is not this one, "" if it is.
	fork() string
}

type note struct {
	id     int64
	author string
	bot    bool
	body   string
}

// find returns the forge of a CI job, from its environment. It returns an error outside a job, or without a
// token.
func find(getenv func(string) string) (*forgeProject, error) {
	switch {
	case getenv("GITHUB_REPOSITORY") != "":
		h, err := newGitHub(getenv)
		return &forgeProject{h}, err
	case getenv("CI_PROJECT_ID") != "":
		l, err := newGitLab(getenv)
		return &forgeProject{l}, err
	}
	return nil, eval.BadInput("this is not a job of GitHub Actions or GitLab CI: neither GITHUB_REPOSITORY nor CI_PROJECT_ID is set; " +
		"`evalrun report RUN -o markdown` prints the comment")
}

type posted struct {
	Did  string // "created", "updated", "closed", or "" if nothing was to be done
	Page string // address of the comment or issue; why there is none when nothing was to be done
}

// Comment creates or edits the comment that begins with a marker. write makes its text from the earlier one, "" for none.
// Number 0 is the pull request of this job.
func (f *forgeProject) Comment(ctx context.Context, number int, marker string, write func(old string) (string, error)) (posted, error) {
	if number == 0 {
		var err error
		if number, err = f.api.thread(ctx); err != nil {
			return posted{}, err
		}
	}
	old, err := f.own(ctx, marker, func(page int) ([]note, error) { return f.api.notes(ctx, number, page) })
	if err != nil {
		return posted{}, err
	}
	before := ""
	if old != nil {
		before = old.body
	}
	body, err := write(before)
	body = withOwner(body, marker, f.api.fork())
	switch {
	case err != nil:
		return posted{}, err
	case old == nil:
		page, err := f.api.add(ctx, number, body)
		return posted{"created", page}, err
	}
	page, err := f.api.edit(ctx, number, old.id, body)
	return posted{"updated", page}, err
}

// withOwner says below the marker that a fork made the numbers of a comment.
func withOwner(body, marker, fork string) string {
	rest, marked := strings.CutPrefix(body, marker)
	if fork == "" || !marked {
		return body
	}
	return marker + "\n> These numbers are of " + fork +
		". Its author controls the suite and the run; this repository has checked neither.\n" + rest
}

// forkOf names a repository that is not home; "" is one that was deleted.
func forkOf(name, home string) string {
	switch {
	case strings.EqualFold(name, home):
		return ""
	case plainRepository().MatchString(name):
		return "the fork `" + name + "`"
	}
	return "a fork that was deleted"
}

var plainRepository = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._/-]{1,200}$`)
})

// Issue opens an issue for a failing suite, updates it in later failing runs, and closes it when the suite passes.
func (f *forgeProject) Issue(ctx context.Context, marker, title, body string, failing bool) (posted, error) {
	old, err := f.own(ctx, marker, func(page int) ([]note, error) { return f.api.issues(ctx, page) })
	switch {
	case err != nil:
		return posted{}, err
	case old == nil && !failing:
		return posted{}, nil
	case old == nil:
		page, err := f.api.open(ctx, title, body)
		return posted{"created", page}, err
	}
	page, err := f.api.change(ctx, old.id, body, !failing)
	if failing {
		return posted{"updated", page}, err
	}
	return posted{"closed", page}, err
}

// maxPages bounds the search for a marker: 10,000 comments.
const maxPages = 100

// own returns the newest note of the token's owner that begins with a marker, nil if there is none. Anybody can write a marker.
func (f *forgeProject) own(ctx context.Context, marker string, pageOf func(int) ([]note, error)) (*note, error) {
	me, err := f.api.viewer(ctx)
	if err != nil {
		return nil, err
	}
	var found *note
	for page := 1; page <= maxPages; page++ {
		all, err := pageOf(page)
		if err != nil {
			return nil, err
		}
		for _, n := range slices.Backward(all) {
			mine := n.author == me || me == "" && n.bot
			if mine && strings.HasPrefix(n.body, marker) && (found == nil || n.id > found.id) {
				found = &n
			}
		}
		if len(all) < pageSize {
			break
		}
	}
	return found, nil
}
