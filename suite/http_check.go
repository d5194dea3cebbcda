package suite

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/expr"
)

func (l *loader) checkRequest(c *Case, arm Arm, prompt eval.Request) {
	h, ok := arm.Target.Of.(*HTTPTarget)
	if !ok {
		return
	}
	in := h.rendered(&eval.Input{Vars: c.vars, System: prompt.System, Messages: wire.Messages(prompt.Contents)})
	in.budget = c.budget
	in.report = func(s source, e *expr.TemplateError) {
		if slices.Contains(requestFunctions(), e.Missing) {
			hint := fmt.Sprintf("write {{%s}}, without a dot", e.Missing)
			l.diags.Errorf(s.pos(e.Offset), hint, "case `%s` has no variable `%s`", c.Name, e.Missing)
			return
		}
		s.report(c, e, l.diags)
	}
	h.render(in)
}

// checkSaid warns about turns of a prompt that the request to an endpoint leaves out.
func (l *loader) checkSaid(a Arm) {
	e, ok := a.Target.Of.(*HTTPTarget)
	if !ok || l.diags.HasErrors() { // an invalid template may cause this warning
		return
	}
	if what, hint := e.unsaid(a.Prompt); what != "" {
		l.diags.Warnf(e.url.sent.node.Pos(), hint, "the target `%s` is not sent %s", a.Target.Name, what)
	}
	if a.Prompt.system != nil && !e.calls("system") {
		l.diags.Warnf(
			e.url.sent.node.Pos(), "write \"{{system}}\" where the application takes it",
			"the target `%s` is not sent the system text of the prompt `%s`",
			a.Target.Name, a.Prompt.Name,
		)
	}
}

// unsaid names the turns of a prompt that the request to an endpoint leaves out; "" when it needs no more.
func (h *HTTPTarget) unsaid(p *Prompt) (what, hint string) {
	all := h.wantsMessages
	switch {
	case !all && !h.calls("prompt") && !h.usesVariables():
		return "anything of the prompt `" + p.Name + "`", "write \"{{prompt}}\" or \"{{messages}}\" into `body`"
	case all || !p.isChat():
	case !p.Live:
		return "the turns of the prompt `" + p.Name + "` before the last one", "\"{{messages}}\" is the whole conversation"
	case !h.calls("trial"):
		return "what was said before the last turn of the chat `" + p.Name + "`",
			"send \"{{messages}}\", or \"{{trial}}\" as the name of a session that the application keeps"
	}
	return "", ""
}

func (h *HTTPTarget) usesVariables() bool {
	for s := range h.sources {
		if s.t != nil && (len(s.t.Fields()) > 0 || s.t.UsesAll()) {
			return true
		}
	}
	return false
}
