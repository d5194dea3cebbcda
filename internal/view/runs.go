package view

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/internal/gallery"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/journal"
)

// run is one of the list.
type run struct {
	gallery.ListedRun

	path  string
	stamp stamp
}

// keyOf is what a run is called in addresses.
func keyOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8])
}

// stamp shows whether a run file has changed.
type stamp struct {
	size int64
	time time.Time
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path) //nolint:gosec // out of the list of runs
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(path, journal.FileName)) //nolint:gosec // the same
	}
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.Size(), info.ModTime()}, nil
}

// runs are all runs, found again from time to time.
type runs struct {
	dir   rundir.Dir
	named []string

	mu     sync.Mutex
	paths  []string
	looked time.Time
	byKey  map[string]*run
	known  map[string]summary // by key
}

func newRuns(dir rundir.Dir, named, paths []string) *runs {
	return &runs{dir: dir, named: named, paths: paths, looked: time.Now(), byKey: map[string]*run{}, known: map[string]summary{}}
}

// fresh is how long a list is good.
const fresh = 2 * time.Second

// list gives the runs, the newest first. What cannot be read is left out.
func (rs *runs) list() []*run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if time.Since(rs.looked) > fresh {
		if paths, err := rs.dir.FindRuns(rs.named); err == nil { // else what was named has gone; the rest stays
			rs.paths = paths
		}
		rs.looked = time.Now()
	}
	out := []*run{}
	for _, path := range rs.paths {
		if r := rs.at(path); r != nil {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *run) int {
		return cmp.Or(strings.Compare(b.StartedAt, a.StartedAt), strings.Compare(b.ID, a.ID))
	})
	return out
}

// at reads the head of a run, unless it is known.
func (rs *runs) at(path string) *run {
	key := keyOf(path)
	now, err := stampOf(path)
	if err != nil {
		delete(rs.byKey, key)
		delete(rs.known, key)
		return nil
	}
	if known := rs.byKey[key]; known != nil && now.size >= known.stamp.size { // the head stays while lines are added
		return known
	}
	head, err := journal.Header(path)
	if err != nil {
		return nil
	}
	r := &run{ListedRun: gallery.NewListedRun(key, head), path: path, stamp: now}
	rs.byKey[key] = r
	return r
}

// find gives a run of the list by its key.
func (rs *runs) find(key string) *run {
	for _, listed := range []bool{false, true} {
		if listed {
			rs.list() // it may be new
		}
		rs.mu.Lock()
		r := rs.byKey[key]
		rs.mu.Unlock()
		if r != nil {
			return r
		}
	}
	return nil
}

// found is the run of a request, which is answered when there is none.
func (s *Server) found(w http.ResponseWriter, key string) (*run, bool) {
	r := s.runs.find(key)
	if r == nil {
		refuse(w, http.StatusNotFound, "there is no such run: see the list of runs")
	}
	return r, r != nil
}

func (s *Server) listRuns(w http.ResponseWriter, _ *http.Request) { answer(w, s.runs.list()) }

// summary is a run of the list in numbers, as its file was.
type summary struct {
	gallery.RunFigures

	stamp stamp
}

func (s *Server) summary(w http.ResponseWriter, r *http.Request) {
	one, ok := s.found(w, r.PathValue("run"))
	if !ok {
		return
	}
	now, err := stampOf(one.path)
	if err != nil {
		refuse(w, http.StatusNotFound, "the run no longer exists")
		return
	}
	s.runs.mu.Lock()
	known, ok := s.runs.known[one.Key]
	s.runs.mu.Unlock()
	if !ok || known.stamp != now || known.State == "running" {
		end, ok := s.begin(r.Context())
		if !ok {
			return
		}
		known = summary{summarize(one.path), now}
		end()
		s.runs.mu.Lock()
		s.runs.known[one.Key] = known
		s.runs.mu.Unlock()
	}
	answer(w, known)
}

// summarize reads a run for its numbers.
func summarize(path string) gallery.RunFigures {
	d, err := rundir.At("").Open(path)
	if err != nil {
		return gallery.Unreadable(err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	if !d.Running {
		verdict.Apply(d)
	}
	return gallery.Summarize(d)
}
