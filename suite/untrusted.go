package suite

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Permissions for an untrusted suite, as --allow names them.
const (
	permitProgram  = "program"  // start programs
	permitHTTP     = "http"     // call applications at a host
	permitServices = "services" // name services at a host
)

func permitNames() []string { return []string{permitProgram, permitHTTP, permitServices} }

// permit is one permission: a name, with a host for access to the network, and for a service the variable with its key.
type permit struct{ name, host, key string }

// keyOfHost matches the variable in HOST:KEYENV and HOST:PORT:KEYENV.
var keyOfHost = pattern(`:([A-Z_][A-Z0-9_]*)$`)

// CheckAllow returns an error for an invalid value of --allow. Examples of valid ones are `program` and `http=HOST,HOST`.
func CheckAllow(value string) error {
	_, err := permits(value)
	return err
}

// AllowsPrograms reports whether values of --allow permit programs.
func AllowsPrograms(values []string) bool {
	s := Suite{origin: origin{opts: Options{Untrusted: true, Allow: values}}}
	return s.allows(permitProgram, nil)
}

// permits parses a value of --allow: names with hosts, separated by commas. A word that is no permission is another host
// for the name before it.
func permits(value string) ([]permit, error) {
	var out []permit
	last := ""
	for word := range strings.SplitSeq(value, ",") {
		name, host, given := strings.Cut(strings.TrimSpace(word), "=")
		name, host = strings.TrimSpace(name), strings.TrimSpace(host)
		if !given && last != "" && last != permitProgram && !slices.Contains(permitNames(), name) {
			host = name
			name = last
			given = true
		}
		key := ""
		if found := keyOfHost().FindStringSubmatch(host); found != nil && name == permitServices {
			key, host = found[1], strings.TrimSuffix(host, found[0])
		}
		if err := checkPermit(name, host, given); err != nil {
			return nil, err
		}
		if strings.HasPrefix(key, "EVALRUN_") {
			return nil, fmt.Errorf("%s is never sent for an untrusted suite: put the key of %s into another variable", key, host)
		}
		out, last = append(out, permit{name, strings.ToLower(host), key}), name
	}
	return out, nil
}

// namesKey reports whether the user named a variable that holds a key: by --allow-env, or by --allow services=HOST:KEYENV.
func (o *Options) namesKey(name string) bool {
	return slices.Contains(o.AllowEnv, name) || slices.ContainsFunc(o.Allow, func(value string) bool {
		allowed, _ := permits(value) // checked by CheckAllow; an invalid value allows nothing
		return slices.ContainsFunc(allowed, func(p permit) bool { return p.key == name })
	})
}

func checkPermit(name, host string, given bool) error {
	switch {
	case !slices.Contains(permitNames(), name):
		return fmt.Errorf("there is nothing called %q to allow; %s", name, diag.DidYouMean(name, permitNames()))
	case name == permitProgram && given:
		return errors.New("`program` takes no value: it allows every program of the suite")
	case name != permitProgram && host == "":
		return fmt.Errorf("name the host, such as %s=127.0.0.1:8080 or %s=example.com", name, name)
	case strings.ContainsAny(host, "/@?#* "):
		return fmt.Errorf("%q is not a host: write it without scheme and path, such as %s=example.com", host, name)
	}
	return nil
}

// allows reports whether the suite has a permission. A host without a port is allowed on every port.
func (s *Suite) allows(name string, at *url.URL) bool { return s.allowsKey(name, at, "") }

// allowsKey is allows for a service with a key in a variable of the environment; key is "" for none.
func (s *Suite) allowsKey(name string, at *url.URL, key string) bool {
	if !s.opts.Untrusted {
		return true
	}
	fits := func(p permit) bool {
		return p.name == name && (at == nil || p.covers(at)) && (key == "" || p.key == key || p.ofVendor(key))
	}
	for _, value := range s.opts.Allow {
		allowed, err := permits(value)
		if err != nil { // checked by CheckAllow; an invalid value allows nothing
			continue
		}
		if slices.ContainsFunc(allowed, fits) {
			return true
		}
	}
	return false
}

// ofVendor reports whether the permission names a vendor with a usual key in the variable.
func (p permit) ofVendor(key string) bool {
	v := wire.VendorNamed(p.host)
	return v != nil && slices.Contains(v.KeyEnv, key)
}

func (p permit) covers(at *url.URL) bool {
	host, port := strings.ToLower(at.Hostname()), at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	if v := wire.VendorNamed(p.host); v != nil && v.Owns(at.String()) {
		return true
	}
	return p.host == host || p.host == net.JoinHostPort(host, port) || p.host == "["+host+"]"
}

// RefusesPrograms returns the reason why the suite may not start programs, and a hint; both are "" when it may.
func (s *Suite) RefusesPrograms() (why, hint string) {
	if s.allows(permitProgram, nil) {
		return "", ""
	}
	return "an untrusted suite cannot start programs", "add --allow program, or run without --untrusted if you trust the suite"
}

// refusesProgram reports whether the suite may not start programs, and adds the problem at a key.
func (l *loader) refusesProgram(key yaml.Node) bool {
	why, hint := l.RefusesPrograms()
	if why != "" {
		key.Errorf(hint, "%s", why)
	}
	return why != ""
}

// refusesAddress reports whether the suite may not send to an address, and adds the problem at a node. name is the missing
// permission.
func (l *loader) refusesAddress(n yaml.Node, name string, at *url.URL) bool {
	if l.allows(name, at) {
		return false
	}
	host := at.Host
	for _, v := range wire.Vendors() {
		if name == permitServices && v.Owns(at.String()) {
			host = v.Name
		}
	}
	n.Errorf(
		fmt.Sprintf("add --allow %s=%s, or run without --untrusted if you trust the suite", name, host),
		"an untrusted suite cannot send requests to %s", at.Host,
	)
	return true
}
