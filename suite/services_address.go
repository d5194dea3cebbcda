package suite

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

// CheckAddress returns the problem with a base URL for the service; "" for none.
func (s *NamedService) CheckAddress(url string) string {
	switch problem := wire.CheckAddress(url); {
	case problem != "":
		return problem
	case s.SendsSecrets() && wire.PlainHTTP(url):
		return "the key would travel in the clear to " + url
	case s.HasVersions() && wire.CheckBaseURL(url) != "":
		return wire.CheckBaseURL(url) + "; or name another `protocol`"
	case s.Protocol == eval.Anthropic && s.Path == "" && strings.HasSuffix(strings.TrimRight(url, "/"), "/v1"):
		return "the base URL ends in /v1: leave the version out, evalrun adds it"
	case s.Path == "" && s.requestPath() != "" && strings.HasSuffix(strings.TrimRight(url, "/"), s.requestPath()):
		return "the base URL ends in " + s.requestPath() + ": leave that out, evalrun adds it"
	}
	return ""
}

// requestPath is the end of the address to which the protocol sends requests; "" when the address contains the model.
func (s *NamedService) requestPath() string {
	return map[eval.ProtocolName]string{
		eval.OpenAI: "/chat/completions", eval.Responses: "/responses", eval.Anthropic: "/messages",
	}[s.Protocol]
}

func (l *loader) checkServiceAddress(s *NamedService, n yaml.Node) {
	if s.BaseURL == "" {
		return
	}
	problem := s.CheckAddress(s.BaseURL)
	switch {
	case problem != "" && strings.ContainsAny(s.BaseURL, "@?#"): // a password or a key
		l.private(n, "name the variable that holds the key by `keyEnv`", problem)
	case problem != "" && wire.PlainHTTP(s.BaseURL):
		n.Errorf("use https", "%s", problem)
	case problem != "":
		n.Errorf("", "%s", problem)
	case l.refusesService(n, s.BaseURL):
	case wire.PlainHTTP(s.BaseURL):
		n.Warnf("use https", "the prompts travel in the clear to %s", s.BaseURL)
	}
}

// refusesService reports whether an untrusted suite may not name a service at an address, and adds the problem at a node.
func (l *loader) refusesService(n yaml.Node, address string) bool {
	at, err := url.Parse(address)
	return err == nil && l.refusesAddress(n, permitServices, at)
}

// checkServiceKey reports a key that an untrusted suite may not send to the address of its service. Keys in EVALRUN_* are
// those of services that the user names.
func (l *loader) checkServiceKey(s *NamedService, n yaml.Node) {
	at, err := url.Parse(s.BaseURL)
	switch {
	case s.KeyEnv == "" || err != nil || l.allowsKey(permitServices, at, s.KeyEnv):
	case strings.HasPrefix(s.KeyEnv, "EVALRUN_"):
		n.Errorf("name another variable, such as OTHER_API_KEY", "an untrusted suite cannot use the key in %s", s.KeyEnv)
	default:
		n.Errorf(
			fmt.Sprintf("add --allow %s=%s:%s, or run without --untrusted if you trust the suite", permitServices, at.Host, s.KeyEnv),
			"an untrusted suite cannot send the key in %s to %s", s.KeyEnv, at.Host,
		)
	}
}

// checkPath checks the path of a call below a base URL. The generative protocol has a path for each of its methods.
func (s *NamedService) checkPath(n yaml.Node) {
	hint := "such as chat/completions, with {model} in it where the service wants that"
	methods := s.Protocol == eval.Generative
	names := []string{"{model}", ""}
	if methods {
		hint, names = "such as models/{model}:{method}", append(names, "{method}", "")
	}
	rest := strings.NewReplacer(names...).Replace(s.Path)
	switch {
	case methods && !strings.Contains(s.Path, "{method}"):
		n.Errorf(hint, "`path` needs {method}, which is generateContent and the like")
	case strings.ContainsAny(rest, "{}"):
		n.Errorf(hint, "`path` has something in braces that has no meaning there")
	case strings.ContainsAny(rest, "# \\") || methods && strings.Contains(rest, "?"):
		n.Errorf(hint, "`path` has a character that does not belong in a path")
	case slices.Contains(strings.FieldsFunc(rest, func(r rune) bool { return r == '/' || r == '?' }), ".."):
		n.Errorf(hint, "`path` leads out of the base URL")
	case strings.HasPrefix(s.Path, "/"):
		n.Errorf(hint, "`path` begins below the base URL, without a slash")
	}
}
