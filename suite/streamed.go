package suite

import (
	"slices"
	"strings"
)

// checkStream records scorers that need streams on an arm that does not stream.
func (l *loader) checkStream(c *Case, arm Arm) {
	for _, sc := range c.ScorersFor(arm) {
		if sc.Needs.Stream == "" || arm.Target.Stream {
			continue
		}
		at := sc.At()
		one := l.unstreamed[at]
		if one == nil {
			one = &unstreamed{kind: sc.Needs.Stream, key: arm.Target.streamKey()}
			l.unstreamed[at] = one
		}
		if !slices.Contains(one.targets, arm.Target.Name) {
			one.targets = append(one.targets, arm.Target.Name)
		}
	}
}

// unstreamed is a scorer that needs streams, with the targets that do not stream.
type unstreamed struct {
	kind    string
	key     string // setting that makes the first target stream; "" when it cannot
	targets []string
}

func (t *Target) streamKey() string {
	switch t.Of.(type) {
	case *ConfiguredModel:
		return "`stream: true` to the target"
	case *HTTPTarget:
		return "`stream: sse` to the `http` block"
	case *Program, *EchoTarget:
	}
	return ""
}

// reportUnstreamed reports these scorers unless there are other errors: a misspelled `stream` would cause many reports.
func (l *loader) reportUnstreamed() {
	if l.diags.HasErrors() {
		return
	}
	for at, one := range l.unstreamed {
		verb := "does"
		if len(one.targets) > 1 {
			verb = "do"
		}
		hint := "narrow `arms` of the scorer"
		if one.key != "" {
			hint = "add " + one.key + ", or " + hint
		}
		l.diags.Errorf(
			at, hint,
			"`%s` needs streamed answers, and the target `%s` %s not stream", one.kind,
			strings.Join(one.targets, "`, `"), verb,
		)
	}
}
