package suite

import (
	"slices"

	"github.com/evalrun/evalrun/internal/yamlnode"
)

// misspelled are parts of a suite that it lacks, as far as is known, because a key is misspelled. What they would have set is not
// reported as missing: one misspelled key is one problem, and not one more for each case.
type misspelled struct{ scorers, vars, classification bool }

// note looks for keys that are misspelled at the top level of a suite, and in its defaults.
func (u *misspelled) note(root, defaults yamlnode.Map) {
	top := func(keys ...string) bool { return slices.ContainsFunc(keys, root.Misspells) }
	u.classification = u.classification || top("classification")
	u.scorers = u.scorers || top("classification", "defaults", "scorers") || defaults.Misspells("scorers")
	u.vars = u.vars || top("defaults", "vars") || defaults.Misspells("vars")
}

// lacksScorers reports whether a case of the definition may have scorers under a misspelled key.
func (u *misspelled) lacksScorers(def *caseDef) bool {
	return u.scorers && !def.alone || def.node.Misspells("scorers")
}

// lacksVars reports whether a case of the definition may have variables under a misspelled key.
func (u *misspelled) lacksVars(def *caseDef) bool { return u.vars || def.node.Misspells("vars") }
