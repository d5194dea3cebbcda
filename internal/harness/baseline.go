package harness

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// BaselinesFile names baselines; it is meant to be committed.
const BaselinesFile = "baselines.json"

// Baseline is a run that has a name.
type Baseline struct {
	Run   string `json:"run"`  // its id
	Path  string `json:"path"` // of the run directory or the exported file, from where the names are
	SetAt string `json:"setAt"`
}

// Baselines reads the names in the working directory; without the file there are none.
func Baselines() (map[string]Baseline, error) {
	named := map[string]Baseline{}
	data, err := os.ReadFile(BaselinesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return named, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &named)
	}
	if err != nil {
		return nil, Exitf(ExitBadInput, "%s cannot be read: %w", BaselinesFile, err)
	}
	return named, nil
}

// SetBaseline gives a run a name. Only complete runs can be baselines.
func SetBaseline(name, run string) (*Baseline, error) {
	if !baselineName.MatchString(name) {
		return nil, Exitf(ExitBadInput, "%q is no name of a baseline: letters, digits, dot, dash and underscore", name)
	}
	d, err := OpenRun(run)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // it was only read
	if d.Partial() {
		return nil, Exitf(ExitBadInput, "the run %s is not complete; a baseline that lacks trials compares with nothing", run)
	}
	named, err := Baselines()
	if err != nil {
		return nil, err
	}
	path := d.Path()
	if here, err := os.Getwd(); err == nil {
		if abs, err := filepath.Abs(path); err == nil {
			if rel, err := filepath.Rel(here, abs); err == nil && !strings.HasPrefix(rel, "..") {
				path = rel
			}
		}
	}
	b := Baseline{Run: d.Run.ID, Path: filepath.ToSlash(path), SetAt: time.Now().UTC().Format(time.RFC3339)}
	named[name] = b
	data, err := json.MarshalIndent(named, "", "  ")
	if err == nil {
		err = maybe.WriteFile(BaselinesFile, append(data, '\n'), 0o644)
	}
	if err != nil {
		return nil, Exitf(ExitBadInput, "%s cannot be written: %w", BaselinesFile, err)
	}
	return &b, nil
}

