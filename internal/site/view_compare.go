package site

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
)

// mostCompared bounds the comparisons that stay in memory.
const mostCompared = 8

// comparisons caches recent comparisons, because the blocks of one page are separate requests.
type comparisons struct {
	mu  sync.Mutex
	all []compared // the newest last
}

type compared struct {
	of compareKey
	c  *compare.Comparison
}

// compareKey includes the stamps of both run files, so that a run that has grown is compared again.
type compareKey struct {
	base, head       string
	baseWas, headWas stamp
	margin           float64
}

func (cs *comparisons) find(key compareKey) *compare.Comparison {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, one := range cs.all {
		if one.of == key {
			return one.c
		}
	}
	return nil
}

func (cs *comparisons) keep(key compareKey, c *compare.Comparison) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.all = append(cs.all, compared{key, c}); len(cs.all) > mostCompared {
		cs.all = cs.all[1:]
	}
}

// comparisonPage serves the page of the second run, which shows its comparison with the first.
func (s *Server) comparisonPage(w http.ResponseWriter, r *http.Request) {
	base, ok := s.found(w, r.PathValue("base"))
	if !ok {
		return
	}
	head, ok := s.found(w, r.PathValue("run"))
	if !ok {
		return
	}
	if _, err := marginOf(r); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	s.draw(w, page.RunsSource{
		Name: "run", Title: fmt.Sprintf("%s against %s", head.ID, base.ID),
		Data: fmt.Sprintf("/compare/%s/%s/", base.Key, head.Key),
	})
}

// marginOf returns 0 when the request names no margin.
func marginOf(r *http.Request) (float64, error) {
	text := r.URL.Query().Get("margin")
	if text == "" {
		return 0, nil
	}
	margin, err := strconv.ParseFloat(text, 64)
	if err != nil || !(margin > 0 && margin < 1) {
		return 0, fmt.Errorf("the margin is a number between 0 and 1, such as 0.05")
	}
	return margin, nil
}

// comparisonBlock serves a block of the page. The comparison changes the blocks head and points; all others
// are those of the second run.
func (s *Server) comparisonBlock(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("block")
	if name != "head" && name != "points" {
		s.block(w, r)
		return
	}
	base, ok := s.found(w, r.PathValue("base"))
	if !ok {
		return
	}
	head, ok := s.found(w, r.PathValue("run"))
	if !ok {
		return
	}
	margin, err := marginOf(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	c, err := s.compare(r, base, head, margin)
	var data []byte
	if err == nil {
		data, err = s.comparedBlock(r, head, c, name)
	}
	answerJSON(w, data, err)
}

func (s *Server) comparedBlock(r *http.Request, head *viewedRun, c *compare.Comparison, name string) ([]byte, error) {
	if name == "points" {
		return page.PointsBlock(c)
	}
	opened := s.opened.take(head)
	defer s.opened.leave(opened)
	if err := s.use(r.Context(), opened); err != nil {
		return nil, err
	}
	defer opened.mu.Unlock()
	return page.ComparedHead(opened.doc, c)
}

// compare returns the cached comparison when neither run file has changed since.
func (s *Server) compare(r *http.Request, base, head *viewedRun, margin float64) (*compare.Comparison, error) {
	key := compareKey{base: base.Key, head: head.Key, margin: margin}
	var err error
	if key.baseWas, err = stampOf(base.path); err != nil {
		return nil, err
	}
	if key.headWas, err = stampOf(head.path); err != nil {
		return nil, err
	}
	if c := s.compared.find(key); c != nil {
		return c, nil
	}
	end, ok := s.begin(r.Context())
	if !ok {
		return nil, errGone
	}
	defer end()
	c, err := compareFiles(base, head, margin)
	if err == nil {
		s.compared.keep(key, c)
	}
	return c, err
}

func compareFiles(base, head *viewedRun, margin float64) (*compare.Comparison, error) {
	before, err := rundir.At("").Open(base.path)
	if err != nil {
		return nil, err
	}
	defer before.Close() //nolint:errcheck // only read
	after, err := rundir.At("").Open(head.path)
	if err != nil {
		return nil, err
	}
	defer after.Close() //nolint:errcheck // only read
	return compareRuns(before, after, margin, false)
}
