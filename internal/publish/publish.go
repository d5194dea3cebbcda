// Package publish writes runs as a site of static files. It has the pages of the HTML report, a list of the runs, the
// trends of their metrics, and comparisons of runs of the same suite. The site needs no server, and opens from a folder
// as well. Data are in blocks of their own, which pages read when they need them.
//
// The usual order: Write. folder.go says how the files replace those of before.
package publish

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/gallery"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
)

// mostRuns is how many runs a site may have.
const mostRuns = 1000

// Options say what is published, and where.
type Options struct {
	// Runs are runs, folders with runs, and selectors, as rundir.Dir.NamedRuns takes them. Required.
	Runs []string
	// Out is the folder of the site: one that is not there yet, an empty one, or one of an earlier Write. Required.
	Out string
	// NoContent leaves out prompts, answers, and words that may quote them.
	NoContent bool
	// Margin is how much lower a rate may be in a comparison and still count as not worse. Optional: without it there are
	// estimates and no verdicts.
	Margin float64
}

// Site says what was written.
type Site struct {
	Index       string // path of the first page
	Runs        int
	Comparisons int
	LeftOut     int             // comparisons that are left out, since there would be too many
	Content     page.TextCounts // what of it can be read in the site
	WithContent []string        // ids of the runs with any of it
	Withheld    bool            // of all runs: nothing can be read
}

// site is a site that is being written.
type site struct {
	options Options
	in      rundir.Dir
	to      *folder
	scratch string // a folder for copies without content; "" until there is one
	runs    []*published
	assets  addresses
	out     Site
}

// Write writes the site. The error is about a run that is not there, is still running or cannot be read, or about a
// folder that is not one of a site.
func Write(in rundir.Dir, o Options) (_ *Site, err error) {
	s := &site{options: o, in: in}
	if err := s.check(); err != nil {
		return nil, err
	}
	paths, err := in.NamedRuns(o.Runs)
	if err != nil {
		return nil, err
	}
	if len(paths) > mostRuns {
		return nil, exit.BadInput("%d runs are named, and a site may have %d: name fewer", len(paths), mostRuns)
	}
	if err := s.heads(paths); err != nil {
		return nil, err
	}
	if s.to, err = openFolder(in.Join(o.Out)); err != nil {
		return nil, err
	}
	defer s.to.close()
	defer s.tidy()
	if err := s.write(); err != nil {
		return nil, fmt.Errorf("the site cannot be written: %w", err)
	}
	s.out.Index = s.to.path(indexPage)
	return &s.out, nil
}

// check wants options that make sense.
func (s *site) check() error {
	switch m := s.options.Margin; {
	case s.options.Out == "":
		return exit.BadInput("--out is missing: name the folder of the site, such as --out public")
	case len(s.options.Runs) == 0:
		return exit.BadInput("no run is named: evalrun publish latest --out %s", s.options.Out)
	case m != 0 && !(m > 0 && m < 1):
		return exit.BadInput("--margin is a number between 0 and 1, such as 0.05")
	}
	return nil
}

// write writes data, then the pages that lead to them, and removes what is no longer used.
func (s *site) write() error {
	if err := s.writeAssets(); err != nil {
		return err
	}
	list := gallery.RunList{Runs: []gallery.ListedRun{}, Numbers: map[string]gallery.RunFigures{}}
	for _, r := range s.runs {
		summary, err := s.writeRun(r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
		list.Runs, list.Numbers[r.Key] = append(list.Runs, r.ListedRun), summary
	}
	compared, err := s.compareAll()
	if err != nil {
		return err
	}
	if err := s.writeGallery(list, compared); err != nil {
		return err
	}
	s.out.Runs, s.out.Withheld = len(s.runs), s.out.Content == page.TextCounts{} && len(s.out.WithContent) == 0
	return s.to.commit()
}

// tidy removes the copies without content.
func (s *site) tidy() {
	if s.scratch != "" {
		_ = os.RemoveAll(s.scratch) // it is in the folder for temporary files
	}
}

// newestFirst orders runs as pages list them.
func newestFirst(runs []*published) {
	slices.SortStableFunc(runs, func(a, b *published) int {
		return cmp.Or(strings.Compare(b.StartedAt, a.StartedAt), strings.Compare(b.ID, a.ID))
	})
}
