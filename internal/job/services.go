package job

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/dialect"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/suite"
)

// Named is a named service of a run, settled.
type Named struct {
	*suite.NamedService
	// URL is its address; "" where a variable of the environment in it is not set.
	URL string
	key string
}

// Key is the API key, "" without one. It is a secret.
func (n *Named) Key() string { return n.key }

// services settles the named services. The suites must agree on what they are; a flag wins over their addresses.
func (m *merger) services(f *Flags, getenv func(string) string) (map[string]*Named, error) {
	out, err := m.defined(f.Services)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Services)) {
		if err := redirect(out, name, strings.TrimRight(f.Services[name], "/"), f.Emulator != ""); err != nil {
			return nil, err
		}
	}
	for _, one := range out {
		if one.KeyEnv == "" {
			continue
		}
		if one.key = strings.TrimSpace(getenv(one.KeyEnv)); strings.ContainsFunc(one.key, unicode.IsControl) {
			return nil, exit.BadInput(
				"%s, the key of the service `%s`, holds a line break or another control character", one.KeyEnv, one.Name,
			)
		}
	}
	return out, nil
}

// defined are the services as the suites define them. The addresses of services that a flag moves may differ.
func (m *merger) defined(moved map[string]string) (map[string]*Named, error) {
	out, from := map[string]*Named{}, map[string]string{} // which file defines it first
	for _, s := range m.suites {
		for _, one := range s.AllServices() {
			known := out[one.Name]
			if known == nil {
				out[one.Name], from[one.Name] = &Named{one, one.BaseURL, ""}, s.File
				continue
			}
			if key := one.DiffersFrom(known.NamedService); key != "" && (key != "baseUrl" || moved[one.Name] == "") {
				return nil, exit.BadInput(
					"%s and %s differ in `%s` of the service `%s`, which the suites of one run share: "+
						"make them agree, rename one, "+
						"or run the suites one by one", from[one.Name], s.File, key, one.Name,
				)
			}
		}
	}
	return out, nil
}

// redirect gives a named service another address, as --service does.
func redirect(all map[string]*Named, name, url string, emulated bool) error {
	one := all[name]
	switch {
	case one == nil && len(all) == 0:
		return exit.BadInput("--service %s.baseUrl: the suites name no services", name)
	case one == nil:
		names := slices.Sorted(maps.Keys(all))
		return exit.BadInput("--service %s.baseUrl: there is no service %s; %s", name, name, diag.DidYouMean(name, names))
	case emulated:
		return exit.BadInput("--emulator and --service %s.baseUrl name two addresses: choose one", name)
	}
	if problem := one.CheckAddress(url); problem != "" {
		return exit.BadInput("--service %s.baseUrl: %s", name, problem)
	}
	one.URL = url
	return nil
}

// serviceLimits are the limits of the named services, with what those of the run leave to them.
func (s *Settings) serviceLimits() map[string]suite.Limits {
	if len(s.Services) == 0 {
		return nil
	}
	out := map[string]suite.Limits{}
	for name, one := range s.Services {
		own := one.Limits
		own.Concurrency = cmp.Or(own.Concurrency, s.Limits.Concurrency)
		out[name] = own
	}
	return out
}

// Caller is how a named service knows who calls: a key, the program that prints tokens, or a secret header.
func (n *Named) Caller() string {
	switch headers := (&dialect.Contact{NamedService: n.NamedService}).Secrets(); {
	case n.key != "":
		return n.key
	case n.Login != nil:
		return strings.Join(n.Login.Words, " ")
	case len(headers) > 0:
		return headers[0]
	}
	return ""
}
