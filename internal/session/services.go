package session

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

type namedService struct {
	*suite.NamedService
	// URL is "" when an environment variable in the address is not set.
	URL string
	key string
}

// Key is the API key, "" without one. It is a secret.
func (n *namedService) Key() string { return n.key }

// services settles the named services. Suites must define a service alike; --service replaces its address.
func (m *merger) services(f *Options) (map[string]*namedService, error) {
	out, err := m.defined(f.Services)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Services)) {
		if err := redirect(out, name, strings.TrimRight(f.Services[name], "/"), f.Emulator != ""); err != nil {
			return nil, err
		}
	}
	for _, named := range out {
		if named.KeyEnv == "" {
			continue
		}
		named.key = strings.TrimSpace(f.Env(named.KeyEnv))
		if strings.ContainsFunc(named.key, inNoKey) {
			return nil, eval.BadInput("%s, the key of the service `%s`, %s", named.KeyEnv, named.Name, unusualKey)
		}
	}
	return out, nil
}

// unusualKey says what is wrong with a key that has a character for which inNoKey is true.
const unusualKey = "holds a space, a line break or another character that is in no key: copy the key again, alone and in one line"

func inNoKey(r rune) bool { return r <= ' ' || r > '~' }

// defined collects the services that the suites define, by name. Suites may differ in the address of a service only if
// --service replaces it; moved holds those by name.
func (m *merger) defined(moved map[string]string) (map[string]*namedService, error) {
	out := map[string]*namedService{}
	from := map[string]string{} // the first file that defines a service, by name
	for _, s := range m.suites {
		for _, named := range s.AllServices() {
			known := out[named.Name]
			if known == nil {
				out[named.Name] = &namedService{NamedService: named, URL: named.BaseURL}
				from[named.Name] = s.File
				continue
			}
			if key := named.DiffersFrom(known.NamedService); key != "" && (key != "baseUrl" || moved[named.Name] == "") {
				return nil, eval.BadInput(
					"%s and %s differ in `%s` of the service `%s`, which the suites of one run share: "+
						"make them agree, rename one, or run the suites one by one",
					from[named.Name], s.File, key, named.Name,
				)
			}
		}
	}
	return out, nil
}

// redirect gives a named service another address, as --service does.
func redirect(all map[string]*namedService, name, url string, emulated bool) error {
	named := all[name]
	switch {
	case named == nil && len(all) == 0:
		return eval.BadInput("--service %s.baseUrl: the suites name no services; --base-url sets the address of all targets", name)
	case named == nil:
		names := slices.Sorted(maps.Keys(all))
		return eval.BadInput("--service %s.baseUrl: there is no service %s; %s", name, name, diag.DidYouMean(name, names))
	case emulated:
		return eval.BadInput("--emulator and --service %s.baseUrl name two addresses: choose one", name)
	}
	if problem := named.CheckAddress(url); problem != "" {
		return eval.BadInput("--service %s.baseUrl: %s", name, problem)
	}
	named.NamedService, named.URL = named.At(url), url
	return nil
}

// serviceLimits returns the limits of each named service. Its concurrency defaults to that of the run.
func (s *runSettings) serviceLimits() map[string]suite.Limits {
	if len(s.Services) == 0 {
		return nil
	}
	out := map[string]suite.Limits{}
	for name, named := range s.Services {
		own := named.Limits
		own.Concurrency = cmp.Or(own.Concurrency, s.Limits.Concurrency)
		out[name] = own
	}
	return out
}

// Caller identifies the caller to a named service by its secret: a key, a token or a header; "" when none is needed.
func (n *namedService) Caller() string {
	switch headers := (&contact{NamedService: n.NamedService}).Secrets(); {
	case n.key != "":
		return n.key
	case n.Login != nil:
		return strings.Join(n.Login.Words, " ")
	case len(headers) > 0:
		return headers[0]
	}
	return ""
}
