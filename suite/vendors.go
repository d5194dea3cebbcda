package suite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

// place finds the service and the id of a model, which a target, a judge or `embedding` names: by `service`, by `vendor`, or
// by a vendor's name before the id. Without one of them the service is nil, the unnamed one.
func (l *loader) place(m yaml.Map, id yaml.Node) (of *NamedService, model string) {
	model = id.Str()
	vendor := m.Get("vendor")
	switch prefix, rest, _ := strings.Cut(model, ":"); {
	case m.Has("vendor") && m.Has("service"):
		m.Key("vendor").Errorf("keep one of them", "a model has a `service` or a `vendor`, not both")
	case m.Has("vendor"):
		if name := vendor.Word(wire.VendorNames()...); name != "" {
			of = l.vendorService(vendor, name)
		}
	case m.Has("service"):
		of = l.serviceOf(m.Get("service"))
	case l.opts.BaseURL == "" && l.Service.BaseURL == "" && wire.VendorNamed(prefix) != nil && strings.Contains(model, ":"):
		of, model = l.vendorService(id, prefix), rest
		if rest == "" {
			id.Errorf("such as "+prefix+":"+wire.VendorNamed(prefix).Model, "the id of the model is missing after `%s:`", prefix)
		}
	}
	return of, model
}

// vendorService is the service that is called like a vendor, in the suite or in the project file, else that of the vendor as
// evalrun knows it.
func (l *loader) vendorService(n yaml.Node, name string) *NamedService {
	for _, one := range slices.Concat(l.Services, l.opts.Services) {
		if one.Name != name {
			continue
		}
		if l.findService(name) == nil {
			l.Services = append(l.Services, one)
		}
		return one
	}
	v := wire.VendorNamed(name)
	s := &NamedService{Name: name, Protocol: v.Protocol, Vendor: name, BaseURL: v.BaseURL, Resend: v.Resend, pos: n.Pos()}
	if v.BaseURL == "" {
		n.Errorf("add `services: {"+name+": {baseUrl: "+v.Address+"}}`", "%s has another address for each customer", name)
	} else if l.fillFromVendor(s, v); !l.refusesService(n, v.BaseURL) {
		l.checkServiceKey(s, n)
	}
	l.Services = append(l.Services, s)
	return s
}

// vendorOf is the vendor of a service: named by `vendor`, or by the service's name where it has no address or no protocol.
// It is nil for other services.
func vendorOf(name string, m yaml.Map) *wire.Vendor {
	v := wire.VendorNamed(name)
	switch {
	case m.Has("vendor"):
		return wire.VendorNamed(m.Get("vendor").Word(wire.VendorNames()...))
	case v == nil || !m.Has("baseUrl"):
		return v
	case m.Has("protocol") || v.Protocol == eval.Generative: // as suites said it before vendors had names
		return nil
	}
	return v
}

func (l *loader) fillFromVendor(s *NamedService, v *wire.Vendor) {
	if s.Protocol == v.Protocol {
		s.Path, s.HeaderPrefix = cmp.Or(s.Path, v.Path), cmp.Or(s.HeaderPrefix, v.HeaderPrefix)
		s.MaxTokensField = cmp.Or(s.MaxTokensField, v.MaxTokensField)
	}
	if s.KeyEnv != "" || s.Login != nil || !v.Owns(s.BaseURL) {
		return
	}
	if s.UsualKey = len(v.KeyEnv) > 0; s.UsualKey {
		s.KeyEnv = l.usualKey(v)
	}
}

// usualKey is the first usual variable of a vendor's key that is set and may hold a key; without one, the first that may.
func (l *loader) usualKey(v *wire.Vendor) string {
	usable := slices.DeleteFunc(slices.Clone(v.KeyEnv), func(name string) bool {
		return !keyVariableName(name) && !l.opts.namesKey(name)
	})
	for _, name := range usable {
		if l.opts.Getenv != nil && l.opts.Getenv(name) != "" {
			return name
		}
	}
	return slices.Concat(usable, v.KeyEnv)[0]
}

// At is the service at another address. A vendor's usual key stays with the vendor's own hosts.
func (s *NamedService) At(url string) *NamedService {
	moved := *s
	if s.UsualKey && !wire.VendorNamed(s.Vendor).Owns(url) {
		moved.KeyEnv, moved.UsualKey = "", false
	}
	return &moved
}

// MissingKey says which variables could hold the key of a service, and where to get one.
func (s *NamedService) MissingKey() string {
	if !s.UsualKey {
		return "the environment variable " + s.KeyEnv + " is not set, and it holds the key of the service `" + s.Name + "`"
	}
	v := wire.VendorNamed(s.Vendor)
	names := slices.Clone(v.KeyEnv)
	for i, name := range names {
		if !keyVariableName(name) {
			names[i] += " (with --allow-env " + name + ")"
		}
	}
	return "the vendor " + s.Vendor + " needs a key: set " + strings.Join(names, " or ") + "; see " + v.Page
}
