package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// pollEvery is how often files are looked at. A change counts after two equal looks: an editor may replace several files.
const pollEvery = 200 * time.Millisecond

// watching is the state of `run --watch` between its runs.
type watching struct {
	watched
	only []string // the suites that the next run needs; nil: all
	ran  []string // suites of the last run
	// before has the files that the suites read in the run before the last one.
	before map[string]*watchedFiles
	runs   int
	// last says which cases passed when they ran last, and now those of this run, by case and arm.
	last, now map[string]bool
}

// done folds a trial into its case, which passes if all of its repeats do.
func (w *watching) done(r *eval.Result) {
	name := r.Suite + ": " + r.Case + " on " + r.Arm
	passed, known := w.now[name]
	if r.Outcome() != eval.Skip {
		w.now[name] = (passed || !known) && r.Outcome() == eval.Pass
	}
}

// turned names the cases whose outcome is another one than in their last run.
func (w *watching) turned() (fixed, broke []string) {
	for _, name := range slices.Sorted(maps.Keys(w.now)) {
		switch was, known := w.last[name]; {
		case known && w.now[name] && !was:
			fixed = append(fixed, name)
		case known && !w.now[name] && was:
			broke = append(broke, name)
		}
	}
	maps.Copy(w.last, w.now)
	clear(w.now)
	return fixed, broke
}

// showTurned says what a change fixed and broke.
func (a *app) showTurned() {
	fixed, broke := a.watching.turned()
	for _, one := range []struct {
		word  string
		names []string
		tone  eval.Outcome
	}{{"fixed", fixed, eval.Pass}, {"broke", broke, eval.Fail}} {
		if len(one.names) > 0 {
			names := diag.CleanLine(text.SomeNames(one.names, mostTurned))
			fmt.Fprintf(a.err, "%s: %s\n", text.Paint(a.errColor(), text.ToneOf(one.tone), one.word), names)
		}
	}
}

// mostTurned bounds the names of cases on a line.
const mostTurned = 5

// clearScreen erases a terminal, and what scrolled out of it.
const clearScreen = "\x1b[H\x1b[2J\x1b[3J"

// watch runs suites, and again when their files change, until a signal. The exit code is that of the last run.
func (a *app) watch(ctx context.Context, level term.Level) error {
	signals, release := a.signals()
	defer release()
	w := &watching{watched: watched{by: map[string]*watchedFiles{}}, last: map[string]bool{}, now: map[string]bool{}}
	a.watching = w
	defer func() { a.watching = nil }()
	for {
		code := a.once(ctx)
		if code == eval.CodeBadInput {
			w.keep(w.before)
		}
		files := w.count()
		if code > eval.CodeWaiting || files == 0 && w.runs <= 1 { // a signal, or nothing that could be mended
			return exitWith(code)
		}
		if level != term.Quiet {
			a.showTurned()
			fmt.Fprintf(a.err, "watching %s; Ctrl-C ends it\n", diag.Count(files, "file"))
		}
		changed, suites := w.wait(ctx, signals)
		if changed == nil {
			return exitWith(code)
		}
		if level != term.Quiet {
			erase := "\n"
			if a.barColumns() != nil {
				erase = clearScreen
			}
			fmt.Fprintf(a.err, "%schanged: %s\n", erase, diag.CleanLine(strings.Join(shownFiles(changed), ", ")))
		}
		w.next(suites, code)
	}
}

// once runs the command line again, with a fresh set of flags.
func (a *app) once(ctx context.Context) int {
	root := a.root()
	root.SetArgs(a.args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	a.explain(err)
	return eval.CodeOf(err)
}

// narrowed returns the named suites that a run of --watch needs.
func (w *watching) narrowed(suites []string) []string {
	if w.only != nil {
		suites = slices.DeleteFunc(slices.Clone(suites), func(s string) bool { return !slices.Contains(w.only, s) })
	}
	w.runs++
	w.ran = suites
	w.before = w.begin(suites)
	for _, s := range suites {
		w.note(s, s)
	}
	return suites
}

// next chooses the suites of the next run: suites that read a changed file, and suites that could not be read.
func (w *watching) next(suites map[string]bool, code int) {
	if suites[""] {
		w.only = nil
		return
	}
	w.only = slices.Sorted(maps.Keys(suites))
	if code == eval.CodeBadInput {
		w.only = append(w.only, w.ran...)
	}
}

// wait waits until files have changed and no longer change; nil when a signal ends it.
func (w *watching) wait(ctx context.Context, signals <-chan os.Signal) (files map[string]stamp, suites map[string]bool) {
	look := time.NewTicker(pollEvery)
	defer look.Stop()
	var before map[string]stamp
	for {
		select {
		case <-signals:
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		case <-look.C:
		}
		files, suites = w.changes()
		if len(files) > 0 && maps.Equal(files, before) {
			return files, suites
		}
		before = files
	}
}

// watches records the files that suites read, and turns on the cache, except for the emulator, whose script may change.
func (a *app) watches(o *runOptions) {
	w := a.watching
	if w == nil {
		return
	}
	all := o.Suites
	o.Suites = w.narrowed(all)
	if o.ProjectFile != "" {
		w.note("", o.ProjectFile)
		found := a.settings(&o.Options)
		found.Suites = nil
		ofProject := func() []string {
			one := found
			_ = one.TakeSuites() // the next run reports what is wrong
			return one.Suites
		}
		if slices.Equal(ofProject(), all) { // a suite that is added there is a new one of this command
			w.list("", o.ProjectFile, ofProject)
		}
	}
	for _, path := range []string{o.Prices, o.Emulator, o.Answers} {
		if path != "" {
			w.note("", path)
		}
	}
	o.Cache = o.Emulator == ""
	o.open = o.open && w.runs == 1
}

// checkWatch wants flags that go with --watch.
func (a *app) checkWatch(o *runOptions) error {
	switch {
	case o.dryRun:
		return eval.BadInput("--watch runs suites, and --dry-run does not: choose one")
	case o.NoContent:
		return eval.BadInput("--watch keeps answers in the cache, and --no-content keeps them out of files: choose one")
	case o.Batch:
		return eval.BadInput("--watch runs as soon as a file changes, and --batch answers within hours: choose one")
	case o.Out != "" && !strings.Contains(o.Out, "{id}"):
		return eval.BadInput("--watch makes a run of each change: write {id} into --out, as in --out %s/{id}", o.Out)
	case slices.Contains(o.Suites, "-"):
		return eval.BadInput("--watch needs files: a suite on standard input cannot change")
	}
	settings := a.settings(&o.Options)
	if err := settings.UseProject(); err != nil {
		return err
	}
	return settings.CheckRace()
}
