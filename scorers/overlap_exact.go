package scorers

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/textmetric"
)

func exactMatchKind() Kind {
	return Kind{
		Name: "exactMatch", Summary: "the answer is a right answer but for case, punctuation and articles (SQuAD)",
		Version: 2,
		Doc: "Takes a text or a list of texts. Passes when the whole answer is one of them, normalized as for `tokenF1`. " +
			"Made for English: `Vitamin A` matches `vitamin`.",
		Example: "- exactMatch: [the Eiffel Tower, La tour Eiffel]", takes: texts(), compile: compileExactMatch,
	}
}

func compileExactMatch(a args) AnswerScorer {
	if a.Args.IsMapping() {
		a.Args.Errorf("such as `exactMatch: Paris`", "`exactMatch` takes a text or a list of texts, found a mapping")
		return nil
	}
	want := a.references(a.Args)
	normal := mapped(want, func(s string) string { return strings.Join(textmetric.SquadWords(s), " ") })
	same := func(got, want string) bool {
		return slices.Equal(textmetric.SquadWords(got), textmetric.SquadWords(want))
	}
	return onText(fold{normalize: asWritten}, func(got, _ string) Finding {
		if i := slices.Index(normal, strings.Join(textmetric.SquadWords(got), " ")); i >= 0 {
			return Pass("the answer is %s (squad): %s", quote(want[i]), quote(got))
		}
		return Fail("expected %s (squad), got %s%s", quoteAny(want), quote(got), formsApart(got, want, same))
	})
}
