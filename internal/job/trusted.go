package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// A run directory acts as code: resuming or rescoring it starts the programs of its suites and sends the key to its
// address. So evalrun signs its header with the user's key, and a directory of somebody else has to be trusted by name.

// ownService is where the user's own flags and environment say that the service is, whatever a run says.
type ownService struct {
	baseURL, auth string
	named         map[string]string // addresses of named services, by their names
}

// own is what the flags say of the service.
func (f *Flags) own() ownService { return ownService{f.BaseURL, f.Auth, maps.Clone(f.Services)} }

// settle takes what the flags do not say from the environment.
func (o ownService) settle(getenv func(string) string) ownService {
	return ownService{
		strings.TrimRight(cmp.Or(o.baseURL, getenv("EVALRUN_BASE_URL")), "/"),
		cmp.Or(o.auth, getenv("EVALRUN_AUTH"), suite.AuthKey), o.named,
	}
}

// claims are what a run does because of its header and its suites alone.
type claims struct {
	run       *journal.Document
	address   string // to which the key goes; "": to the user's own, or nowhere
	endpoints []string
	services  []string
	programs  []string
	folder    string // in which answers are recorded
}

// check says what an untrusted run would do, as an error; nil when that is nothing.
func (c *claims) check(how string) error {
	var would []string
	if c.address != "" {
		would = append(would, "send requests, with your key or login, to "+c.address)
	}
	for _, e := range c.endpoints {
		would = append(would, "send requests, with what your environment holds for them, to "+e)
	}
	for _, one := range c.services {
		would = append(would, "send requests to "+one)
	}
	for _, p := range c.programs {
		would = append(would, "start the program "+p)
	}
	if c.folder != "" {
		would = append(would, "write answers into "+c.folder)
	}
	if len(would) == 0 {
		return nil
	}
	for i := range would {
		would[i] = "\n  " + diag.CleanLine(would[i])
	}
	why := "was not signed by you"
	if c.run.Run.Signature != "" {
		why = "was signed by somebody else, or was moved or changed since"
	}
	return exit.BadInput(
		"the run %s %s; %s it would:%s\nadd --trust to allow that, or --untrusted to start no program, call no endpoint and use only "+
			"your own service",
		c.run.Dir, why, how, strings.Join(would, ""),
	)
}

// elsewhere is the address of the settings when it, or the way to authenticate, is not the user's own.
func (s *Settings) elsewhere(own ownService) string {
	if s.Service.BaseURL == own.baseURL && s.Service.Auth == own.auth {
		return ""
	}
	return s.Service.BaseURL
}

// programsOf are the commands that suites start, or only those of their scorers.
func programsOf(j *Job, ofScorers bool) []string {
	var out []string
	for _, s := range j.Suites {
		for _, version := range s.Versions() {
			if !ofScorers {
				out = append(out, version.Programs()...)
			}
			out = append(out, scorersPrograms(version)...)
		}
	}
	return few(out)
}

// endpointsOf are the endpoints that suites call.
func endpointsOf(j *Job) []string {
	var out []string
	for t := range j.Targets {
		if t.App != nil && t.App.HTTP != nil {
			out = append(out, t.App.String())
		}
	}
	return few(out)
}

// servicesOf are the named services that are called and whose address the user does not give by a flag.
func servicesOf(s *Settings, own map[string]string, calls []string) []string {
	var out []string
	for _, name := range calls {
		if one := s.Services[name]; one != nil && own[name] != one.URL {
			with := "without a key"
			if one.KeyEnv != "" {
				with = "with your key in " + one.KeyEnv
			}
			out = append(out, fmt.Sprintf("%s (the service `%s`), %s", one.URL, name, with))
		}
	}
	return few(out)
}

// loginsOf are the programs that print tokens for services that are called.
func loginsOf(s *Settings, calls []string) []string {
	var out []string
	for _, name := range calls {
		if one := s.Services[name]; one != nil && one.Login != nil {
			out = append(out, one.Login.Identity)
		}
	}
	return few(out)
}

// few are the first of some words, each once.
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

// programsIn are the commands that one suite starts.
func programsIn(s *suite.Suite) []string { return append(s.Programs(), scorersPrograms(s)...) }

// scorersPrograms are those of its scorers.
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

// vet wants a run that is resumed to be the user's own, or to do nothing that needs trust.
func (r *Resumption) vet(j *Job, s *Settings) error {
	if r.trust || r.untrusted || s.trust.Signed(r.doc) {
		return nil
	}
	offline := r.Flags.Replay != "" || r.Flags.Answers != "" || r.Flags.Rescore != ""
	c := claims{run: r.doc, programs: programsOf(j, offline), folder: cmp.Or(r.Flags.Record, r.Flags.ReplayOr)}
	if !offline {
		c.endpoints = endpointsOf(j)
	}
	if r.Flags.Emulator == "" && r.Flags.Replay == "" && r.Flags.Answers == "" {
		calls := j.Called()
		c.address, c.services = s.elsewhere(r.own), servicesOf(s, r.own.named, calls)
		c.programs = append(c.programs, loginsOf(s, calls)...)
	}
	return c.check("resuming")
}

// Trusts reports whether a run is the user's own, or one that the user trusts.
func (j *Job) Trusts(d *journal.Document) bool { return j.Flags.Trust || j.Settings.trust.Signed(d) }

// VetAnswers wants a run whose answers are judged again to be trusted, or the job to do nothing that needs trust. Suites that the user
// named are the user's own. sends says that something is sent to services.
func (j *Job) VetAnswers(of *journal.Document, sends bool) error {
	if j.Trusts(of) || j.Flags.Untrusted {
		return nil
	}
	c := claims{run: of}
	if !j.rescored.ownSuites {
		c.programs = programsOf(j, true)
	}
	if j.Flags.Emulator == "" && sends {
		own := j.rescored.ownService.settle(j.Getenv)
		c.address = j.Settings.elsewhere(own)
		if !j.rescored.ownSuites {
			calls := j.Called()
			c.services = servicesOf(&j.Settings, own.named, calls)
			c.programs = append(c.programs, loginsOf(&j.Settings, calls)...)
		}
	}
	return c.check("rescoring")
}

// Sign signs the header of a run that is about to be made in dir.
func (s *Settings) Sign(run *eval.Run, dir string) error { return s.trust.SignRun(run, dir) }
