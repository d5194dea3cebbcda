package site

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
)

type published struct {
	page.ListedRun
	path string // of its run file, or of the copy without content
	data string // the folder with its blocks
}

// plainID matches ids that can be used in a path unchanged.
var plainID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`) })

// publishedKey returns the name of a run in paths: its id, or a hash if the id has special characters.
func publishedKey(id string) string {
	if plainID().MatchString(id) && !strings.Contains(id, "..") {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

func (s *site) heads(paths []string) error {
	known := map[string]string{}
	var problems []error
	for _, path := range paths {
		header, err := journal.Header(path)
		if err != nil {
			problems = append(problems, eval.BadInput("the run cannot be read: %w", err))
			continue
		}
		r := &published{ListedRun: page.NewListedRun(publishedKey(header.ID), header), path: path}
		if other, twice := known[r.Key]; twice {
			problems = append(problems, eval.BadInput("%s and %s are the same run %s: name one of them", other, path, r.ID))
			continue
		}
		known[r.Key] = path
		s.runs = append(s.runs, r)
	}
	slices.SortStableFunc(s.runs, func(a, b *published) int { return newestFirst(&a.ListedRun, &b.ListedRun) })
	return errors.Join(problems...)
}

// open opens a run and applies its gate. The caller closes it.
func (s *site) open(r *published) (*journal.Document, error) {
	d, err := rundir.At("").Open(r.path)
	if err != nil {
		return nil, err
	}
	if d.Running {
		_ = d.Close() // only read
		return nil, eval.BadInput("run %s is still in progress: publish it when it has ended", r.ID)
	}
	if s.options.NoContent && !d.Run.Options().NoContent {
		if d, err = s.withhold(r, d); err != nil {
			return nil, err
		}
	}
	gate.ApplyIn(s.in, d)
	return d, nil
}

// withhold copies a run as --no-content would have recorded it, and opens the copy instead. It closes d.
func (s *site) withhold(r *published, d *journal.Document) (*journal.Document, error) {
	defer d.Close() //nolint:errcheck // it was only read
	if s.scratch == "" {
		dir, remove, err := files.Scratch()
		if err != nil {
			return nil, err
		}
		s.scratch, s.unscratch = dir, remove
	}
	path := filepath.Join(s.scratch, r.Key, journal.FileName)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(d.WriteWithheld(file), file.Close()); err != nil {
		return nil, err
	}
	r.path = path
	return rundir.At("").Open(path)
}

func (s *site) writeRun(r *published) (page.RunFigures, error) {
	d, err := s.open(r)
	if err != nil {
		return page.RunFigures{}, err
	}
	defer d.Close() //nolint:errcheck // it was only read
	served, err := page.NewServed(d)
	if err != nil {
		return page.RunFigures{}, err
	}
	if err := s.writeBlocks(r, served); err != nil {
		return page.RunFigures{}, err
	}
	s.out.count(r.ID, served.Content())
	return page.Summarize(d), s.to.page(runPage(r), s.drawRun(r))
}

func (s *site) writeBlocks(r *published, served *page.Served) error {
	p, err := s.to.newParcel()
	if err != nil {
		return err
	}
	for _, name := range served.Names() {
		data, err := served.Block(name)
		if errors.Is(err, page.ErrNoBlock) && strings.HasPrefix(name, "image/") {
			continue // it has gone or changed
		}
		if err == nil {
			err = p.block(name, data)
		}
		if err != nil {
			return err
		}
	}
	r.data, err = p.done()
	return err
}

// block writes a block of data as a script, because a page that was opened from a folder can load nothing
// else. The data is base64, so that no part of it can become code.
func (p *dataFolder) block(name string, data []byte) error {
	text, err := page.Packed(data)
	if err != nil {
		return err
	}
	return p.add(name+".js", []byte(`evalrun("`+name+`","`), text, []byte("\");\n"))
}

// count adds the content of a run that readers can see.
func (s *Site) count(id string, c page.TextCounts) {
	if c == (page.TextCounts{}) {
		return
	}
	s.WithContent = append(s.WithContent, id)
	s.Content.Prompts += c.Prompts
	s.Content.Answers += c.Answers
	s.Content.Replies += c.Replies
	s.Content.Images += c.Images
}

// trends answers with the values of all metrics over time. It takes them from the history, and from run
// files for runs that the history lacks.
func (s *Server) trends(w http.ResponseWriter, r *http.Request) {
	end, ok := s.begin(r.Context())
	if !ok {
		return
	}
	defer end()
	all := s.runs.list()
	listed := make([]*page.ListedRun, len(all))
	for i, one := range all {
		listed[i] = &one.ListedRun
	}
	t, warning := page.NewTrends(listed), ""
	if store, err := s.options.Dir.ReadHistory(); err != nil {
		warning = err.Error()
	} else if store != nil {
		if err := t.Take(store); err != nil { // the run files have the same numbers
			t, warning = page.NewTrends(listed), err.Error()
		}
		_ = store.Close() // only read
	}
	open := func(i int) (*journal.Document, error) { return rundir.At("").Open(all[i].path) }
	err := t.TakeRuns(open)
	t.TakeDrift(func(i int) string { return all[i].path })
	answer(w, t.Shown(warning), err)
}
