package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// A run directory acts as code: resuming or rescoring it starts the programs of its suites and sends the key to its
// address. So evalrun signs the header of a run with the user's key, and refuses a directory that somebody else made
// unless --trust is given.

// ownService is the service according to the user's own options and environment, whatever a run says.
type ownService struct {
	baseURL string
	auth    eval.AuthKind
	named   map[string]string // addresses of named services, by name
}

// files lists the files that the options of a run name and given, the options of the user, do not replace. In a run that
// somebody else made they could be any files of this machine.
func (f *Options) files(given *eval.Options) (out []string) {
	script := f.Emulator
	if script == eval.DemoScript {
		script = ""
	}
	for _, o := range []struct{ flag, path, given string }{
		{"--emulator", script, given.Emulator},
		{"--replay", f.Replay, given.Replay},
		{"--answers", f.Answers, given.Answers},
		{"rescore", f.Rescore, given.Rescore},
		{"--extend", f.Extend, given.Extend},
	} {
		if o.path != "" && o.given == "" {
			out = append(out, fmt.Sprintf("%s (%s)", o.path, o.flag))
		}
	}
	return out
}

func (f *Options) own() ownService { return ownService{f.BaseURL, f.Auth, maps.Clone(f.Services)} }

// settle completes o from the environment.
func (o ownService) settle(f *Options) ownService {
	return ownService{
		baseURL: strings.TrimRight(cmp.Or(o.baseURL, f.Env("EVALRUN_BASE_URL")), "/"),
		auth:    cmp.Or(o.auth, eval.AuthKind(f.Env("EVALRUN_AUTH")), eval.AuthKey),
		named:   o.named,
	}
}

// claims are the side effects that a run's header and suites ask for, and the user's options do not.
type claims struct {
	run       *journal.Document
	address   string   // receives the key or login; "" if that is the user's own address, or nothing is sent
	endpoints []string // of applications
	services  []string // named services, as check shows them
	programs  []string // command lines
	folder    string   // receives recorded answers
	files     []string // read on this machine
	untrusted bool     // the user gave --untrusted
}

// check returns an error that lists the side effects, or nil when there are none. how is the task, such as "resuming".
func (c *claims) check(how string) error {
	var would []string
	add := func(effect string, of ...string) {
		for _, one := range of {
			if one != "" {
				would = append(would, "\n  "+diag.CleanLine(effect+" "+one))
			}
		}
	}
	add("send requests, with your key or login, to", c.address)
	add("send requests, with what your environment holds for them, to", c.endpoints...)
	add("send requests to", c.services...)
	add("start the program", c.programs...)
	add("write answers into", c.folder)
	add("read", c.files...)
	if len(would) == 0 {
		return nil
	}
	why := "was not signed by you"
	if c.run.Run.Signature != "" {
		why = "was signed by somebody else, or was moved or changed since"
	}
	advice := "add --trust to allow that, or --untrusted to start no program, call no endpoint and use only your own service"
	if c.untrusted {
		advice = "run the suite again, or add --trust to allow that"
	}
	return eval.BadInput("the run %s %s; %s it would:%s\n%s", c.run.Dir, why, how, strings.Join(would, ""), advice)
}

// elsewhere returns the settled address if it, or the way to authenticate, differs from the user's own; otherwise "".
func (s *runSettings) elsewhere(own ownService) string {
	if s.Service.BaseURL == own.baseURL && s.Service.Auth == own.auth {
		return ""
	}
	return s.Service.BaseURL
}

// programsOf returns the commands that the suites start, or with ofScorers only those of their scorers.
func programsOf(j *Job, ofScorers bool) []string {
	var commands []string
	for _, s := range j.Suites {
		for _, version := range s.Versions() {
			if !ofScorers {
				commands = append(commands, version.Programs()...)
			}
			commands = append(commands, scorersPrograms(version)...)
		}
	}
	return few(commands)
}

// endpointsOf returns the HTTP endpoints of applications that the suites call.
func endpointsOf(j *Job) []string {
	var out []string
	for t := range j.Targets {
		if e, ok := t.Of.(*suite.HTTPTarget); ok {
			out = append(out, e.String())
		}
	}
	return few(out)
}

