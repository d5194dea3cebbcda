package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// watched has the stamps of the files that suites read; "" has those that every suite reads.
type watched struct {
	mu sync.Mutex
	by map[string]*watchedFiles
}

type watchedFiles struct {
	files map[string]stamp
	globs map[string]*listing
}

type listing struct {
	matches func() []string
	was, is map[string]bool
	due     time.Time // of the next look
}

// look lists what matches, slow globs less often: looking takes at most a twentieth of the time.
func (l *listing) look() map[string]bool {
	begun := time.Now()
	if begun.Before(l.due) {
		return l.is
	}
	l.is = map[string]bool{}
	for _, path := range l.matches() {
		l.is[path] = true
	}
	l.due = time.Now().Add(19 * time.Since(begun))
	return l.is
}

// stamp identifies the state of a file. A folder's is empty: adding a file to it does not change a suite.
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

func (w *watched) of(suite string) *watchedFiles {
	if w.by[suite] == nil {
		w.by[suite] = &watchedFiles{map[string]stamp{}, map[string]*listing{}}
	}
	return w.by[suite]
}

// note remembers a file that a suite is about to read. A change after the first read of a run counts, so that none is lost.
func (w *watched) note(suite, path string) {
	path, err := filepath.Abs(path)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	files := w.of(suite).files
	if _, known := files[path]; !known {
		files[path] = stampOf(path)
	}
}

// list remembers a glob whose files a suite is about to list.
func (w *watched) list(suite, glob string, matches func() []string) {
	l := &listing{matches: matches}
	l.was = l.look() // without the lock: it may come back with a note
	w.mu.Lock()
	defer w.mu.Unlock()
	if globs := w.of(suite).globs; globs[glob] == nil {
		globs[glob] = l
	}
}

// begin forgets what suites read that are about to be read again, and returns it.
func (w *watched) begin(suites []string) map[string]*watchedFiles {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := map[string]*watchedFiles{}
	for _, s := range append(slices.Clone(suites), "") {
		if w.by[s] != nil {
			before[s] = w.by[s]
			delete(w.by, s)
		}
	}
	return before
}

// keep adds the files of an earlier run with current stamps: a suite that could not be read did not open all of its files.
func (w *watched) keep(before map[string]*watchedFiles) {
	for suite, was := range before {
		for path := range was.files {
			w.note(suite, path)
		}
		for glob, l := range was.globs {
			w.list(suite, glob, l.matches)
		}
	}
}

// changes returns the files whose stamps changed, with the new ones, and their suites; "" is every suite.
func (w *watched) changes() (files map[string]stamp, suites map[string]bool) {
	files, suites = map[string]stamp{}, map[string]bool{}
	w.listed(files, suites)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := map[string]stamp{}
	for suite, one := range w.by {
		for path, was := range one.files {
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

// listed adds the files that match a glob and did not, or the other way round. It runs between runs, when nothing else lists.
func (w *watched) listed(files map[string]stamp, suites map[string]bool) {
	w.mu.Lock()
	by := maps.Clone(w.by)
	w.mu.Unlock()
	for suite, one := range by {
		for _, l := range one.globs {
			is := l.look()
			for _, path := range differing(l.was, is) {
				files[path] = stampOf(path)
				suites[suite] = true
			}
		}
	}
}

// differing are the paths that are in one of the sets.
func differing(a, b map[string]bool) (out []string) {
	for _, pair := range [][2]map[string]bool{{a, b}, {b, a}} {
		for path := range pair[0] {
			if !pair[1][path] {
				out = append(out, path)
			}
		}
	}
	return out
}

func (w *watched) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	there := map[string]bool{}
	for _, one := range w.by {
		for path, is := range one.files {
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
