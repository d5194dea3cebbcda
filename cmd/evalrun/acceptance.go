package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// acceptance compares the answers of a run with the expected ones of its suites.
type acceptance struct {
	Proposals []*proposal // files that would change, in the order of the plan
	// Compared counts the answers that were compared with a file; 0 if the suites have no snapshot scorer.
	Compared int
	// Changed counts the trials whose request has changed since the run.
	Changed int
}

// proposal is a file that would change.
type proposal struct {
	File   string   // as the user knows it, with slashes
	Folder string   // of the expected answers of its suite
	Was    *string  // the expected answer; nil: there is none yet
	Offers []*offer // several are a conflict: cases or arms that share the file

	dir, name string // where the file is
}

// offer is an answer that the file could get.
type offer struct {
	Text     string
	Expected bool // the file has this answer already
	From     []answeredCase
}

// answeredCase is a case on an arm that gave an answer.
type answeredCase struct {
	Suite, Case, Arm string
	Answers          int
	Different        int // how many of the answers are distinct
}

// acceptedByPerson returns an error in continuous integration, where no person reads the answers.
func acceptedByPerson(getenv func(string) string) error {
	if ci := getenv("CI"); ci == "" || strings.EqualFold(ci, "false") {
		return nil
	}
	return eval.BadInput(
		"answers are accepted by a person, and not in continuous integration (CI is set): run `evalrun accept` on your machine and commit "+
			"the folder %s",
		suite.ExpectedDir,
	)
}

// Diff writes the difference between the file and an offer.
func (p *proposal) Diff(w io.Writer, o *offer, color bool) error {
	return term.Diff(w, p.Was, &o.Text, color)
}

// loadAccepting loads the run to rescore for NewAcceptance, with the named suites or the current suites of the run.
func loadAccepting(f session.Options) (*session.Loaded, error) {
	cases, arms := f.Cases, f.Arms
	f.Cases, f.Arms = nil, nil
	l, err := session.Load(f)
	if err == nil && l.Copied() {
		return nil, eval.BadInput("the run was not signed by you, so its header could name any folder: name the suite by --suite FILE")
	}
	if err == nil {
		// The run itself has the other choices.
		l.Options.Cases, l.Options.Arms, l.Options.Tags, l.Options.Shard = cases, arms, nil, eval.Shard{}
	}
	return l, err
}

// newAcceptance compares the answers of a run with the expected ones of its suites.
func newAcceptance(l *session.Loaded) (*acceptance, error) {
	f := &l.Options
	doc, err := f.In().Open(f.Rescore)
	if err != nil {
		return nil, err
	}
	defer doc.Close() //nolint:errcheck // only read
	if doc.Running {
		return nil, eval.BadInput("%s is still in progress: accept its answers when it finishes", f.Rescore)
	}
	filter := runner.Filter{Cases: eval.NewPatterns(f.Cases), Arms: eval.NewPatterns(f.Arms)}
	plan := runner.NewPlan(l.Suites, scorers.Builtin().Only("snapshot"), filter, f.APIVersion)
	g := gathering{doc: doc, there: casesIn(doc), files: map[[2]string]*keptFile{}, dirs: map[string]int{}}
	for i, s := range l.Suites {
		g.dirs[s.Name] = i
	}
	if len(f.Cases)+len(f.Arms) > 0 && !g.any(filter) {
		return nil, eval.BadInput(
			"the run has no case %s%s%s", strings.Join(f.Cases, " or "), onArms(f.Arms),
			nearestCase(doc, strings.Join(f.Cases, " ")),
		)
	}
	for t := range plan.Trials() {
		if err := g.take(t); err != nil {
			return nil, eval.Incomplete("%s: %w", text.Describe(&t.Trial), err)
		}
	}
	for _, one := range g.order {
		if p := one.proposal(); p != nil {
			s := l.Suites[one.suite]
			p.dir, p.name = l.Dir(one.suite), one.name
			p.File, p.Folder = s.Shown(one.name), s.Shown(suite.ExpectedDir)
			g.out.Proposals = append(g.out.Proposals, p)
		}
	}
	return &g.out, nil
}

func onArms(arms []string) string {
	if len(arms) == 0 {
		return ""
	}
	return " on an arm that fits " + strings.Join(arms, " or ")
}

func casesIn(d *journal.Document) map[gate.ArmCase]bool {
	there := map[gate.ArmCase]bool{}
	for i := range d.Len() {
		k := d.Indexed(i)
		there[gate.ArmCase{Suite: k.Suite, Case: k.Case, Arm: k.Arm}] = true
	}
	return there
}

