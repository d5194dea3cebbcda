package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/suite"
)

// CheckState is the result of a Check.
type CheckState string

// The states of a Check.
const (
	OK      CheckState = "ok"
	Warning CheckState = "warning" // it may cause trouble
	Problem CheckState = "problem" // it prevents runs
)

// Check is one finding of a Doctor. It contains no secrets.
type Check struct {
	Name   string     `json:"name"`
	State  CheckState `json:"state"`
	Text   string     `json:"text"`             // the finding
	Advice string     `json:"advice,omitempty"` // what to do about it
	Page   string     `json:"page,omitempty"`   // of the documentation: PAGE#SECTION
	exit   int        // exit code that a problem leads to
}

type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"` // "" if not set
	From  string `json:"from"`
}

// Checkup is the result of a Doctor.
type Checkup struct {
	Exit     int       `json:"exit"` // of the command: eval.CodeOK, eval.CodeBadInput or eval.CodeIncomplete
	Settings []setting `json:"settings,omitempty"`
	Checks   []Check   `json:"checks"`
}

// Doctor examines a set-up: which settings apply, where each comes from, and whether the services can be used with
// them. It lists models, and makes no call that costs.
type Doctor struct {
	Options Options
	Version string // of evalrun
	Width   int    // of the terminal, 0 without one
	Color   bool

	out Checkup
}

