package scorers

import "github.com/evalrun/evalrun/internal/yaml"

func unscoredKind() Kind {
	return Kind{
		Name: "unscored", Summary: "never a score, with the reason",
		Doc: "Takes the reason. It has no score whatever the answer is, so that the trial is an error. An import writes it for a " +
			"check that has no counterpart; replace it by a check, or remove it.",
		Example: `- unscored: nobody has written this check yet`,
		takes:   yaml.Text, compile: compileUnscored,
	}
}

func compileUnscored(a args) AnswerScorer {
	why := a.Args.Str()
	if why == "" {
		a.Args.Errorf("such as `unscored: nobody has written this check yet`", "`unscored` needs a reason")
	}
	a.needs.Unscored = true
	return Func(func(*Answer) Finding { return Unscored("%s", why) })
}
