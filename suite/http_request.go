package suite

import (
	"cmp"
	"errors"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// An http request is made of templates. Values in them are escaped as data wherever they go.

// requestFunctions lists what templates of a request can name in addition to the variables of the case.
func requestFunctions() []string { return []string{"prompt", "messages", "system", "trial", "attempt"} }

// rendered holds the values for templates of a request, and receives their problems.
type rendered struct {
	data   expr.Data
	budget *expr.Budget
	report func(s source, err *expr.TemplateError)
}

// unnamed stands for the name of a trial in a request that is only hashed or shown, so that readers see where it goes.
const unnamed = "{{trial}}"

func (h *HTTPTarget) rendered(in *eval.Input) *rendered {
	var messages eval.Array
	if h.wantsMessages {
		messages = make(eval.Array, len(in.Messages))
		for i, m := range in.Messages {
			messages[i] = eval.Object{{Name: "role", Value: m.Role}, {Name: "content", Value: m.Text}}
		}
	}
	return &rendered{data: expr.Data{Vars: in.Vars, Functions: map[string]eval.Value{
		"prompt":   in.Prompt(),
		"messages": messages,
		"system":   in.System,
		"trial":    cmp.Or(in.Trial, unnamed),
		"attempt":  in.Attempt,
	}}}
}

func (r *rendered) text(s source) (string, bool) {
	out, err := s.t.RenderData(r.data, r.budget)
	return out, r.fine(s, err)
}

func (r *rendered) fine(s source, err error) bool {
	if err == nil {
		return true
	}
	var e *expr.TemplateError
	errors.As(err, &e)
	r.report(s, e)
	return false
}

// in parses the template in a scalar, in a dialect.
func (l *loader) in(d *expr.Dialect, n yaml.Node) source {
	s := source{node: n, text: n.Str()}
	s.t = parseIn(d, s, l.diags)
	return s
}

// environment records the environment variables that a text names, and returns a function that inserts their values.
func (l *loader) environment(missing *[]unset, n yaml.Node, inURL bool) (values map[string]string) {
	values = map[string]string{}
	text := n.Str()
	for _, at := range envRef.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		switch {
		case !strings.HasPrefix(name, "EVALRUN_"):
			n.ErrorfAt(
				at[0], "rename the variable",
				"only environment variables that begin with EVALRUN_ can be used, not `%s`", name,
			)
			continue
		case name == serviceKey || ownSecret(name):
			n.ErrorfAt(at[0], "use another variable, such as EVALRUN_APP_TOKEN", "%s is a secret of evalrun itself", name)
			continue
		case l.opts.Untrusted: // an allowed host must not receive every secret of the environment
			n.ErrorfAt(at[0], "write the value, or leave it out", "an untrusted suite cannot read the environment")
			*missing = append(*missing, unset{name, n.Offset(at[0]), inURL})
			continue
		}
		value := ""
		if l.opts.Getenv != nil {
			value = strings.TrimSpace(l.opts.Getenv(name))
		}
		if value == "" {
			*missing = append(*missing, unset{name, n.Offset(at[0]), inURL})
			l.diags.Warnf(n.Offset(at[0]), "", "the environment variable %s is not set", name)
		} else if i := strings.IndexFunc(value, isControl); i >= 0 {
			n.ErrorfAt(at[0], "set it again without that", "the environment variable %s holds a line break or another control character", name)
		}
		values["${env:"+name+"}"] = value
	}
	return values
}

const serviceKey = "EVALRUN_API_KEY"

// ownSecret reports whether a variable holds a secret of evalrun that no service needs: the key that signs runs, or the
// token for the shared ledger.
func ownSecret(name string) bool {
	return name == "EVALRUN_TRUST_KEY" || name == "EVALRUN_LEDGER_TOKEN"
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func expand(text string, values map[string]string) string {
	return envRef.ReplaceAllStringFunc(text, func(ref string) string { return values[ref] })
}
