package runs

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/internal/site"
)

// Publishing configures Publish.
type Publishing = site.PublishOptions

// published is a site that was written.
type published struct{ site *site.Site }

// Publish writes runs as a static site.
func (f Folder) Publish(o Publishing) (*published, error) {
	site, err := site.Write(f.Dir, o)
	if err != nil {
		return nil, err
	}
	return &published{site}, nil
}

// Index returns the path of the first page.
func (p *published) Index() string { return p.site.Index }

// Notices say what was published, and which prompts and answers readers can see.
func (p *published) Notices() []string {
	s := p.site
	out := []string{fmt.Sprintf("published %s and %s", counted(s.Runs, "run"), counted(s.Comparisons, "comparison"))}
	if s.LeftOut > 0 {
		out[0] += fmt.Sprintf("; %s left out, of runs that are further apart", counted(s.LeftOut, "comparison"))
	}
	if len(s.Foreign) > 0 {
		out = append(out, fmt.Sprintf("left where it was, because evalrun publish did not write it: %s", someOf(s.Foreign)))
	}
	const names = "names of suites, cases, arms, models and branches, outcomes, scores and settings"
	if len(s.WithContent) == 0 {
		return append(out, "no content: readers of the site see "+names+", and no prompts or answers")
	}
	var of []string
	for _, one := range []struct {
		n    int
		noun string
	}{
		{s.Content.Prompts, "prompt"}, {s.Content.Answers, "answer"}, {s.Content.Replies, "judge reply"}, {s.Content.Images, "image"},
	} {
		if one.n > 0 {
			of = append(of, counted(one.n, one.noun))
		}
	}
	return append(out, fmt.Sprintf(
		"content: readers of the site see %s of %s (%s), and %s; --no-content leaves prompts and answers out",
		cmp.Or(strings.Join(of, ", "), "texts"), counted(len(s.WithContent), "run"), someOf(s.WithContent), names,
	))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func someOf(ids []string) string {
	const most = 3
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}
