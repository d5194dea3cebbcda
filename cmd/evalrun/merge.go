package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

func (a *app) mergeCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "merge RUN...", Short: "Join the shards of one plan into one run, and apply its gate",
		Long: "Joins the runs of all shards (`evalrun run --shard I/N`) into the run that they would have\n" +
			"been without shards, and applies its gate.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return eval.BadInput("name the runs of all shards: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			merging := merging{Out: o.Out, Formats: reports.WithTable(o.Reports), Screen: a.screen(), Getenv: a.getenv}
			o.Arrange(&merging.Layout, o.Reports)
			merged, err := a.runs.merge(args, merging)
			if merged == nil {
				return err
			}
			a.explain(merged.Problem)
			r := &evalrun.Result{Name: merged.Name, Exit: merged.Exit, End: merged.End, Reports: merged.Reports}
			return a.ended(r, err, o)
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Reports(&o.Options)
	fs.OutDir(&o.Options)
	o.AddLevel(fs.FlagSet, "with arms, cases and settings in the table")
	completeFormats(cmd)
	return cmd
}

type merged struct {
	Name    string // of the run directory
	Exit    int
	End     *eval.End
	Reports []string
	Problem error // with the history, which is not essential
}

type merging struct {
	Out     string   // run directory; "" makes one below .evalrun/runs
	Formats []string // of the reports
	Screen  term.Screen
	Layout  reports.Options // its width and color are those of the screen
	Getenv  func(string) string
}

// merge joins the shards of a plan into a run, applies its gate and writes reports. After the run is written, errors have a result too.
func (f folder) merge(shards []string, o merging) (*merged, error) {
	outputs, err := reports.ParseOutputs(o.Formats, f.Join)
	if err != nil {
		return nil, err
	}
	if err := f.Check(o.Out); err != nil {
		return nil, err
	}
	dir, err := merge(f.Dir, shards, o, outputs)
	if err != nil {
		return nil, err
	}
	doc, err := f.open(dir)
	if err != nil {
		return nil, eval.Incomplete("%w", err)
	}
	defer doc.Close() //nolint:errcheck // only read
	if err := doc.KeepDrift(); err != nil {
		return nil, eval.Incomplete("%w", err)
	}
	o.Layout.Width, o.Layout.Color = o.Screen.Width, o.Screen.Color
	written, err := reports.WriteOutputs(doc, outputs, o.Screen, o.Layout)
	return &merged{Name: dir, Exit: doc.Gate().Exit, End: doc.End, Reports: written, Problem: f.Remember(doc)}, err
}

// merge joins the shards of one plan into a new run, in the order of the plan, and returns its directory.
// Shards of different plans, missing, duplicate and unfinished ones are bad input.
func merge(at rundir.Dir, names []string, o merging, outputs []reports.Output) (dir string, err error) {
	shards := make([]*journal.Document, 0, len(names))
	defer func() {
		for _, d := range shards {
			err = errors.Join(err, d.Close())
		}
	}()
	for _, name := range names {
		d, err := at.Open(name)
		if err != nil {
			return "", err
		}
		shards = append(shards, d)
		if err := cmp.Or(checkShard(name, d, shards[0]), rundir.Intact(d), reports.SpareRun(outputs, &d.Run, at.Join)); err != nil {
			return "", err
		}
	}
	if err := complete(names, shards); err != nil {
		return "", err
	}
	run := mergedHeader(shards)
	at.NumberLooks(run, o.Getenv)
	if dir, err = at.Make(o.Out, run.ID); err != nil {
		return "", err
	}
	copies, err := copied(shards[0].Dir)
	if err != nil {
		return "", eval.BadInput("the suites of %s cannot be read: %w", names[0], err)
	}
	run.Copies, run.Signature = journal.CopiesOf(copies), ""
	keys, err := rundir.Load(o.Getenv)
	if err != nil {
		return "", eval.BadInput("%w", err)
	}
	if !slices.ContainsFunc(shards, func(d *journal.Document) bool { return !keys.Signed(d) }) {
		if err := keys.SignRun(run, dir); err != nil {
			return "", eval.BadInput("the run directory cannot be made: %w", err)
		}
	}
	w, err := journal.CreateWhole(dir, run, copies) // killing the merge must leave nothing that looks like a run
	if err != nil {
		return "", eval.BadInput("the run directory cannot be made: %w", err)
	}
	if err := fillMerged(w, run, dir, shards); err != nil {
		return "", eval.Incomplete("the shards cannot be merged: %w", err)
	}
	at.ExpectRun(run, dir)
	return dir, nil
}