// FindBaseline is where a baseline is: that of a name, a run by its id or directory, or a file that was exported.
func FindBaseline(name string) (path string, err error) {
	named, err := Baselines()
	if err != nil {
		return "", err
	}
	if b, ok := named[name]; ok {
		return filepath.FromSlash(b.Path), nil
	}
	path = runPath(name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	var names []string
	for n := range named {
		names = append(names, n)
	}
	slices.Sort(names)
	hint := diag.DidYouMean(name, names)
	if len(names) == 0 {
		hint = "no baseline has a name yet: evalrun baseline set " + name + " RUN"
	}
	return "", fmt.Errorf("there is no baseline, run or file %s; %s", name, hint)
}

// Export writes what a comparison needs of a run to one file: a run file without prompts, answers and what may quote them.
func Export(name, out string) error {
	path, err := FindBaseline(name)
	if err != nil {
		return Exitf(ExitBadInput, "%w", err)
	}
	d, err := OpenRun(path)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // it was only read
	if d.Partial() {
		return Exitf(ExitBadInput, "the run %s is not complete; a baseline that lacks trials compares with nothing", path)
	}
	if err := writable(out); err != nil {
		return Exitf(ExitBadInput, "%s cannot be written: %w", out, err)
	}
	if err := writeFile(out, d.Export); err != nil {
		return Exitf(ExitIncomplete, "%s cannot be written: %w", out, err)
	}
	return nil
}

// effective is the baseline rule of a suite's gate, with what the flags say instead; nil when nothing is compared.
func effective(g *eval.GateConfig, f Flags) (*eval.BaselineRule, error) {
	var rule eval.BaselineRule
	switch {
	case g != nil && g.Baseline != nil:
		rule = *g.Baseline
		rule.Metrics = slices.Clone(rule.Metrics)
	case f.Baseline == "":
		return nil, nil
	}
	if f.Baseline != "" {
		rule.Run, rule.Arm = f.Baseline, ""
	}
	return &rule, f.Rule.over(&rule)
}

// over puts what the flags say into a rule, and checks it.
func (r Rule) over(rule *eval.BaselineRule) error {
	if r.OnInconclusive != "" && !slices.Contains([]string{eval.OnFail, eval.OnWarn, eval.OnPass}, r.OnInconclusive) {
		return Exitf(ExitBadInput, "--on-inconclusive takes fail, warn or pass")
	}
	rule.Alpha = cmp.Or(r.Alpha, rule.Alpha, eval.DefaultAlpha)
	rule.OnInconclusive = cmp.Or(r.OnInconclusive, rule.OnInconclusive, eval.OnFail)
	rule.StopEarly = rule.StopEarly || r.StopEarly
	if r.Margin > 0 {
		for i := range rule.Metrics {
			if !eval.IsRatio(rule.Metrics[i].Name) {
				rule.Metrics[i].Margin = r.Margin
			}
		}
		if len(rule.Metrics) == 0 && len(r.Metrics) == 0 {
			rule.Metrics = []eval.MetricMargin{{Name: eval.MetricPass, Margin: r.Margin}}
		}
	}
	if len(r.Metrics) > 0 {
		rule.Metrics = nil
	}
	for _, text := range r.Metrics {
		name, value, own := strings.Cut(text, "=")
		one := eval.MetricMargin{Name: name, Margin: r.Margin}
		if own {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil || v <= 0 || !eval.IsRatio(name) && v >= 1 || eval.IsRatio(name) && v <= 1 {
				return Exitf(ExitBadInput, "--metric %s: a margin lies between 0 and 1, a limit of latency or tokens is larger than 1", text)
			}
			one.Margin = v
		}
		if one.Margin == 0 || eval.IsRatio(name) && !own {
			return Exitf(ExitBadInput, "--metric %s has no margin: --metric %s=0.05, or for latency and tokens a limit such as 1.1", text, name)
		}
		rule.Metrics = append(rule.Metrics, one)
	}
	if len(rule.Metrics) == 0 {
		return Exitf(ExitBadInput, "a gate with a baseline needs a margin: --margin 0.05 lets the pass rate be 5 points lower; there is no default")
	}
	return nil
}

// withBaseline compares a run with the baseline that its gate names; nil when it names none.
func withBaseline(d *journal.Document) *eval.Comparison {
	var flags Flags
	_ = json.Unmarshal(d.Run.Flags, &flags) // of a foreign run file: none
	rules := map[string]*eval.BaselineRule{}
	var first *eval.BaselineRule
	for i := range d.Run.Suites {
		if g := d.Run.Suites[i].Gate; g != nil && g.Baseline != nil {
			rules[d.Run.Suites[i].Name] = g.Baseline
			first = cmp.Or(first, g.Baseline)
		}
	}
	switch {
	case first == nil || d.Run.Plan.Shard != nil || d.Running:
		return nil
	case flags.NoBaseline:
		return &eval.Comparison{NotCompared: true, Arms: []eval.ArmComparison{}}
	}
	c, err := compareWith(d, first, func(suite string) *eval.BaselineRule { return rules[suite] })
	if err != nil {
		return &eval.Comparison{Verdict: eval.Invalid, Why: err.Error(), Base: eval.Compared{Name: cmp.Or(first.Run, first.Arm)}, Arms: []eval.ArmComparison{}}
	}
	return c
}

func compareWith(d *journal.Document, rule *eval.BaselineRule, rules func(string) *eval.BaselineRule) (*eval.Comparison, error) {
	what := Comparing{Rules: rules, Base: cmp.Or(rule.Run, rule.Arm), Head: d.Run.ID}
	if rule.Arm != "" {
		what.BaseArm = rule.Arm
		return Compare(d, d, what)
	}
	base, err := journal.Open(cmp.Or(rule.Path, rule.Run))
	if err != nil {
		return nil, fmt.Errorf("the baseline %s cannot be read: %w", rule.Run, err)
	}
	defer base.Close() //nolint:errcheck // it was only read
	if base.Run.ID == d.Run.ID {
		return nil, errors.New("the baseline is the run itself")
	}
	return Compare(base, d, what)
}

// Baseline is the rule that the flags state; nil when they state none.
func (r Rule) Baseline() (*eval.BaselineRule, error) {
	if r.Margin == 0 && len(r.Metrics) == 0 {
		return nil, nil
	}
	rule := &eval.BaselineRule{}
	return rule, r.over(rule)
}

// ComparisonExit is the exit code of a comparison by a rule, nil for none.
func ComparisonExit(c *eval.Comparison, rule *eval.BaselineRule) int {
	if rule == nil {
		return verdictExit(c.Verdict, eval.OnFail) // invalid, or nothing
	}
	return verdictExit(c.Verdict, rule.OnInconclusive)
}

// CheckArm says that a run has no such arm.
func CheckArm(d *journal.Document, arm string) error {
	var names []string
	for _, s := range d.Summary.Suites {
		for i := range s.Arms {
			names = append(names, s.Arms[i].Name)
		}
	}
	if slices.Contains(names, arm) {
		return nil
	}
	return Exitf(ExitBadInput, "the run %s has no arm %s; %s", d.Run.ID, arm, diag.DidYouMean(arm, names))
}
