package scorers

import (
	"errors"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// jqSelector compiles an expression. Several results become the lines of a text, as in `jq -r`; null is not
// a result. An untrusted expression may only pick values, because growth within a step cannot be bounded.
func jqSelector(n yaml.Node, untrusted bool) *selector {
	source := textOf(n)
	if source == "" || len(source) > expr.MaxSource {
		n.Errorf("such as .name, or .items[0].id", "`jq` needs an expression of at most %d bytes", expr.MaxSource)
		return nil
	}
	expression, problem := expr.CompileJQ(source)
	if problem != nil {
		problem.Report(n, visibleText)
		return nil
	}
	if untrusted && !expression.OnlyPicks() {
		n.Errorf("such as .items[0].id, .items[].name, or .a, .b", "in a suite that is not trusted, `jq` only takes paths")
		return nil
	}
	name := "jq " + written(source)
	return &selector{name, func(text string) (string, *Finding) {
		if len(text) > maxSelect {
			return unscoredText("%s: the text has %d bytes, at most %d are read", name, len(text), maxSelect)
		}
		value, problem := parseJSON(text)
		switch {
		case problem == tooDeepJSON:
			return unscoredText("%s: %s", name, problem)
		case problem != "":
			return missing("%s has nothing to select from: %s", name, problem)
		}
		if why := expr.Unreadable(value); why != "" {
			return unscoredText("%s: the answer holds %s", name, why)
		}
		return runJQ(name, expression, value, text)
	}}
}

func runJQ(name string, expression *expr.Code, value any, text string) (string, *Finding) {
	var lines []string
	room := maxSelect
	for v, err := range expression.Run(value) {
		if err != nil {
			return failedJQ(name, err, text)
		}
		if v == nil {
			continue
		}
		line, err := expr.Line(v, &room)
		if err != nil {
			return unscoredText("%s: %s", name, visibleText(err.Error()))
		}
		if room < 0 {
			return unscoredText("%s selects more than %d bytes", name, maxSelect)
		}
		lines = append(lines, line)
	}
	if out := strings.Join(lines, "\n"); !eval.IsBlank(out) {
		return out, nil
	}
	return missing("%s finds nothing in %s", name, quote(text))
}

// failedJQ is the finding for an expression that a bound or an error stopped.
func failedJQ(name string, err error, text string) (string, *Finding) {
	var bound expr.BoundError
	if errors.As(err, &bound) {
		return unscoredText("%s %s", name, bound)
	}
	return missing("%s cannot select from %s: %s", name, quote(text), visibleText(err.Error()))
}
