package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
)

// mostOpen bounds the runs that stay in memory when no request uses them.
const mostOpen = 4

type openRuns struct {
	mu  sync.Mutex
	all []*openRun // the one opened last is at the end
}

// openRun is a run in memory. Its rows are in blocks that never change within an epoch.
type openRun struct {
	key, path string
	users     int // guarded by openRuns.mu

	mu     sync.Mutex // guards all fields below
	doc    *journal.Document
	served *page.Served // nil until a reader needs trials
	epoch  string
	next   time.Time // when to check the file again
}

// take returns an open run and counts the caller as a user. The caller calls leave.
func (o *openRuns) take(r *viewedRun) *openRun {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.IndexFunc(o.all, func(one *openRun) bool { return one.key == r.Key })
	one := &openRun{key: r.Key, path: r.path}
	if at >= 0 {
		one = o.all[at]
		o.all = slices.Delete(o.all, at, at+1)
	}
	one.users++
	o.all = append(o.all, one)
	return one
}

// leave counts one user less. Beyond mostOpen, it closes the oldest runs without users.
func (o *openRuns) leave(one *openRun) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one.users--
	for at := 0; len(o.all) > mostOpen && at < len(o.all); {
		if o.all[at].users > 0 {
			at++
			continue
		}
		o.all[at].shut()
		o.all = slices.Delete(o.all, at, at+1)
	}
}

func (o *openRuns) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.all {
		one.shut()
	}
	o.all = nil
}

func (r *openRun) shut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doc != nil {
		_ = r.doc.Close() // only read
		r.doc, r.served = nil, nil
	}
}

// use locks a run after bringing it up to date. The caller unlocks it, unless there is an error.
func (s *Server) use(ctx context.Context, r *openRun) error {
	r.mu.Lock()
	err := s.refresh(ctx, r)
	if err != nil {
		r.mu.Unlock()
	}
	return err
}

// using calls read with a run that is up to date and locked, if the page of the request does not show an earlier one.
func (s *Server) using(r *http.Request, one *viewedRun, read func(*openRun) error) error {
	opened := s.opened.take(one)
	defer s.opened.leave(opened)
	if err := s.use(r.Context(), opened); err != nil {
		return err
	}
	defer opened.mu.Unlock()
	if err := opened.shownBy(r); err != nil {
		return err
	}
	return read(opened)
}

// shownBy is errOld if the page of the request shows an earlier epoch.
func (r *openRun) shownBy(request *http.Request) error {
	if of := request.URL.Query().Get("of"); of != "" && of != r.epoch {
		return errOld
	}
	return nil
}

// useBlocks is use for callers that need r.served, for which the server reads all trials once.
func (s *Server) useBlocks(ctx context.Context, r *openRun) error {
	if err := s.use(ctx, r); err != nil {
		return err
	}
	err := s.serve(ctx, r)
	if err != nil {
		r.mu.Unlock()
	}
	return err
}

// serve fills r.served, if it is empty.
func (s *Server) serve(ctx context.Context, r *openRun) (err error) {
	if r.served != nil {
		return nil
	}
	end, ok := s.begin(ctx)
	if !ok {
		return errGone
	}
	defer end()
	r.served, err = page.NewServed(r.doc)
	return err
}

// refresh reads what was added to the run file. It checks the file less often when reading takes long.
func (s *Server) refresh(ctx context.Context, r *openRun) error {
	if r.doc == nil {
		return s.open(ctx, r)
	}
	began := time.Now()
	if began.Before(r.next) {
		return nil
	}
	if !r.grow(s.options.Dir) {
		_ = r.doc.Close() // only read
		r.doc, r.served = nil, nil
		return s.open(ctx, r)
	}
	r.next = time.Now().Add(max(s.options.Every, 20*time.Since(began)))
	return nil
}

// grow reads what was appended to the run file. It returns false when the run must be read again from the
// start.
func (r *openRun) grow(in rundir.Dir) bool {
	news, err := r.doc.Follow()
	if err == nil && len(news.Trials) > 0 && r.served != nil {
		err = r.served.Grow(news.Trials)
	}
	if err != nil || news.Resumed || r.served != nil && r.served.Scattered() {
		return false
	}
	if len(news.Trials) > 0 || news.Ended {
		gate.ApplyIn(in, r.doc)
	}
	return true
}

var errGone = errors.New("the reader has gone away")

func (s *Server) open(ctx context.Context, r *openRun) error {
	end, ok := s.begin(ctx)
	if !ok {
		return errGone
	}
	defer end()
	began := time.Now()
	at, err := stampOf(r.path)
	if err != nil {
		return err
	}
	doc, err := rundir.At("").Open(r.path)
	if err != nil {
		return err
	}
	gate.ApplyIn(s.options.Dir, doc)
	r.doc = doc
	r.epoch = fmt.Sprintf("%x.%x", at.size, at.time.UnixNano()) // an ended run keeps its epoch when it is read again
	if doc.Running {
		r.epoch = fmt.Sprintf("%s.%x", r.epoch, began.UnixNano())
	}
	r.next = time.Now().Add(max(s.options.Every, 20*time.Since(began)))
	return nil
}

// mark encodes the epoch and the number of its blocks that a reader has.
func (r *openRun) mark(blocks int) string { return fmt.Sprintf("%s-%d", r.epoch, blocks) }

// blocksOf returns the number of blocks in a mark, and false when the mark is invalid or of another epoch.
func (r *openRun) blocksOf(mark string) (int, bool) {
	epoch, text, _ := strings.Cut(mark, "-")
	n, err := strconv.Atoi(text)
	return n, epoch == r.epoch && err == nil && n >= 0 && n <= r.served.Blocks()
}

const markHeader = "Evalrun-Mark"

func (s *Server) block(w http.ResponseWriter, r *http.Request) {
	one, ok := s.found(w, r.PathValue("run"))
	if !ok {
		return
	}
	opened := s.opened.take(one)
	defer s.opened.leave(opened)
	data, mark, err := s.read(r, opened, r.PathValue("block"))
	switch {
	case errors.Is(err, page.ErrNoBlock) && strings.HasPrefix(r.PathValue("block"), "image/"):
		data, err = []byte("null"), nil
	case err == nil:
		w.Header().Set(markHeader, mark)
	}
	answerJSON(w, data, err)
}

var errOld = errors.New("the run has changed: reload the page")

// read returns a block. The head needs no trials, so a page shows the verdict while the server still reads
// them.
func (s *Server) read(r *http.Request, opened *openRun, name string) (data []byte, mark string, err error) {
	if name == "head" {
		data, err = s.head(r.Context(), opened)
		return data, "", err
	}
	if err := s.useBlocks(r.Context(), opened); err != nil {
		return nil, "", err
	}
	defer opened.mu.Unlock()
	if err := opened.shownBy(r); err != nil {
		return nil, "", err
	}
	data, err = opened.served.Block(name)
	return data, opened.mark(opened.served.Blocks()), err
}

func (s *Server) head(ctx context.Context, opened *openRun) ([]byte, error) {
	if err := s.use(ctx, opened); err != nil {
		return nil, err
	}
	defer opened.mu.Unlock()
	return page.Head(opened.doc)
}
