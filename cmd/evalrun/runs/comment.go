package runs

import (
	"context"
	"net/url"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// Commenting says where to post a run.
type Commenting struct {
	Issue  bool     // an issue of the project instead of a comment
	Number int      // of the pull or merge request; 0 is the job's own
	Links  []string // further links, each as TEXT=URL
	Getenv func(string) string
}

// Comment posts a run as a comment on a pull or merge request, or as an issue.
func (f Folder) Comment(ctx context.Context, name string, o Commenting) (posted, error) {
	links, err := linksOf(o.Links)
	if err != nil {
		return posted{}, err
	}
	at, err := find(o.Getenv)
	if err != nil {
		return posted{}, err
	}
	doc, err := f.open(name)
	if err != nil {
		return posted{}, err
	}
	defer doc.Close() //nolint:errcheck // only read
	if doc.Running {
		return posted{}, eval.BadInput("the run %s is still in progress; comment on it when it finishes", name)
	}
	var body strings.Builder
	if err := reports.Markdown(&body, doc, reports.Options{Links: links}); err != nil {
		return posted{}, err
	}
	marker := reports.Marker(&doc.Run)
	if !o.Issue {
		return at.Comment(ctx, o.Number, marker, body.String())
	}
	return at.Issue(ctx, marker, "evalrun: "+titleOf(doc), body.String(), doc.Gate().Exit != eval.CodeOK)
}

func titleOf(doc *journal.Document) string {
	const most = 3
	var names []string
	for i := range doc.Run.Suites {
		if i == most {
			return strings.Join(names, ", ") + " and more"
		}
		names = append(names, doc.Run.Suites[i].Name)
	}
	return strings.Join(names, ", ")
}

func linksOf(texts []string) (all []reports.Link, err error) {
	for _, text := range texts {
		words, address, ok := strings.Cut(text, "=")
		u, err := url.Parse(address)
		if !ok || words == "" || err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, eval.BadInput("invalid --link %q: a link is TEXT=URL with an http or https address", text)
		}
		all = append(all, reports.Link{Text: words, URL: address})
	}
	return all, nil
}