type gathering struct {
	doc   *journal.Document
	there map[gate.ArmCase]bool
	dirs  map[string]int          // index of each suite
	files map[[2]string]*keptFile // by suite and file name
	order []*keptFile
	out   acceptance
}

// any reports whether the run has a case that matches a filter.
func (g *gathering) any(filter runner.Filter) bool {
	for one := range g.there {
		if filter.Cases.Match(one.Case) && filter.Arms.Match(one.Arm) {
			return true
		}
	}
	return false
}

type keptFile struct {
	suite   int
	name    string
	was     *string // nil: there is no file yet
	sources []*giver
}

type giver struct {
	gate.ArmCase
	given []*answerVariant
}

type answerVariant struct {
	scorers.SnapshotCheck
	times int
}

// take compares a recorded trial with the expected answer. It skips trials without an answer, and those of
// an earlier version of the suite (--interleave), which are not to be accepted.
func (g *gathering) take(t *runner.Planned) error {
	earlier := t.Arm != t.Target+"/"+t.Prompt
	if earlier || !t.ComparesSnapshots() {
		return nil
	}
	name := gate.ArmCase{Suite: t.Suite, Case: t.Case, Arm: t.Arm}
	place, ok := gate.FindTrial(g.doc, &t.Trial)
	if !ok {
		if g.there[name] {
			g.out.Changed++
		}
		return nil
	}
	r, err := g.doc.Trial(place)
	switch {
	case err != nil:
		return err
	case r.Response == nil || r.Err() != nil && !r.Err().Kind.IsUnscored():
		return nil
	}
	seen, err := t.SnapshotChecks(r)
	for _, s := range seen {
		g.out.Compared++
		g.file(t.Suite, &s).add(name, s)
	}
	return err
}

func (g *gathering) file(suiteName string, s *scorers.SnapshotCheck) *keptFile {
	key := [2]string{suiteName, s.File}
	one := g.files[key]
	if one == nil {
		one = &keptFile{suite: g.dirs[suiteName], name: s.File}
		if s.Accepted != nil {
			one.was = &s.Accepted.Text
		}
		g.files[key] = one
		g.order = append(g.order, one)
	}
	return one
}

func (k *keptFile) add(name gate.ArmCase, s scorers.SnapshotCheck) {
	last := len(k.sources) - 1 // repeats of a case are adjacent
	if last < 0 || k.sources[last].ArmCase != name {
		k.sources = append(k.sources, &giver{ArmCase: name})
		last++
	}
	a := k.sources[last]
	j := slices.IndexFunc(a.given, func(v *answerVariant) bool { return v.Folded == s.Folded })
	if j < 0 {
		j = len(a.given)
		a.given = append(a.given, &answerVariant{SnapshotCheck: s})
	}
	a.given[j].times++
}

// proposal returns the change of the file, nil if it may stay. The most frequent answer counts; among equals, the first.
func (k *keptFile) proposal() *proposal {
	p := &proposal{Was: k.was}
	offers := map[string]*offer{}
	for _, a := range k.sources {
		most, total := a.given[0], 0
		for _, v := range a.given {
			if total += v.times; v.times > most.times {
				most = v
			}
		}
		one := offers[most.Folded]
		if one == nil {
			one = &offer{Text: most.Got, Expected: most.Accepted != nil && most.Accepted.Same}
			offers[most.Folded] = one
			p.Offers = append(p.Offers, one)
		}
		one.From = append(one.From, answeredCase{a.Suite, a.Case, a.Arm, total, len(a.given)})
	}
	if len(p.Offers) == 1 && p.Offers[0].Expected {
		return nil
	}
	return p
}

// Accept replaces the file atomically with an answer. It writes nothing outside the suite's folder.
func (p *proposal) Accept(o *offer) error {
	if err := writeInside(p.dir, p.name, o.Text+"\n"); err != nil {
		return eval.Incomplete("%s cannot be written: %w", p.File, err)
	}
	return nil
}

// writeInside writes a file below a folder. It follows no link that leads out.
func writeInside(dir, name, text string) (err error) {
	if len(text) > suite.MaxExpectedBytes {
		return fmt.Errorf("the answer has %s; at most %d can be read again", diag.Count(len(text), "byte"), suite.MaxExpectedBytes)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // the file in it was closed
	folder, name := filepath.FromSlash(path.Dir(name)), filepath.FromSlash(name)
	if err := root.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	files.Sweep(filepath.Join(dir, folder))
	temporary := filepath.Join(folder, files.Prefix+rand.Text())
	kept := files.Perm(root.Stat, name, 0)
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(kept, 0o644))
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); kept != 0 { // the umask may have removed some bits
		err = errors.Join(err, f.Chmod(kept))
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		err = errors.Join(err, root.Remove(temporary))
	}
	return err
}
