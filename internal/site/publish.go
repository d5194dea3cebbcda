// Package site shows runs in the browser: as pages that a server on this machine serves, or as a static site.
package site

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
)

// mostRuns bounds the runs of a site.
const mostRuns = 1000

// PublishOptions configure a site.
type PublishOptions struct {
	// Runs are runs, folders with runs, and selectors, as in rundir.Dir.NamedRuns. Required.
	Runs []string
	// Out is the folder of the site: a new or empty one, or one of an earlier Write. Required.
	Out string
	// NoContent leaves out prompts, answers, and texts that may quote them.
	NoContent bool
	// Margin is how much lower a rate may be and still count as not worse. Optional: without it,
	// comparisons have estimates and no verdicts.
	Margin float64
}

// Site is the result of Write.
type Site struct {
	Index       string // path of the first page
	Runs        int
	Comparisons int
	LeftOut     int             // comparisons that are left out, since there would be too many
	Content     page.TextCounts // what of it can be read in the site
	WithContent []string        // ids of the runs with any of it
	Withheld    bool            // of all runs: nothing can be read
	Foreign     []string        // what is in the folders of the site and was not written by Write: it stays
}

type site struct {
	options   PublishOptions
	in        rundir.Dir
	to        *folder
	scratch   string // a folder for copies without content; "" until one is needed
	unscratch func() // removes it
	runs      []*published
	assets    addresses
	out       Site
}

// Write writes the site. It returns an error for a run that is missing, unreadable or still in progress,
// and for a folder that has something else.
func Write(in rundir.Dir, o PublishOptions) (_ *Site, err error) {
	s := &site{options: o, in: in}
	if err := s.check(); err != nil {
		return nil, err
	}
	paths, err := in.NamedRuns(o.Runs)
	if err != nil {
		return nil, err
	}
	if len(paths) > mostRuns {
		return nil, eval.BadInput("%d runs are named, and a site may have %d: name fewer", len(paths), mostRuns)
	}
	if err := s.heads(paths); err != nil {
		return nil, err
	}
	if link := files.Link(in.Abs(""), in.Join(o.Out)); link != "" {
		return nil, eval.BadInput("%s is a link, and a site replaces files: name the folder itself with --out", link)
	}
	if s.to, err = openFolder(in.Join(o.Out)); err != nil {
		return nil, err
	}
	defer s.to.close()
	defer s.tidy()
	if err := s.write(); err != nil {
		return nil, fmt.Errorf("the site cannot be written: %w", err)
	}
	s.out.Index, s.out.Foreign = s.to.path(indexPage), s.to.foreign
	return &s.out, nil
}

// check refuses invalid options.
func (s *site) check() error {
	switch m := s.options.Margin; {
	case s.options.Out == "":
		return eval.BadInput("--out is missing: name the folder of the site, such as --out public")
	case len(s.options.Runs) == 0:
		return eval.BadInput("no run is named: evalrun publish latest --out %s", s.options.Out)
	case m != 0 && !(m > 0 && m < 1):
		return eval.BadInput("--margin is a number between 0 and 1, such as 0.05")
	}
	return nil
}

// write writes data first, then the pages that use it, and then deletes old data.
func (s *site) write() error {
	if err := s.writeAssets(); err != nil {
		return err
	}
	list := page.RunList{Runs: []page.ListedRun{}, Numbers: map[string]page.RunFigures{}}
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

// tidy deletes the copies without content.
func (s *site) tidy() {
	if s.scratch != "" {
		s.unscratch()
	}
}

// newestFirst sorts runs as pages list them.
func newestFirst(runs []*published) {
	slices.SortStableFunc(runs, func(a, b *published) int {
		return cmp.Or(strings.Compare(b.StartedAt, a.StartedAt), strings.Compare(b.ID, a.ID))
	})
}
