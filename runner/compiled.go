package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// maxCompiled bounds the compiled scorers that a walk remembers, and the variants of one list of scorers.
const maxCompiled = 512

type compiledScorer struct {
	*scorers.Compiled
	hashed []byte
}

// compiledList is how the last list of scorers judges. All rows of a data file mostly have the same list.
type compiledList struct {
	list **suite.Scorer // its first one
	by   map[scorersKey]scorerList
}

type scorersKey struct {
	arm       suite.Arm
	given     bool // whether there is a threshold
	threshold float64
}

type scorerList struct {
	compiled []*scorers.Compiled
	hash     string
}

// scorers compiles the scorers of a case that apply to an arm, and hashes them. Kinds whose meaning has changed
// follow the hash of what the suite says, so that a comparison can tell both apart: 0123456789abcdef+choice.2.
func (w *walk) scorers(s *suite.Suite, c *suite.Case, a suite.Arm) ([]*scorers.Compiled, string) {
	if len(c.Scorers) == 0 {
		out, _ := w.compileAll(s, c, a)
		return out.compiled, out.hash
	}
	if list := &c.Scorers[0]; w.judging.list != list || len(w.judging.by) > maxCompiled {
		w.judging = compiledList{list, map[scorersKey]scorerList{}}
	}
	key := scorersKey{arm: a, given: c.Threshold != nil}
	if key.given {
		key.threshold = *c.Threshold
	}
	out, known := w.judging.by[key]
	if !known {
		var always bool
		if out, always = w.compileAll(s, c, a); always {
			w.judging.by[key] = out
		}
	}
	return out.compiled, out.hash
}

// compileAll is scorers without a memory; always says that the same list judges all cases so.
func (w *walk) compileAll(s *suite.Suite, c *suite.Case, a suite.Arm) (out scorerList, always bool) {
	var text []byte
	var versions []string
	always = true
	for _, spec := range c.ScorersFor(a) {
		one := w.compile(s, spec)
		text = append(text, one.hashed...)
		for _, named := range one.Needs().Snapshots {
			always = false
			expected, there := s.Expected(
				suite.ExpectedFile(named, &eval.Trial{Suite: s.Name, Case: c.Name, Target: a.Target.Name, Prompt: a.Prompt.Name}),
			)
			text = fmt.Appendf(text, "expected %t %q\n", there, expected)
		}
		out.compiled, versions = append(out.compiled, one.Compiled), append(versions, one.Needs().Versions...)
	}
	if c.Threshold != nil {
		text = fmt.Appendf(text, "threshold %g", *c.Threshold)
	}
	for _, m := range s.Derived() {
		text = fmt.Appendf(text, "metric %s %s", m.Name, m.Text())
	}
	slices.Sort(versions)
	sum := sha256.Sum256(text)
	out.hash = strings.Join(append([]string{hex.EncodeToString(sum[:8])}, slices.Compact(versions)...), "+")
	return out, always
}

func (w *walk) compile(s *suite.Suite, spec *suite.Scorer) *compiledScorer {
	one, ok := w.compiled[spec]
	if !ok {
		one = &compiledScorer{Compiled: w.plan.table.Compile(spec)}
		one.hashed = hashedScorer(s, spec, one.Compiled)
		if len(w.compiled) > maxCompiled { // those with templates are mostly made for one case and do not come again
			clear(w.compiled)
		}
		w.compiled[spec] = one
	}
	return one
}

// hashedScorer returns what decides how a scorer judges, for a hash: its entry in the suite, and its
// questions.
func hashedScorer(s *suite.Suite, spec *suite.Scorer, compiled *scorers.Compiled) []byte {
	var h bytes.Buffer
	h.Write(spec.JSON())
	if len(compiled.Needs().References) > 0 {
		fmt.Fprintf(&h, "embedding %s %s", s.Embedding.APIVersion, s.Embedding.Model)
		if name, protocol := s.Embedding.Service.Identity(); name != "" {
			fmt.Fprintf(&h, "service %s %s", name, protocol)
		}
	}
	for _, j := range compiled.Needs().Judges {
		request := requestTo(&j.Model, j.Model.APIVersion)
		id := identity(&request)
		h.Write(id[:])
		if own := j.Own; own != nil {
			fmt.Fprintf(&h, "template %q choices %v", own.Text(), own.Choices)
		}
	}
	for _, program := range compiled.Needs().Programs {
		fmt.Fprintf(&h, "program %s\n", program)
	}
	for _, given := range s.Given(compiled.Needs()) { // a case that an option makes easier is another one
		fmt.Fprintf(&h, "given %q\n", given)
	}
	return h.Bytes()
}
