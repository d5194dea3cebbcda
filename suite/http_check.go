package suite

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/payload"
	"github.com/evalrun/evalrun/internal/tmpl"
)

// checkRequest renders what an endpoint is sent for the case.
func (l *loader) checkRequest(c *Case, arm Arm, prompt eval.Request) {
	if arm.Target.App == nil || arm.Target.App.HTTP == nil {
		return
	}
	in := newRendered(&app.Input{Vars: c.vars, System: prompt.System, Messages: payload.Messages(prompt.Contents)})
	in.budget, in.told = c.budget, func(s source, e *tmpl.Error) {
		if slices.Contains(requestFunctions(), e.Missing) {
			hint := fmt.Sprintf("write {{%s}}, without a dot", e.Missing)
			l.diags.Errorf(s.pos(e.Offset), hint, "case `%s` has no variable `%s`", c.Name, e.Missing)
			return
		}
		s.report(c, e, l.diags)
	}
	arm.Target.App.endpoint.render(in)
}

// checkSaid warns of what a prompt says and an endpoint is not sent.
func (l *loader) checkSaid(a Arm) {
	if a.Target.App.HTTP == nil || l.diags.HasErrors() { // a slip in a template would make more of it
		return
	}
	e, p := a.Target.App.endpoint, a.Prompt
	warn := func(hint, what string) {
		l.diags.Warnf(e.url.sent.node.Pos(), hint, "the target `%s` is not sent %s", a.Target.Name, what)
	}
	all, last := e.calls("messages"), e.calls("prompt")
	switch {
	case !all && !last && !e.usesVariables():
		warn("write \"{{prompt}}\" or \"{{messages}}\" into `body`", "anything of the prompt `"+p.Name+"`")
	case p.isChat() && !all && !p.Live:
		warn("\"{{messages}}\" is the whole conversation", "the turns of the prompt `"+p.Name+"` before the last one")
	case p.isChat() && !all && !e.calls("trial"):
		warn("send \"{{messages}}\", or \"{{trial}}\" as the name of a session that the application keeps",
			"what was said before the last turn of the chat `"+p.Name+"`")
	}
	if p.system != nil && !e.calls("system") {
		warn("write \"{{system}}\" where the application takes it", "the system text of the prompt `"+p.Name+"`")
	}
}

// usesVariables reports whether variables of the case are sent.
func (h *endpoint) usesVariables() bool {
	for s := range h.sources {
		if s.t != nil && (len(s.t.Fields()) > 0 || s.t.UsesAll()) {
			return true
		}
	}
	return false
}
