package scorers

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Formats that the library checks too loosely: it accepts spaces and empty local parts. These follow RFC 3986 and
// 3987 (URIs and IRIs), 6570 (templates), 5321 (mailboxes) and 1123 with 5891 (host names).

// Parts of URIs. IRIs allow further characters wherever URIs allow letters.
const (
	escaped     = `%[0-9A-Fa-f]{2}`
	asciiSigns  = `A-Za-z0-9._~!$&'()*+,;=\-`
	otherScript = `|[^\x00-\x{9F}\pZ\pC]`
)

// uriPattern matches a URI; a reference may omit the scheme. The groups are addresses in brackets.
func uriPattern(other string, reference bool) func() *regexp.Regexp {
	char := func(more string) string { return `(?:[` + asciiSigns + more + `]|` + escaped + other + `)` }
	segments := `(?:/` + char(`:@`) + `*)*`
	authority := `//(?:` + char(`:`) + `*@)?(?:\[([^\]\[]+)\]|` + char(``) + `*)(?::[0-9]*)?` + segments
	absolute := `/(?:` + char(`:@`) + `+` + segments + `)?`
	tail := `(?:\?` + char(`:@/?`) + `*)?(?:#` + char(`:@/?`) + `*)?`
	uri := `[A-Za-z][A-Za-z0-9+.-]*:(?:` + authority + `|` + absolute + `|` + char(`:@`) + `+` + segments + `|)` + tail
	if reference {
		uri += `|(?:` + authority + `|` + absolute + `|` + char(`@`) + `+` + segments + `|)` + tail
	}
	return compiled(`^(?:` + uri + `)$`)
}

var (
	laterAddress = compiled(`^[vV][0-9A-Fa-f]+\.[` + asciiSigns + `:]+$`)
	uriTemplate  = compiled(`^(?:[!#$&()*+,./:;=?@\[\]_~A-Za-z0-9-]|'|` + escaped + otherScript +
		`|\{[+#./;?&]?` + templateVariable + `(?:,` + templateVariable + `)*\})*$`)
	hostLabel  = compiled(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	localParts = compiled("^(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*|" +
		`"(?:[ !#-\[\]-~]|\\[ -~])*")$`)
)

const templateVariable = `(?:[A-Za-z0-9_]|` + escaped + `)(?:\.?(?:[A-Za-z0-9_]|` + escaped + `))*(?::[1-9][0-9]{0,3}|\*)?`

// strictFormats replace the library's formats.
func strictFormats() []*jsonschema.Format {
	matching := func(pattern func() *regexp.Regexp, what string) func(string) error {
		return func(s string) error {
			m := pattern().FindStringSubmatch(s)
			if m == nil || !bracketed(m[1:]) {
				return errors.New(what)
			}
			return nil
		}
	}
	var out []*jsonschema.Format
	for name, check := range map[string]func(string) error{
		"uri":           matching(uriPattern("", false), "it is not a URI with a scheme (RFC 3986)"),
		"uri-reference": matching(uriPattern("", true), "it is not a URI reference (RFC 3986)"),
		"iri":           matching(uriPattern(otherScript, false), "it is not an IRI with a scheme (RFC 3987)"),
		"iri-reference": matching(uriPattern(otherScript, true), "it is not an IRI reference (RFC 3987)"),
		"uri-template":  matching(uriTemplate, "it is not a URI template (RFC 6570)"),
		"hostname":      validHost,
		"email":         validMailbox,
	} {
		out = append(out, &jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok {
				return check(s)
			}
			return nil
		}})
	}
	return out
}

// bracketed reports whether all addresses in brackets of a URI are IPv6 or later.
func bracketed(addresses []string) bool {
	for _, a := range addresses {
		if a != "" && !isIPv6(a) && !laterAddress().MatchString(a) {
			return false
		}
	}
	return true
}

func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is6() && addr.Zone() == ""
}

// validHost checks a host name: labels of letters, digits and hyphens. Hyphens in the third and fourth position
// mark encoded names.
func validHost(s string) error {
	if len(s) > 253 {
		return errors.New("a host name has at most 253 characters")
	}
	for label := range strings.SplitSeq(s, ".") {
		if !hostLabel().MatchString(label) {
			return errors.New("the parts of a host name are 1 to 63 letters, digits and inner hyphens")
		}
		if len(label) > 3 && label[2:4] == "--" && (!strings.EqualFold(label[:2], "xn") || len(label) == 4) {
			return errors.New("hyphens in the third and fourth place are for encoded names (xn--)")
		}
	}
	return nil
}

// validMailbox checks an address: a local part, then a host or an address in brackets.
func validMailbox(s string) error {
	at := strings.LastIndexByte(s, '@')
	switch {
	case at < 0:
		return errors.New("it has no @")
	case len(s) > 254 || at > 64:
		return errors.New("it is longer than an address may be")
	case !localParts().MatchString(s[:at]):
		return errors.New("what is before the @ is not a local part (RFC 5321)")
	}
	domain := s[at+1:]
	literal, ok := strings.CutPrefix(domain, "[")
	if !ok {
		return validHost(domain)
	}
	literal, ok = strings.CutSuffix(literal, "]")
	if tag := "IPv6:"; ok && len(literal) > len(tag) && strings.EqualFold(literal[:len(tag)], tag) {
		ok = isIPv6(literal[len(tag):])
	} else {
		addr, err := netip.ParseAddr(literal)
		ok = ok && err == nil && addr.Is4()
	}
	if !ok {
		return errors.New("what is in brackets is not an address")
	}
	return nil
}
