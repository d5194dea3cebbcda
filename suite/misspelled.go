package suite

import (
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// misspelled records which parts of a suite a misspelled key may hide. Their absence is not reported again, so that one
// misspelled key is one problem, and not one more for each case.
type misspelled struct {
	scorers, metrics, vars, classification, judges bool

	scorerKeys map[string]bool // all keys of scorers, known or unknown
}

// note looks for misspelled keys at the top level of a suite and in its defaults.
func (u *misspelled) note(root, defaults yaml.Map) {
	u.classification = u.classification || root.Misspells("classification")
	u.scorers = u.scorers || root.Misspells("classification", "defaults", "scorers", "cases") || defaults.Misspells("scorers")
	u.metrics = u.metrics || u.scorers
	u.vars = u.vars || root.Misspells("defaults", "vars") || defaults.Misspells("vars")
}

// lacksScorers reports whether a case of the definition may have scorers under a misspelled key.
func (u *misspelled) lacksScorers(def *caseDef) bool {
	return u.scorers && !def.alone || def.node.Misspells("scorers")
}

// noteCase looks for misspelled keys of a case, which may hide metrics.
func (u *misspelled) noteCase(m yaml.Map) {
	u.metrics = u.metrics || m.Misspells("dataset", "name", "scorers")
}

func (u *misspelled) noteScorer(key string) {
	if u.scorerKeys == nil {
		u.scorerKeys = map[string]bool{}
	}
	u.scorerKeys[key] = true
}

// scorerNames reports whether an unknown key of a scorer may be a misspelled `name`.
func (u *misspelled) scorerNames() bool {
	for key := range u.scorerKeys {
		if slices.Equal(diag.Nearest(key, yaml.SiblingKeys.Names(), 1), []string{"name"}) {
			return true
		}
	}
	return false
}

// lacksVars reports whether a case of the definition may have variables under a misspelled key.
func (u *misspelled) lacksVars(def *caseDef) bool { return u.vars || def.node.Misspells("vars") }
