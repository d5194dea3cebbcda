package reports

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// When some trials stand out enough for a line about them.
const (
	fewMeasures = 10
	outstanding = 2   // multiple of the median
	slowEnough  = 100 // milliseconds: less is noise
	maxExtremes = 3
)

// extremes names the slowest and the costliest trials, if they differ much from the rest.
func (t *table) extremes() {
	before := t.out.Len()
	t.extreme("slowest", slowEnough, text.Duration, func(m journal.Measure) float64 { return m.LatencyMs })
	tokens := func(n float64) string { return wholeNumber(n) + " tokens" }
	t.extreme("costliest", 0, tokens, func(m journal.Measure) float64 { return float64(m.Tokens) })
	if t.out.Len() > before {
		t.out.WriteString("\n")
	}
}

// extreme names the scored trials with the largest values that are at least least and well above the median.
func (t *table) extreme(word string, least float64, show func(float64) string, value func(journal.Measure) float64) {
	all := make([]float32, 0, t.d.Len()) // a run may have a million
	top := largest{value: value}
	for m := range t.d.Measures {
		if v := value(m); v > 0 && (m.Outcome == eval.Pass || m.Outcome == eval.Fail) {
			all = append(all, float32(v))
			top.add(m)
		}
	}
	if len(all) < fewMeasures {
		return
	}
	slices.Sort(all)
	median := float64(all[len(all)/2])
	var named []string
	for _, m := range top.all {
		if v := value(m); v >= outstanding*median && v >= least {
			k := t.d.Indexed(m.Place)
			name := displaywidth.TruncateString(diag.CleanLine(k.Case), 30, "...")
			named = append(named, fmt.Sprintf("%s on %s (%s)", name, k.Arm, show(v)))
		}
	}
	if len(named) > 0 {
		t.wrapped("", fmt.Sprintf("%s: %s; the median is %s", word, strings.Join(named, ", "), show(median)))
	}
}

// largest keeps the measures with the largest values, in descending order.
type largest struct {
	value func(journal.Measure) float64
	all   []journal.Measure
}

func (l *largest) add(m journal.Measure) {
	at := slices.IndexFunc(l.all, func(one journal.Measure) bool { return l.value(one) < l.value(m) })
	if at < 0 {
		at = len(l.all)
	}
	if at < maxExtremes {
		l.all = slices.Insert(l.all, at, m)
		l.all = l.all[:min(len(l.all), maxExtremes)]
	}
}

// suggestion is a suggested command with its purpose; without a command it is advice.
type suggestion struct {
	args []string
	why  string
}

// next writes the most useful command or, if verbose, all suggestions.
func (t *table) next() {
	steps := t.steps()
	if !t.o.Verbose {
		t.nextStep(steps)
		return
	}
	if len(steps) == 0 {
		return
	}
	t.line("next:")
	column := 0 // where comments begin
	for _, s := range steps {
		if len(s.args) == 0 {
			continue
		}
		if w := displaywidth.String(strings.Join(s.lines(t.o.Width), "")); w+4+displaywidth.String(s.why) <= t.o.Width {
			column = max(column, w)
		}
	}
	for _, s := range steps {
		t.step(s, column)
	}
}

// nextStep writes the first command that fits on a line.
func (t *table) nextStep(steps []suggestion) {
	const label = "next: "
	for _, s := range steps {
		line := label + s.text()
		if len(s.args) == 0 || displaywidth.String(line) > t.o.Width {
			continue
		}
		for _, other := range rescoreComments(s, steps) {
			if displaywidth.String(line+other) <= t.o.Width {
				line += t.dim(other)
				break
			}
		}
		t.out.WriteString(line + "\n")
		return
	}
}

// rescoreComments are comments on a command that sends requests again, longest first: they point to rescore, which
// sends none. There are none when rescore is not an option.
func rescoreComments(s suggestion, steps []suggestion) []string {
	at := slices.IndexFunc(steps, func(o suggestion) bool { return len(o.args) > 0 && o.args[0] == "rescore" })
	if at < 0 || s.args[0] != "run" {
		return nil
	}
	other := steps[at].text()
	return []string{"  # changed scorers only? " + other, "  # scorers only? " + other, "  # or " + other}
}

