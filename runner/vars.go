package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// How much of the variables of a case a result keeps: enough to tell cases apart. The prompt has them in full.
const (
	mostVars     = 20
	mostVarBytes = 200
)

// shownVars are the beginnings of the first variables of the trial's case, by name; nil when it has none.
func (t *Planned) shownVars() map[string]string {
	if len(t.vars) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(t.vars))
	names = names[:min(len(names), mostVars)]
	out := make(map[string]string, len(names))
	for _, name := range names {
		text := fmt.Sprint(t.vars[name])
		if len(text) > mostVarBytes {
			text = strings.ToValidUTF8(text[:mostVarBytes], "") + "..."
		}
		out[name] = text
	}
	return out
}