// Examine runs all checks. Possible causes come before their effects.
func (d *Doctor) Examine(ctx context.Context) *Checkup {
	d.ok("evalrun", "%s, %s, %s/%s", d.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	d.Options.Attempts = cmp.Or(d.Options.Attempts, 1) // a quick result is worth more than retries
	d.Options.Timeout = cmp.Or(d.Options.Timeout, doctorTimeout)
	j, err := d.suites().Settle()
	if err != nil {
		d.problem(
			"settings", eval.CodeBadInput, err.Error(), "correct it where it is set: a flag, a variable, or the suite",
			"running#environment",
		)
	}
	d.proxies()
	if err == nil {
		d.applications(j)
		d.answering(ctx, j)
	}
	d.runFolder()
	d.terminal()
	d.emulator(ctx)
	for _, c := range d.out.Checks {
		if d.out.Exit != eval.CodeBadInput && c.exit != eval.CodeOK {
			d.out.Exit = c.exit
		}
	}
	return &d.out
}

func (d *Doctor) answering(ctx context.Context, j *Job) {
	for _, one := range j.Named() {
		d.named(ctx, j, one)
	}
	if !j.NeedsService() {
		return
	}
	d.out.Settings = d.sources(j)
	ready := d.addressed(j)
	if d.credentials(j) && ready {
		d.service(ctx, j)
	} else {
		d.warning("service", "not checked", "settle the problems above first", "")
	}
}

// applications lists applications without a call, which may cost money or have effects.
func (d *Doctor) applications(j *Job) {
	var named []string
	for _, s := range j.Suites {
		for _, t := range s.Targets {
			if to := t.App(); to != nil && !slices.Contains(named, to.String()) {
				named = append(named, to.String())
			}
		}
	}
	d.sandbox(j)
	if len(named) > 0 {
		d.ok("apps", "the suites test %s; none is called here", strings.Join(named, ", "))
	}
}

// sandbox says whether programs can be confined, where a suite wants it.
func (d *Doctor) sandbox(j *Job) {
	wanted, needed := false, false
	for _, s := range j.Suites {
		for _, t := range s.Targets {
			if p, ok := t.Of.(*suite.Program); ok {
				needed = needed || p.Confined.Kind == suite.SandboxBwrap
				wanted = wanted || needed || p.Confined.Kind == suite.SandboxAuto
			}
		}
	}
	switch err := bwrapWorks(); {
	case !wanted:
	case err == nil:
		d.ok("sandbox", "bubblewrap works: %s", bwrapPath())
	case needed:
		d.problem("sandbox", eval.CodeBadInput, err.Error(), "`sandbox: auto` runs without one", "agents#confine-the-agent")
	default:
		d.warning("sandbox", err.Error(), "trials are `open` until then", "agents#confine-the-agent")
	}
}

// doctorTimeout bounds the time to list the models of a service.
const doctorTimeout = 10 * time.Second

func (d *Doctor) ok(name, format string, args ...any) {
	d.out.Checks = append(d.out.Checks, Check{Name: name, State: OK, Text: fmt.Sprintf(format, args...)})
}

func (d *Doctor) warning(name, text, advice, page string) {
	d.out.Checks = append(d.out.Checks, Check{Name: name, State: Warning, Text: text, Advice: advice, Page: page})
}

func (d *Doctor) problem(name string, code int, text, advice, page string) {
	d.out.Checks = append(d.out.Checks, Check{Name: name, State: Problem, Text: text, Advice: advice, Page: page, exit: code})
}

// suites loads the suites. It ignores the service settings of a suite with problems.
func (d *Doctor) suites() *Loaded {
	none := noSuites(d.Options)
	l, err := Load(d.Options)
	if err != nil {
		d.problem("suites", eval.CodeBadInput, err.Error(), "", "suite")
		return none
	}
	d.Options = l.Options // with the project file
	switch {
	case len(l.Suites) == 0:
		return none
	case l.Bad() != nil:
		d.problem(
			"suites", eval.CodeBadInput, "there are problems in "+strings.Join(d.Options.Suites, ", "),
			"`evalrun validate "+strings.Join(d.Options.Suites, " ")+"` shows them", "suite",
		)
		return none
	}
	d.ok("suites", "%s without problems", diag.Count(len(l.Suites), "suite"))
	return l
}

func (d *Doctor) sources(j *Job) []setting {
	f := &d.Options
	var out []setting
	for _, s := range unnamedService() {
		file := slices.IndexFunc(j.Suites, func(one *suite.Suite) bool { return s.suite(&one.Service) != "" })
		value, from := *s.run(&j.Settings.Service), "default"
		switch {
		case s.name == "baseUrl" && f.Emulator != "":
			value, from = "evalrun's emulator", "--emulator"
		case *s.option(&f.ServiceOptions) != "":
			from = s.flag
		case f.Env(s.variable()) != "":
			from = s.variable()
		case file >= 0:
			from = "service." + s.name + " in " + j.Suites[file].File
		case *s.option(&f.ByProject().ServiceOptions) != "":
			from = s.name + " in " + f.project.Shown()
		case value == "":
			from = "not set"
		}
		out = append(out, setting{s.name, value, from})
	}
	return out
}

// runFolder tries to write where runs are kept, in the folder above when that is not there yet.
func (d *Doctor) runFolder() {
	dir, err := filepath.Abs(rundir.Runs)
	for err == nil {
		if _, missing := os.Stat(dir); !errors.Is(missing, os.ErrNotExist) || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err == nil {
		err = files.Probe(dir)
	}
	if err != nil {
		d.problem(
			"runs", eval.CodeBadInput, fmt.Sprintf("no run can be kept in %s: %v", rundir.Runs, err),
			"work in a folder of your own, or name one by --out", "run-file",
		)
		return
	}
	d.ok("runs", "they are kept in %s, which can be written", rundir.Runs)
}

func (d *Doctor) terminal() {
	switch {
	case d.Width == 0:
		d.ok("terminal", "standard output is not a terminal: reports are plain")
	case d.Color:
		d.ok("terminal", "%s, with colours", diag.Count(d.Width, "column"))
	default:
		d.ok("terminal", "%s, without colours (NO_COLOR, or TERM)", diag.Count(d.Width, "column"))
	}
}

// emulator starts the embedded emulator and sends it a request, as --emulator does.
func (d *Doctor) emulator(ctx context.Context) {
	var alone Options
	alone.Emulator, alone.Attempts, alone.Timeout = eval.DemoScript, 1, doctorTimeout
	alone.Getenv = func(string) string { return "" }
	j, err := noSuites(alone).Settle()
	var session *Session
	if err == nil {
		session, err = Connect(j, d.Version, func(string) {})
	}
	if err == nil {
		defer session.Close()
		_, err = session.Models(ctx)
	}
	if err != nil {
		d.problem(
			"emulator", eval.CodeIncomplete, err.Error(), "evalrun needs to listen on 127.0.0.1: is that forbidden here?",
			"emulator",
		)
		return
	}
	d.ok("emulator", "it answers: `evalrun run SUITE --emulator` works without a service")
}