// text is the command, quoted for a shell.
func (s *suggestion) text() string {
	return "evalrun " + text.ShellWords(s.args)
}

// step writes a command that can be copied, with its purpose after it if there is room, else before it.
func (t *table) step(s suggestion, column int) {
	if len(s.args) == 0 {
		t.wrapped("  # ", s.why)
		return
	}
	lines, comment := s.lines(t.o.Width), "# "+s.why
	if slices.ContainsFunc(lines, func(line string) bool { return displaywidth.String(line) > t.o.Width }) {
		return // a truncated command is useless
	}
	behind := max(0, column-displaywidth.String(lines[0])) + 2
	if len(lines) == 1 && displaywidth.String(lines[0]+comment)+behind <= t.o.Width {
		lines[0] += strings.Repeat(" ", behind) + t.dim(comment)
	} else {
		t.line("  %s", t.dim(comment))
	}
	t.out.WriteString(strings.Join(lines, "\n") + "\n")
}

// lines is the command, quoted for a shell and wrapped to a width where its words allow that.
func (s *suggestion) lines(width int) (lines []string) {
	body := "  evalrun"
	for _, arg := range s.args {
		arg = text.ShellWord(arg)
		if displaywidth.String(body)+displaywidth.String(arg)+3 > width {
			lines = append(lines, body+` \`)
			body = "   "
		}
		body += " " + arg
	}
	return append(lines, body)
}

// copyable reports whether all arguments can be shown verbatim.
func copyable(args []string) bool {
	return !slices.ContainsFunc(args, func(s string) bool {
		return diag.CleanLine(s) != s || strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "--")
	})
}

// steps are the useful commands that can be shown verbatim.
func (t *table) steps() []suggestion {
	run := t.runName()
	if run == "" || t.d.Running || t.d.Run.Plan.Shard != nil || t.d.Summary.Counts.Total() == 0 && t.d.End != nil && t.d.Waits() == nil {
		return nil
	}
	all := slices.Concat(t.completing(run), t.deciding(run), t.improving(run))
	switch {
	case t.o.Verbose:
		all = append(all, t.comparing(run)...)
	case len(all) == 0 && (t.d.Comparison() != nil || t.twoArms() != nil): // without these it is for a later run
		all = t.comparing(run)
		all = all[:min(1, len(all))]
	}
	return slices.DeleteFunc(all, func(s suggestion) bool { return !copyable(s.args) })
}

// completing are commands that get what the run lacks.
func (t *table) completing(run string) []suggestion {
	var all []suggestion
	switch {
	case t.d.Waits() != nil:
		all = append(all, suggestion{[]string{"resume", run}, "collects the answers"})
	case t.unfinished():
		all = append(all, suggestion{append([]string{"resume", run}, t.d.Run.Ledger.Flags()...), "runs what is missing"})
	case t.help.retry:
		all = append(all, suggestion{append([]string{"resume", run, "--errors"}, t.d.Run.Ledger.Flags()...), "runs the errors again"})
	}
	if t.help.accept {
		all = append(all, suggestion{[]string{"accept", run}, "shows new answers, and keeps the good ones"})
	}
	if t.help.askJudges {
		all = append(all, suggestion{[]string{"rescore", run, "--ask-judges"}, "calls only the judges"})
	}
	return all
}

// deciding is the command that names the arms close to the best, where several may be it.
func (t *table) deciding(run string) []suggestion {
	undecided := func(r compare.Ranking) bool { return r.Why == "" && len(r.Best()) > 1 }
	if !slices.ContainsFunc(t.standings, undecided) {
		return nil
	}
	return []suggestion{{[]string{"compare", run, "--rank", "--within", "0.05"}, "names the arms close to the best, and the cheapest"}}
}

// improving are commands that show what failed, and run it again after a change.
func (t *table) improving(run string) []suggestion {
	var all []suggestion
	failed := t.d.Summary.Counts.Fail > 0
	if args := t.rerun(run); failed && args != nil {
		all = append(all, suggestion{args, "after a change: only what failed"})
	}
	if t.show != "" {
		all = append(all, suggestion{[]string{"show", run, t.show}, "one case in full"})
	}
	if why := t.help.rescoring(failed); why != "" {
		all = append(all, suggestion{[]string{"rescore", run}, why})
	}
	return all
}

// unfinished reports whether the run ended before its plan.
func (t *table) unfinished() bool {
	return t.d.End == nil || t.d.End.Reason != eval.EndCompleted || t.d.Summary.Counts.Total() < t.d.Run.Plan.Trials
}

// latest names the newest run on the command line.
const latest = "latest"

func (t *table) runName() string {
	if id := filepath.Base(t.d.Dir); t.d.Dir == filepath.Join(".evalrun", "runs", id) {
		if t.o.Latest {
			return latest
		}
		return id
	}
	return t.d.Dir
}

// twoArms are the first two arms of a run of one suite.
func (t *table) twoArms() []string {
	if len(t.d.Summary.Suites) != 1 || len(t.d.Summary.Suites[0].Arms) < 2 {
		return nil
	}
	arms := t.d.Summary.Suites[0].Arms
	return []string{arms[0].Name, arms[1].Name}
}

// rerun is the command that runs the failed cases again, on the same service; nil when the run sent no requests.
// The suites and their selection come from the run.
func (t *table) rerun(run string) []string {
	if t.sentNothing() {
		return nil
	}
	return append([]string{"run", "--failed-in", run}, t.serviceFlags()...)
}

// sentNothing reports whether the answers come from files or another run, or another program wrote the run.
func (t *table) sentNothing() bool {
	run := &t.d.Run
	return run.Replay != "" || run.RescoredFrom != "" || run.UnreadableOptions() != nil
}

// repeatArgs is the command that runs the suites again, on the same service; nil when the run sent no requests.
func (t *table) repeatArgs(flags []string, repeats int) []string {
	f := t.d.Run.Options()
	if t.sentNothing() {
		return nil
	}
	args := []string{"run"}
	for i := range t.d.Run.Suites {
		args = append(args, t.d.Run.Suites[i].File)
	}
	args = append(args, flags...)
	args = append(args, t.serviceFlags()...)
	if f.Untrusted {
		args = append(args, "--untrusted")
	}
	for _, what := range f.Allow {
		args = append(args, "--allow", what)
	}
	for _, glob := range f.AllowFile {
		args = append(args, "--allow-file", glob)
	}
	if repeats > 0 {
		args = append(args, "--repeats", fmt.Sprint(repeats))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Vars)) {
		args = append(args, "--var", name+"="+f.Vars[name])
	}
	return args
}

// serviceFlags are the flags of a run that name its services. An emulator that was given by its address keeps it.
func (t *table) serviceFlags() []string {
	var args []string
	f := t.d.Run.Options()
	switch f.Emulator {
	case "":
	case eval.DemoScript:
		args = append(args, "--emulator")
	default:
		args = append(args, "--emulator="+t.local(f.Emulator))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Services)) {
		args = append(args, "--service", name+".baseUrl="+f.Services[name])
	}
	for _, name := range f.AllowEnv {
		args = append(args, "--allow-env", name)
	}
	for _, flag := range []struct{ name, value string }{
		{"--base-url", f.BaseURL},
		{"--api-version", f.APIVersion},
		{"--header-prefix", f.HeaderPrefix},
		{"--auth", string(f.Auth)},
		{"--project", f.Project},
		{"--prices", t.local(f.Prices)},
	} {
		if flag.value != "" {
			args = append(args, flag.name, flag.value)
		}
	}
	return args
}

// local is a path relative to the working folder, if it is inside: run files have absolute paths.
func (t *table) local(path string) string {
	if t.o.Folder == "" || path == "" {
		return path
	}
	if in, err := filepath.Rel(t.o.Folder, path); err == nil && filepath.IsLocal(in) {
		return in
	}
	return path
}
