package session

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// closings are the services and models that are called no more in this run, each with the reason.
type closings struct {
	mu      sync.Mutex
	reasons map[closing]string
	order   []string
}

// closing is a model of a service, or the whole service if model is "".
type closing struct{ service, model string }

// add closes a service or a model for a reason; only the first reason counts.
func (c *closings) add(what closing, reason string) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.reasons[what]; known {
		return false
	}
	if c.reasons == nil {
		c.reasons = map[closing]string{}
	}
	c.reasons[what] = reason
	c.order = append(c.order, reason)
	return true
}

// of returns why a model of a service is called no more, "" while it is open.
func (c *closings) of(service, model string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.reasons[closing{service: service}], c.reasons[closing{service, model}])
}

func (c *closings) none() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.order) == 0
}

func (c *closings) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.order, "; ")
}

// lost records that a service does not answer about its models. It reports whether there is something else to run.
func (s *Session) lost(name string, e *eval.Error) bool {
	if !s.hasOthers() {
		return false
	}
	reason := s.reasonOf(name, e)
	if s.closed.add(closing{service: name}, reason) {
		s.Notice("warning: " + reason + "; what needs it is skipped")
	}
	return true
}

// hasOthers reports whether the plan calls several services, so that the others continue where one refuses.
func (s *Session) hasOthers() bool { return len(s.calls) > 1 }

// hasOpenTargets reports whether some target can still be called when a model is not.
func (s *Session) hasOpenTargets(without closing) bool {
	return slices.ContainsFunc(slices.Collect(s.Targets), func(t *suite.Target) bool {
		m := t.Model()
		if m == nil {
			return true
		}
		service, _ := m.Service.Identity()
		return without != closing{service, m.ID} && s.closed.of(service, m.ID) == ""
	})
}

// reasonOf says what an error of a service means for everything that is sent there.
func (s *Session) reasonOf(name string, e *eval.Error) string {
	if e.Kind == eval.KindAuth {
		return s.linkOf(name).refusal(&s.Settings.Service, e)
	}
	if e.Kind == eval.KindQuota {
		return fmt.Sprintf("the quota of %s is used up for longer than waiting makes sense: %s", runner.Served(name), e)
	}
	who := runner.Served(name)
	if name == "" || e.Origin == eval.FromBreaker { // the breaker names it itself
		return e.Error()
	}
	return who + ": " + e.Error()
}

func (s *Session) linkOf(name string) link {
	if one, ok := s.links[name]; ok {
		return one
	}
	return s.link
}

func (s *Session) allClosed() bool {
	return len(s.calls) > 0 && !slices.ContainsFunc(s.calls,
		func(name string) bool { return s.closed.of(name, "") == "" }) &&
		!slices.ContainsFunc(slices.Collect(s.Targets), func(t *suite.Target) bool { return t.App() != nil })
}

// unreachable returns why a trial cannot succeed: a service that it needs refuses. It is "" otherwise.
func (s *Session) unreachable(t *runner.Planned) string {
	if s.closed.none() {
		return ""
	}
	for _, to := range t.Models() {
		if reason := s.closed.of(to.Service, to.Model); reason != "" {
			return reason
		}
	}
	return ""
}

// refusesKey matches what services say with a 403 of a key that is good for no model.
var refusesKey = regexp.MustCompile(`(?i)\bkey (was|has been|is) (reported|leaked|revoked|disabled|expired|suspended)`)

// missingModel matches what services say of a model that they do not have, with another status than 404.
var missingModel = regexp.MustCompile(`(?i)\bmodel_(not_found|decommissioned|not_supported)\b|\b(unknown|invalid)_model\b|` +
	`\bmodel not exist\b|\bmodel identifier is invalid\b`)

// ofRequest matches what a router says with 404 of a request that none of its services takes. It has the model.
var ofRequest = regexp.MustCompile(`(?i)\bno endpoints found that support\b`)

// lacksModel reports whether a service has no such model, or nothing at its address.
func lacksModel(e *eval.Error) bool {
	return e.Kind == eval.KindStatus && !ofRequest.MatchString(e.Message) &&
		(e.NotFound() || e.Status == gone || e.Status == badRequest && missingModel.MatchString(e.Code+" "+e.Message))
}

// endsCalls reports whether an error other than a refusal would repeat with every further call of the model.
func endsCalls(e *eval.Error) bool {
	return e.Kind == eval.KindQuota && e.Retry == eval.RetryNever || e.Kind == eval.KindTransport && e.Origin == eval.FromBreaker ||
		lacksModel(e)
}

// ofModel names the model of an error at the end of its message.
func ofModel(e *eval.Error) string { return fmt.Sprintf(" (model %s)", e.Model) }

// closes closes a service, or a model of it, after an error that would repeat with every further call. It reports whether
// the run continues with the others. to is the application that was called, nil for a service.
func (s *Session) closes(to *eval.RunTarget, e *eval.Error) bool {
	if to != nil {
		return false
	}
	what := closing{e.Service, e.Model}
	switch {
	case e.Kind == eval.KindAuth && (e.Status != forbidden || refusesKey.MatchString(e.Message)):
		what.model = "" // else the key may be good for other models
	case e.Kind != eval.KindAuth && !endsCalls(e):
		return false
	}
	if what.model == "" && !s.hasOthers() || what.model != "" && !s.hasOpenTargets(what) {
		return false
	}
	reason := s.reasonOf(e.Service, e)
	if what.model != "" {
		reason += ofModel(e)
	}
	if s.closed.add(what, reason) {
		s.Notice("warning: " + reason + "; what needs it is skipped, the rest continues")
	}
	return true
}
