package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// watched are the files that suites read, as they were when they were read.
type watched struct {
	mu    sync.Mutex
	files map[string]map[string]stamp // by the suite that read them; those of every suite are under ""
}

// stamp is what a look at a file tells of it without reading it. A folder has an empty one: what is put into it is no change of a suite.
type stamp struct {
	modified int64 // nanoseconds
	size     int64
	missing  bool
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stamp{missing: true}
	case err != nil || info.IsDir():
		return stamp{}
	}
	return stamp{modified: info.ModTime().UnixNano(), size: info.Size()}
}

// note remembers a file that a suite is about to read. A change after the first read of a run counts, so that none is lost.
func (w *watched) note(suite, path string) {
	path, err := filepath.Abs(path)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files[suite] == nil {
		w.files[suite] = map[string]stamp{}
	}
	if _, known := w.files[suite][path]; !known {
		w.files[suite][path] = stampOf(path)
	}
}

// begin forgets the files of suites that are about to be read again, and returns them.
func (w *watched) begin(suites []string) map[string]map[string]stamp {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := map[string]map[string]stamp{}
	for _, s := range append(slices.Clone(suites), "") {
		if w.files[s] != nil {
			before[s] = w.files[s]
			delete(w.files, s)
		}
	}
	return before
}

// keep remembers files of an earlier run too, as they are now: suites that could not be read did not come to all of theirs.
func (w *watched) keep(before map[string]map[string]stamp) {
	for suite, files := range before {
		for path := range files {
			w.note(suite, path)
		}
	}
}

// changes are the files that are not as they were, as they are now, and the suites that read them; "" is every suite.
func (w *watched) changes() (files map[string]stamp, suites map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	files, suites = map[string]stamp{}, map[string]bool{}
	now := map[string]stamp{}
	for suite, read := range w.files {
		for path, was := range read {
			is, known := now[path]
			if !known {
				is = stampOf(path)
				now[path] = is
			}
			if is != was {
				files[path] = is
				suites[suite] = true
			}
		}
	}
	return files, suites
}

// count counts the files that are there.
func (w *watched) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	there := map[string]bool{}
	for _, read := range w.files {
		for path, is := range read {
			if is.modified != 0 {
				there[path] = true
			}
		}
	}
	return len(there)
}

// shownFiles names files relative to the working directory, in order.
func shownFiles(files map[string]stamp) (out []string) {
	here, _ := os.Getwd()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if near, err := filepath.Rel(here, path); err == nil {
			path = near
		}
		out = append(out, path)
	}
	return out
}
