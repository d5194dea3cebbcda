package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// foreignKinds maps checks of other tools to the equivalent kind of scorer and an example. Names close to evalrun's own
// need no entry.
var foreignKinds = []struct{ words, kind, hint string }{
	{"is-json", "json", "write `json: valid`, or `jsonSchema: ...` with a schema"},
	{"contains-json", "json", "write `json: valid` with `select: {json: first}` next to it"},
	{"is-valid-openai-tools-call is-valid-openai-function-call is-valid-function-call tool-call-f1", "toolCalls", "write `toolCalls: ...`"},
	{"is-xml", "xml", "write `xml: wellFormed`"},
	{"is-refusal", "refusal", "write `refusal: true`"},
	{"icontains", "contains", "write `contains: ...` with `ignoreCase: true` next to it"},
	{"icontains-any", "containsAny", "write `containsAny: [...]` with `ignoreCase: true` next to it"},
	{"icontains-all", "containsAll", "write `containsAll: [...]` with `ignoreCase: true` next to it"},
	{"exact exact-string", "equals", "write `equals: ...`"},
	{"includes include substring", "contains", "write `contains: ...`"},
	{"matches pattern match", "regex", "write `regex: ...`"},
	{"llm-rubric model-graded-qa model-graded llm-judge llm-as-a-judge rubric", "judge", "write `judge: {rubric: ...}`"},
	{"g-eval", "judge", "write `judge: {steps: ...}`"},
	{"factuality model-graded-factuality factual-correctness", "judge", "write `judge: {factuality: {reference: ...}}`"},
	{"model-graded-closedqa closedqa", "judge", "write `judge: {closedQA: {criteria: ...}}`"},
	{"answer-relevance answer-relevancy", "judge", "write `judge: {relevance: {}}`"},
	{"context-faithfulness faithfulness hallucination", "judge", "write `judge: {faithfulness: ...}`"},
	{"context-recall contextual-recall", "judge", "write `judge: {contextRecall: ...}`"},
	{"similarity cosine semantic-similarity embedding-similarity", "similar", "write `similar: ...`"},
	{"numeric numeric-equals", "number", "write `number: ...`"},
	{"word-count", "length", "write `length: {words: {max: ...}}`"},
	{"moderation guardrails", "safety", "write `safety: ...` or `blocked: false`"},
	{"javascript lambda", "expr", "write `expr: ...`, or `exec: ...` for a program"},
	{"python ruby webhook", "exec", "write `exec: ...`, a program in any language"},
	{"assert-set", "all", "write `all: [...]`"},
	{"select-best", "judge", "use `evalrun compare --choose`"},
}

// kindInType returns the hint for a scorer that names its kind under `type`; "" for others.
func kindInType(slip yaml.Entry, known []string) string {
	if slip.Name() != "type" || !slip.Value.IsScalar() {
		return ""
	}
	kind := slip.Value.Str()
	if hint := foreignKind(kind, known); hint != "" {
		return hint
	}
	if near := diag.Nearest(kind, known, 1); len(near) > 0 {
		kind = near[0]
	}
	return fmt.Sprintf("the kind is the key, as in `%s: ...`", kind)
}

// foreignKind returns the hint for a scorer of another tool; "" for other words.
func foreignKind(word string, known []string) string {
	word = strings.ToLower(strings.ReplaceAll(word, "_", "-"))
	if inner, negated := strings.CutPrefix(word, "not-"); negated {
		return "write `not: {...}` around the scorer for `" + inner + "`"
	}
	for _, f := range foreignKinds {
		if slices.Contains(strings.Fields(f.words), word) && slices.Contains(known, f.kind) {
			return f.hint
		}
	}
	return ""
}
