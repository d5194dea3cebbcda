package site

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
)

type viewedRun struct {
	page.ListedRun

	path  string
	stamp stamp
}

// keyOf hashes the path, so that addresses show no paths and no text of a request becomes one.
func keyOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8])
}

// stamp is compared to find out whether a run file has changed.
type stamp struct {
	size int64
	time time.Time
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path) //nolint:gosec // the path is from the list of runs
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(path, journal.FileName)) //nolint:gosec // the path is from the list of runs
	}
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.Size(), info.ModTime()}, nil
}

// runs searches the folders again when its list is older than fresh.
type runs struct {
	dir   rundir.Dir
	named []string

	mu        sync.Mutex
	paths     []string
	looked    time.Time
	byKey     map[string]*viewedRun
	summaries map[string]summary // by key
}

func newRuns(dir rundir.Dir, named, paths []string) *runs {
	return &runs{dir: dir, named: named, paths: paths, looked: time.Now(), byKey: map[string]*viewedRun{}, summaries: map[string]summary{}}
}

// fresh is how long a list of runs is used before the folders are searched again.
const fresh = 2 * time.Second

// list returns the runs, the newest first. It leaves out runs that cannot be read.
func (rs *runs) list() []*viewedRun {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if time.Since(rs.looked) > fresh {
		if paths, err := rs.dir.FindRuns(rs.named); err == nil { // else a named path has gone, and the old list stays
			rs.paths = paths
		}
		rs.looked = time.Now()
	}
	out := []*viewedRun{}
	for _, path := range rs.paths {
		if r := rs.at(path); r != nil {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *viewedRun) int { return newestFirst(&a.ListedRun, &b.ListedRun) })
	return out
}

// at returns the run at a path, and reads its head unless it is known.
func (rs *runs) at(path string) *viewedRun {
	key := keyOf(path)
	now, err := stampOf(path)
	if err != nil {
		delete(rs.byKey, key)
		delete(rs.summaries, key)
		return nil
	}
	if known := rs.byKey[key]; known != nil && now.size >= known.stamp.size { // appending leaves the head as it is
		return known
	}
	head, err := journal.Header(path)
	if err != nil {
		return nil
	}
	r := &viewedRun{ListedRun: page.NewListedRun(key, head), path: path, stamp: now}
	rs.byKey[key] = r
	return r
}

// find searches the list for a key. It looks for new runs when the key is unknown.
func (rs *runs) find(key string) *viewedRun {
	for _, listed := range []bool{false, true} {
		if listed {
			rs.list() // the run may be new
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

// found returns the run of a request. It refuses the request when there is no such run.
func (s *Server) found(w http.ResponseWriter, key string) (*viewedRun, bool) {
	r := s.runs.find(key)
	if r == nil {
		refuse(w, http.StatusNotFound, "there is no such run: see the list of runs")
	}
	return r, r != nil
}

func (s *Server) listRuns(w http.ResponseWriter, _ *http.Request) { answer(w, s.runs.list(), nil) }

// summary has a stamp, so that it is made again when its run file has changed.
type summary struct {
	page.RunFigures

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
	known, ok := s.runs.summaries[one.Key]
	s.runs.mu.Unlock()
	if !ok || known.stamp != now || known.Phase == page.InProgress {
		end, ok := s.begin(r.Context())
		if !ok {
			return
		}
		known = summary{summarize(one.path), now}
		end()
		s.runs.mu.Lock()
		s.runs.summaries[one.Key] = known
		s.runs.mu.Unlock()
	}
	answer(w, known, nil)
}

func summarize(path string) page.RunFigures {
	d, err := rundir.At("").Open(path)
	if err != nil {
		return page.Unreadable(err)
	}
	defer d.Close() //nolint:errcheck // only read
	if !d.Running {
		gate.Apply(d)
	}
	return page.Summarize(d)
}
