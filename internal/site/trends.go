package site

import (
	"net/http"

	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
)

// trends answers with the values of all metrics over time. It takes them from the history, and from run
// files for runs that the history lacks.
func (s *Server) trends(w http.ResponseWriter, r *http.Request) {
	end, ok := s.begin(r.Context())
	if !ok {
		return
	}
	defer end()
	all, keys := s.runs.list(), map[string]string{}
	var ids []string
	for _, one := range all {
		keys[one.ID] = one.Key
		ids = append(ids, one.ID)
	}
	t, warning := page.NewTrends(keys), ""
	if store, err := s.options.Dir.ReadHistory(); err != nil {
		warning = err.Error()
	} else if store != nil {
		if err := t.Take(store); err != nil { // the run files have the same numbers
			t, warning = page.NewTrends(keys), err.Error()
		}
		_ = store.Close() // only read
	}
	open := func(i int) (*journal.Document, error) { return rundir.At("").Open(all[i].path) }
	if err := t.TakeRuns(ids, open); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, t.Shown(warning))
}