func fillMerged(w *journal.Writer, run *eval.Run, dir string, shards []*journal.Document) (err error) {
	if lists, known := shards[0].NotRun(); known && run.Options().Narrows() { // the selection is the same for all shards
		if err := w.WriteNotRun(lists); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	end := eval.End{Reason: eval.EndCompleted, Spent: &eval.Spent{}}
	if end.Counts, err = copyInOrder(w, shards); err != nil {
		return errors.Join(err, w.Close())
	}
	copyWorkspaces(dir, shards)
	for _, d := range shards {
		end.Spent.Attempts += d.Spent.Attempts
		end.Spent.Tokens += d.Spent.Tokens
		end.Spent.Money += d.Spent.Money
		end.Spent.Currency = cmp.Or(end.Spent.Currency, d.Spent.Currency)
		end.FinishedAt = max(end.FinishedAt, d.End.FinishedAt)
	}
	return w.Finish(&end)
}

// copyWorkspaces copies what it can of the folders that programs left in shards: the records matter more.
func copyWorkspaces(to string, shards []*journal.Document) {
	for _, d := range shards {
		root, err := os.OpenRoot(d.Dir)
		if err != nil {
			continue
		}
		entries, _ := fs.ReadDir(root.FS(), "workspaces") // most runs have none
		for _, entry := range entries {
			copied := filepath.Join(to, "workspaces", entry.Name())
			from, err := fs.Sub(root.FS(), "workspaces/"+entry.Name())
			if err == nil && os.RemoveAll(copied) == nil {
				_ = os.CopyFS(copied, from)
			}
		}
		_ = root.Close() // it was only read
	}
}

// checkShard says why a run cannot be merged with the first shard.
func checkShard(name string, d, first *journal.Document) error {
	shard := d.Run.Plan.Shard
	switch {
	case shard == nil:
		return eval.BadInput("%s is not a shard: it was run without --shard", name)
	case shard.Plan != first.Run.Plan.Shard.Plan || shard.Of != first.Run.Plan.Shard.Of:
		return eval.BadInput(
			"%s is a shard of another plan than %s: the suites, the variables or the selection differ", name, first.Dir,
		)
	case d.Run.Emulator != first.Run.Emulator || d.Run.Service != first.Run.Service ||
		!maps.Equal(d.Run.Services, first.Run.Services) ||
		d.Run.Replay != first.Run.Replay:
		return eval.BadInput("%s used another service than %s", name, first.Dir)
	case !reflect.DeepEqual(gates(d), gates(first)):
		return eval.BadInput("%s has another gate than %s", name, first.Dir)
	case d.Running:
		return eval.BadInput("%s is still in progress", name)
	case d.Partial():
		return eval.BadInput(
			"%s is not complete; to continue: evalrun %s", name, text.ShellWords(append([]string{"resume", name}, d.Run.Ledger.Flags()...)),
		)
	}
	return nil
}

func gates(d *journal.Document) []*eval.GateConfig {
	var out []*eval.GateConfig
	for i := range d.Run.Suites {
		out = append(out, d.Run.Suites[i].Gate)
	}
	return out
}

// complete says which shards are missing or duplicate.
func complete(names []string, shards []*journal.Document) error {
	of := shards[0].Run.Plan.Shard.Of
	by := make(map[int]string, of)
	for i, d := range shards {
		index := d.Run.Plan.Shard.Index
		if other, twice := by[index]; twice {
			return eval.BadInput("%s and %s are both shard %d/%d", other, names[i], index, of)
		}
		by[index] = names[i]
	}
	var missing []string
	for i := 1; i <= of; i++ {
		if _, ok := by[i]; !ok {
			missing = append(missing, fmt.Sprintf("%d/%d", i, of))
		}
	}
	if len(missing) > 0 {
		return eval.BadInput("shards are missing: %s", strings.Join(missing, ", "))
	}
	return nil
}

func mergedHeader(shards []*journal.Document) *eval.Run {
	run := shards[0].Run
	run.ID = rundir.NewID(time.Now().UTC())
	run.Plan.Trials, run.Plan.Shard = run.Plan.Shard.Trials, nil
	run.RescoredFrom = rescoredFrom(shards)
	run.Labels = maps.Clone(run.Labels)
	options := *run.Options() // resuming the merged run must resume all of it
	options.Shard = eval.Shard{}
	run.CommandOptions = &eval.RunOptions{Options: options}
	for _, d := range shards {
		run.StartedAt = min(run.StartedAt, d.Run.StartedAt)
		agree(&run, &d.Run)
		for i := range run.Suites {
			lookAgain(run.Suites[i].Looks, d.Run.Suites[i].Looks)
		}
		run.Ledger, run.Cache = cmp.Or(run.Ledger, d.Run.Ledger), run.Cache || d.Run.Cache
		for _, m := range d.Run.Models {
			if !slices.ContainsFunc(run.Models, func(other eval.Model) bool {
				return other.Name == m.Name && other.APIVersion == m.APIVersion && other.Service == m.Service
			}) {
				run.Models = append(run.Models, m)
			}
		}
	}
	return &run
}

// lookAgain counts a shard that was run again: of one plan and one gate, shards have the same looks, or none in older runs.
func lookAgain(looks, ofShard []eval.Look) {
	for i := range min(len(looks), len(ofShard)) {
		looks[i].Nth = max(looks[i].Nth, ofShard[i].Nth)
	}
}

// agree removes from the merged run what a shard says otherwise: name, commit, branch and labels.
func agree(run, shard *eval.Run) {
	for _, text := range []struct {
		of *string
		is string
	}{{&run.Name, shard.Name}, {&run.Commit, shard.Commit}, {&run.Branch, shard.Branch}} {
		if *text.of != text.is {
			*text.of = ""
		}
	}
	if !bytes.Equal(run.Prices, shard.Prices) {
		run.Prices = nil
	}
	maps.DeleteFunc(run.Labels, func(key, value string) bool {
		other, has := shard.Labels[key]
		return !has || other != value
	})
}

// copied reads the files below a folder, by their paths in the run directory.
func copied(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read
	err = fs.WalkDir(files.FS(root), "suites", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		out[name], err = fs.ReadFile(files.FS(root), name)
		return err
	})
	return out, err
}

// firstOf returns the shard with the next trial of the plan, -1 at the end of all shards.
func firstOf(shards []*journal.Document, next []int) (first int, least journal.IndexedTrial) {
	first = -1
	for i, d := range shards {
		if next[i] == d.Len() {
			continue
		}
		if k := d.Indexed(next[i]); first < 0 || k.N < least.N {
			first, least = i, k
		}
	}
	return first, least
}

// copyInOrder copies the trials of all shards in the order of the plan.
func copyInOrder(w *journal.Writer, shards []*journal.Document) (counts eval.Counts, err error) {
	next := make([]int, len(shards)) // next trial of each shard
	for {
		first, least := firstOf(shards, next)
		if first < 0 {
			return counts, nil
		}
		if err := w.Copy(shards[first], next[first]); err != nil {
			return counts, err
		}
		counts.Add(least.Outcome)
		next[first]++
	}
}

// rescoredFrom lists the runs from which rescored shards took their answers.
func rescoredFrom(shards []*journal.Document) string {
	var ids []string
	for _, d := range shards {
		if id := d.Run.RescoredFrom; id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return strings.Join(ids, ", ")
}