// servicesOf describes the named services among calls whose address no flag of the user gives. own holds the addresses
// from options, by name.
func servicesOf(s *runSettings, own map[string]string, calls []string) []string {
	var out []string
	for _, name := range calls {
		if named := s.Services[name]; named != nil && own[name] != named.URL {
			with := "without a key"
			if named.KeyEnv != "" {
				with = "with your key in " + named.KeyEnv
			}
			out = append(out, fmt.Sprintf("%s (the service `%s`), %s", named.URL, name, with))
		}
	}
	return few(out)
}

func loginsOf(s *runSettings, calls []string) []string {
	var out []string
	for _, name := range calls {
		if named := s.Services[name]; named != nil && named.Login != nil {
			out = append(out, named.Login.Identity)
		}
	}
	return few(out)
}

// few removes duplicates, and cuts a long list so that the message fits a screen.
func few(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	const most = 20
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}

func programsIn(s *suite.Suite) []string { return append(s.Programs(), scorersPrograms(s)...) }

// scorersPrograms returns the commands that the scorers of a suite start, each once.
func scorersPrograms(s *suite.Suite) []string {
	var out []string
	for c := range s.Cases() {
		for _, sc := range c.Scorers {
			for _, p := range sc.Needs.Programs {
				if !slices.Contains(out, p) {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// vet refuses to resume a run that somebody else made if it would do anything that needs trust.
func (r *Resumption) vet(j *Job, s *runSettings) error {
	if r.Options.Trust || s.trust.Signed(r.doc) {
		return nil
	}
	c := claims{run: r.doc, files: r.Options.files(&r.given), untrusted: r.untrusted}
	if r.untrusted {
		return c.check("resuming")
	}
	from, requests := s.Source.(eval.FromService)
	_, rescored := s.Rescored()
	c.programs, c.folder = programsOf(j, !requests), from.Record
	if requests {
		c.endpoints = endpointsOf(j)
	}
	if r.Options.Emulator == "" && (requests || rescored) {
		calls := j.Called()
		c.address = s.elsewhere(r.own)
		c.services = servicesOf(s, r.own.named, calls)
		c.programs = append(c.programs, loginsOf(s, calls)...)
	}
	return c.check("resuming")
}

// vetPrices refuses the price list of a run that somebody else made: it is read before vet can refuse more.
func (r *Resumption) vetPrices() error {
	file := cmp.Or(r.Options.Prices, r.Options.ByProject().Prices)
	if !r.Options.foreign || file == "" || r.given.Prices != "" {
		return nil
	}
	c := claims{run: r.doc, files: []string{file + " (--prices)"}, untrusted: true}
	return c.check("resuming")
}

// Trusts reports whether the user signed a run, or gave --trust.
func (j *Job) Trusts(d *journal.Document) bool { return j.Options.Trust || j.Settings.trust.Signed(d) }

// VetAnswers refuses to rescore a run that somebody else made if that would do anything that needs trust. Suites that the
// user named are trusted. sends says that the job sends requests to services.
func (j *Job) VetAnswers(of *journal.Document, sends bool) error {
	if j.Trusts(of) || j.Options.Untrusted {
		return nil
	}
	c := claims{run: of}
	if !j.rescored.ownSuites {
		c.programs = programsOf(j, true)
	}
	if sends {
		c.files = j.Options.files(&j.rescored.given)
	}
	if j.Options.Emulator == "" && sends {
		own := j.rescored.ownService.settle(&j.Options)
		c.address = j.Settings.elsewhere(own)
		if !j.rescored.ownSuites {
			calls := j.Called()
			c.services = servicesOf(&j.Settings, own.named, calls)
			c.programs = append(c.programs, loginsOf(&j.Settings, calls)...)
		}
	}
	return c.check("rescoring")
}

// Sign signs the header of a new run in dir with the user's key.
func (s *runSettings) Sign(run *eval.Run, dir string) error { return s.trust.SignRun(run, dir) }
