package scorers

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

// The combinators follow Kleene's three-valued logic: an unscored part leaves the whole unscored only when its
// score could have changed the result.

func combinators() []Kind {
	return []Kind{
		{
			Name:    "not",
			Summary: "the scorer inside does not pass",
			Version: 2,
			Doc: "Takes one scorer. Passes when the scorer inside read the answer, compared it and did not pass. The value is 1 minus " +
				"the value inside.",
			Example: "- not: {contains: \"as an AI\"}",
			takes:   yaml.Either(aNested(), yaml.Filled(aNested())),
			compile: compileNot,
			nests:   true,
		},
		{
			Name:    "all",
			Summary: "every scorer inside passes",
			Doc:     "Takes a list of scorers. The value is the least of theirs.",
			Example: "- all:\n    - contains: Paris\n    - length: {words: {max: 5}}",
			takes:   yaml.Filled(aNested()),
			compile: compileAll,
			nests:   true,
		},
		{
			Name:    "any",
			Summary: "at least one scorer inside passes",
			Doc:     "Takes a list of scorers. The value is the largest of theirs.",
			Example: "- any:\n    - contains: Andorra la Vella\n    - regex: '(?i)\\bla vella\\b'",
			takes:   yaml.Filled(aNested()),
			compile: compileAny,
			nests:   true,
		},
	}
}

func aNested() yaml.Shape { return yaml.Ref("nestedScorer") }

func (a args) nested(n yaml.Node) AnswerScorer {
	spec := suite.Nested(n, a.table)
	if spec == nil {
		return nil
	}
	spec.Suite = a.Suite
	s, inner := a.table.build(spec, &a)
	a.needs.add(inner, a.Kind != "any") // with any, another scorer may still have a score
	if s == nil {
		return nil
	}
	look := func(a *Answer) Finding {
		if !spec.Candidate.All() && spec.Candidate.Index() == 0 {
			return s.Score(a)
		}
		return overCandidates(spec.Candidate, s, a)
	}
	return Func(func(a *Answer) Finding { return overTurns(spec.Turn, a, look) })
}

func (a args) nestedList() []AnswerScorer {
	if !a.Args.IsSequence() {
		a.Args.Errorf("begin each with `- `", "`%s` takes a list of scorers, found %s", a.Kind, a.Args.Describe())
		return nil
	}
	var out []AnswerScorer
	for _, n := range a.Args.Seq() {
		if s := a.nested(n); s != nil {
			out = append(out, s)
		}
	}
	if len(a.Args.Seq()) == 0 {
		a.Args.Errorf("such as `- contains: Paris`", "`%s` needs at least one scorer", a.Kind)
	}
	return out
}

func compileNot(a args) AnswerScorer {
	if items := a.Args.Items(); len(items) != 1 {
		a.Args.Errorf("`not: {any: [...]}` denies several", "`not` takes one scorer, found %d", len(items))
		return nil
	}
	inner := a.nested(a.Args.Items()[0])
	return Func(func(a *Answer) Finding {
		f := inner.Score(a)
		if !f.scored() || f.state == uncheckable {
			return f
		}
		return Graded(1-f.value, f.state == failed, "not wanted: %s", f.Reason)
	})
}

func compileAll(a args) AnswerScorer {
	inner := a.nestedList()
	return Func(func(a *Answer) Finding {
		var reasons []string
		out := Finding{state: passed}
		least := 1.0 // of the scored parts
		unchecked := false
		for _, s := range inner {
			f := s.Score(a)
			if f.state != noScore {
				least = min(least, f.value)
			}
			unchecked = unchecked || f.state == uncheckable
			if rank(f) < rank(out) {
				reasons = nil
			}
			if rank(f) <= rank(out) {
				reasons = append(reasons, f.Reason)
				out = f
			}
		}
		if out.value = least; unchecked && out.fails() {
			out.state = uncheckable
		}
		out.Reason = strings.Join(slices.Compact(reasons), "; ")
		return out
	})
}

func compileAny(a args) AnswerScorer {
	inner := a.nestedList()
	return Func(func(a *Answer) Finding {
		var reasons []string
		var doubt, good *Finding
		out := Finding{} // its value is the highest of the scored parts
		for _, s := range inner {
			f := s.Score(a)
			switch {
			case f.state == brokeUp:
				return f
			case f.state == noScore:
				doubt = &f
				continue
			case f.fails():
				reasons = append(reasons, f.Reason)
				out.state = max(out.state, f.state) // one part that cannot be checked is enough
			case good == nil:
				good = &f
			}
			out.value = max(out.value, f.value)
		}
		switch {
		case good != nil:
			good.value = out.value
			return *good
		case doubt != nil:
			return *doubt
		}
		out.Reason = "none passed: " + strings.Join(slices.Compact(reasons), "; ")
		return out
	})
}
