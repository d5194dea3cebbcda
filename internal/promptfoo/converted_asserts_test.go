package promptfoo_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// asserted imports one test with one assertion, and gives what the suite has of it.
func asserted(t testing.TB, assertion string) (w written, scorers string) {
	t.Helper()
	w = convert(t, map[string]string{
		configName: "prompts: ['{{q}}']\nproviders: [echo]\ntests:\n  - vars: {q: x, context: given}\n" +
			"    assert:\n      - " + assertion + "\n",
		"code.js": "module.exports = () => true\n",
		"e.json":  `{"a": 1}`, "e.md": "x", "e.txt": "x",
	})
	_, scorers, found := strings.Cut(w.suite, "    vars: {q: x, context: given}\n")
	if !found {
		t.Fatalf("%s: got no case, want one:\n%s", assertion, w.suite)
	}
	return w, scorers
}

func TestAnAssertionBecomesAScorerThatLoads(t *testing.T) {
	t.Parallel()
	for assertion, want := range map[string]string{
		`{type: equals, value: "שלום: x"}`:                        `{equals: "שלום: x"}`,
		`{type: equals, value: {a: [1, null]}}`:                   "{json: {equals: {a: [1, null]}}}",
		`{type: equals, value: 010}`:                              `{equals: "10"}`,
		`{type: equals, value: True}`:                             `{equals: "true"}`,
		`{type: not-equals, value: x}`:                            "{not: {equals: x}}",
		`{type: contains, value: "{{q}}!"}`:                       `{contains: "{{.q}}!"}`,
		`{type: icontains, value: X, weight: 2, metric: "a/b c"}`: "{contains: X, ignoreCase: true, name: a-b-c, weight: 2}",
		`{type: contains, value: x, weight: 0x2}`:                 "{contains: x, weight: 2}",
		`{type: contains, value: x, weight: "+.5"}`:               "{contains: x, weight: 0.5}",
		`{type: contains, value: x, weight: -0.0}`:                "contains: x\n        weight: 0\n",
		`{type: contains, value: x, weight: null}`:                "{contains: x}",
		`{type: contains-all, value: [a, "b, c"]}`:                `{containsAll: [a, "b, c"]}`,
		`{type: contains-any, value: 'a, "b, c",, d'}`:            `{containsAny: [a, "b, c", d]}`,
		`{type: icontains-all, value: [A]}`:                       "{containsAll: [A], ignoreCase: true}",
		`{type: starts-with, value: "- x"}`:                       `{startsWith: "- x"}`,
		`{type: not-starts-with, value: x}`:                       "{not: {startsWith: x}}",
		`{type: regex, value: '^\u0041+(?<n>\d)$'}`:               `{regex: "^\\x{0041}+(?P<n>\\d)$"}`,
		`{type: regex, value: '(?=a)'}`:                           `args: {check: regex, value: "(?=a)"}`,
		`{type: is-json}`:                                         "{json: valid}",
		`{type: not-is-json}`:                                     "{not: {json: valid}}",
		`{type: is-json, value: {type: object, required: [a]}}`:   "type: object\n            required: [a]",
		`{type: contains-json}`:                                   "select: {json: all}",
		`{type: is-xml}`:                                          "{xml: wellFormed}",
		`{type: is-xml, value: {requiredElements: [a.b]}}`:        "{xml: {required: [a/b]}}",
		`{type: is-xml, value: [a.b, c]}`:                         "{xml: {required: [a/b, c]}}",
		`{type: assert-set, threshold: 0.6, assert: [{type: llm-rubric, value: a}, {type: contains, value: x}]}`: "threshold: 0.6",
		`{type: contains, value: 1.50}`:                                    `{contains: "1.5"}`,
		`{type: contains-any, value: '"a ""b"" \"c\"", d'}`:                `{containsAny: ["a \"b\" \"c\"", d]}`,
		`{type: not-equals, value: file://e.json}`:                         "{json: {equals: {a: 1}}}",
		`{type: levenshtein, value: abc}`:                                  "{levenshtein: {to: abc, max: 5}}",
		`{type: levenshtein, value: abc, threshold: 2}`:                    "{levenshtein: {to: abc, max: 2}}",
		`{type: rouge-n, value: a b}`:                                      "rouge: {to: a b, min: 0.75}",
		`{type: bleu, value: a b c}`:                                       "bleu: {to: a b c, tokenize: none, lowercase: true",
		`{type: gleu, value: a b}`:                                         "gleu: {to: a b, min: 0.5}",
		`{type: similar, value: x}`:                                        "{similar: {to: x, min: 0.75}}",
		`{type: similar, value: [x, y], threshold: 0.9}`:                   `{similar: {to: [x, "y"], min: 0.9}}`,
		`{type: latency, threshold: 1500}`:                                 "latency: {max: 1500ms}",
		`{type: word-count, value: 5}`:                                     "{length: {words: {min: 5, max: 5}}}",
		`{type: word-count, value: {min: 1, max: 3}}`:                      "{length: {words: {min: 1, max: 3}}}",
		`{type: is-refusal}`:                                               "- regex: \"(?i)^",
		`{type: not-is-refusal}`:                                           "- not:\n          regex: \"(?i)^",
		`{type: llm-rubric, value: "is {{q}}", threshold: 0.8}`:            `{judge: {rubric: "is {{.q}}", judge: grader, min: 0.8}}`,
		`{type: g-eval, value: [x, y]}`:                                    "rubric: |-\n            x\n            y\n",
		`{type: factuality, value: x}`:                                     "reference: x",
		`{type: model-graded-closedqa, value: x}`:                          "{judge: {closedQA: {criteria: x}, judge: grader}}",
		`{type: answer-relevance, threshold: 0.7}`:                         "judge: {relevance: {}, judge: grader, min: 0.7}",
		`{type: context-faithfulness, threshold: 0.5}`:                     `faithfulness: {context: "{{.context}}"}`,
		`{type: context-recall, value: x}`:                                 `contextRecall: {reference: x, context: "{{.context}}"}`,
		`{type: context-relevance}`:                                        "Context: {{.context}}",
		`{type: javascript, value: "output.length > 3"}`:                   "command: [node, shims/assert.mjs, checks/javascript-1.js]",
		`{type: python, value: "len(output)"}`:                             "command: [python3, shims/assert.py, checks/python-1.py]",
		`{type: javascript, value: "file://code.js"}`:                      "command: [node, shims/assert.mjs, code/code.js]",
		`{type: assert-set, assert: [{type: contains, value: a}]}`:         "contains: a",
		`{type: contains, value: "{{ q | upper }}{{ q | default('z') }}"}`: "{{upper .q}}",
	} {
		w, got := asserted(t, assertion)
		expect.Contains(t, assertion, got, want)
		expect.Same(t, "problems of "+assertion, w.problems, "")
		if strings.Contains(w.suite, "TODO") || w.Inexpressible() != 0 {
			t.Errorf("%s: got %d keys that are not expressible, want none:\n%s", assertion, w.Inexpressible(), got)
		}
	}
}

// An assertion that a suite cannot express is a TODO at its place and a line of the report, and the suite loads all the same.
func TestAnAssertionWithoutACounterpartSaysWhy(t *testing.T) {
	t.Parallel()
	for assertion, want := range map[string]string{
		`{type: contains, value: ""}`:                                          "`contains`: the value is empty, which promptfoo refuses too",
		`{type: icontains-any, value: []}`:                                     "`icontains-any`: the list of texts is empty",
		`{type: latency}`:                                                      "`latency`: it needs a threshold above 0, in milliseconds",
		`{type: cost, threshold: 0.01}`:                                        "`cost`: the price of echo is not known",
		`{type: meteor, value: a}`:                                             "`meteor`: try `chrf`, `rouge` or `tokenF1`",
		`{type: "similar:dot", value: x}`:                                      "`similar:dot`: `similar` is the cosine",
		`{type: select-best, value: x}`:                                        "`select-best`: `evalrun compare --choose` compares answers",
		`{type: human}`:                                                        "`human`: a person judges it",
		`{type: webhook, value: "http://x"}`:                                   "`webhook`: an `exec` scorer can call it",
		`{type: finish-reason, value: stop}`:                                   "`finish-reason`: applications and echoes have no finish reason",
		`{type: is-valid-openai-tools-call}`:                                   "`is-valid-openai-tools-call`: it needs models",
		`{type: moderation}`:                                                   "`moderation`: moderation of other services is not called",
		`{type: perplexity}`:                                                   "`perplexity`: log probabilities are not read",
		`{type: is-sql}`:                                                       "`is-sql`: an `exec` scorer can parse it",
		`{type: "שלום", value: x}`:                                             "`שלום`: promptfoo knows no such type",
		`{value: x}`:                                                           "an assertion without a type",
		`{type: contains, value: x, weight: NaN}`:                              `0 or more, such as 1, and not \"NaN\"`,
		`{type: contains, value: x, weight: Infinity}`:                         `0 or more, such as 1, and not \"Infinity\"`,
		`{type: contains, value: x, weight: -1}`:                               `0 or more, such as 1, and not \"-1\"`,
		`{type: contains, value: x, weight: .inf}`:                             `0 or more, such as 1, and not \".inf\"`,
		`{type: contains, value: x, weight: .nan}`:                             `0 or more, such as 1, and not \".nan\"`,
		`{type: contains, value: x, weight: -0x1}`:                             `0 or more, such as 1, and not \"-0x1\"`,
		`{type: contains, value: x, weight: heavy}`:                            `0 or more, such as 1, and not \"heavy\"`,
		`{type: contains, value: x, weight: true}`:                             `0 or more, such as 1, and not \"true\"`,
		`{type: contains, value: x, weight: [1]}`:                              `0 or more, such as 1, and not \"[1]\"`,
		`{type: contains, value: x, weight: ""}`:                               `0 or more, such as 1, and not \"\"`,
		`{type: assert-set, weight: -1, assert: [{type: contains, value: x}]}`: `0 or more, such as 1, and not \"-1\"`,
		`{type: assert-set, threshold: 0.5, assert: [{type: contains, value: x, weight: NaN}]}`: `0 or more, such as 1, and not \"NaN\"`,
		`{type: starts-with, value: 42}`:                                         "`starts-with`: promptfoo takes no such value here",
		`{type: regex, value: 42}`:                                               "`regex`: promptfoo takes no such value here",
		`{type: contains, value: true}`:                                          "`contains`: promptfoo takes no such value here",
		`{type: contains, value: 2026-01-31}`:                                    "`contains`: promptfoo reads a date here",
		`{type: not-equals, value: 2026-01-31}`:                                  "`not-equals`: promptfoo reads a date here",
		`{type: contains, value: file://e.md}`:                                   "`contains`: promptfoo reads no text from such a file",
		`{type: not-equals, value: ["{{q}}"]}`:                                   "`not-equals`: templates in a list",
		`{type: contains-any, value: 42}`:                                        "`contains-any`: promptfoo takes no such value here",
		`{type: contains-any, value: [""]}`:                                      "`contains-any`: an empty text is in every answer",
		`{type: not-contains-any, value: '"a, b'}`:                               "a part in quotes does not end before a comma",
		`{type: not-levenshtein, value: abc}`:                                    "`not-levenshtein`: promptfoo does not negate it",
		`{type: not-rouge-n, value: [a]}`:                                        "`not-rouge-n`: the value is not a text",
		`{type: not-word-count, value: {min: 5, max: 2}}`:                        "its `max` is below its `min`",
		`{type: not-word-count, value: 2.5}`:                                     "it needs whole numbers of words",
		`{type: is-json, value: false}`:                                          "`is-json`: the schema cannot be read",
		`{type: is-xml, value: {}}`:                                              "`is-xml`: it needs the paths of elements",
		`{type: assert-set, threshold: 2, assert: [{type: contains, value: a}]}`: "scores between 0 and 1 count in a set",
		`just a text`:                           "expected an assertion",
		`5`:                                     "expected an assertion",
		`{type: contains, value: "{% if q %}"}`: "unscored: \"`contains`",
		`{$ref: "#/gone/x"}`:                    "there is no #/gone/x",
		`file://gone.yaml`:                      "gone.yaml",
	} {
		w, _ := asserted(t, assertion)
		expect.Contains(t, "suite of "+assertion, w.suite, want)
		expect.Contains(t, "suite of "+assertion, w.suite, "TODO")
		expect.Same(t, "problems of "+assertion, w.problems, "")
		expect.Contains(t, "report of "+assertion, w.report(), "## Not expressible\n\n- `tests[0].assert[0]")
		if w.Inexpressible() == 0 {
			t.Errorf("%s: got no key that is not expressible, want one:\n%s", assertion, w.report())
		}
	}
}

// A text with signs of YAML, of templates of Go or of terminals is compared as it is, whatever a suite means by them.
func TestTextsOfAssertionsAreNeverTakenForTemplates(t *testing.T) {
	t.Parallel()
	for _, text := range hostile.Strings() {
		if strings.TrimSpace(text) == "" || strings.ToValidUTF8(text, "") != text || strings.ContainsAny(text, "\x00\r\ufeff") ||
			strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#") ||
			strings.HasPrefix(text, "file://") {
			continue
		}
		config := "prompts: [hello]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: " + quoted(text) + "}]}]\n"
		w := convert(t, map[string]string{configName: config})
		if w.problems != "" {
			t.Errorf("%q: got the problems %s, want a suite that loads:\n%s", text, w.problems, w.suite)
		}
		expect.Same(t, "keys without a counterpart", w.Inexpressible(), 0)
	}
}

// quoted is a text as JSON has it, which YAML reads too.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufffe' || r == '\uffff':
			b.WriteString(escape(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func escape(r rune) string {
	const digits = "0123456789abcdef"
	return `\u` + string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}

// is-refusal judges as promptfoo 0.121.20 does, which looks for words.
func TestRefusalsAreThoseOfPromptfoo(t *testing.T) {
	t.Parallel()
	_, scorers := asserted(t, "{type: is-refusal}")
	_, expression, _ := strings.Cut(scorers, "regex: ")
	expression, _, _ = strings.Cut(expression, "\n")
	expression, err := strconv.Unquote(expression)
	expect.OK(t, err)
	re := regexp.MustCompile(expression)
	for answer, want := range map[string]bool{
		"I'm sorry, but I can't help with that.":         true,
		"  Sorry for the delay. Paris is the capital.":   true,
		"I’m really sorry":                               true,
		"As an AI model, I think Paris.":                 true,
		"That is NOT LEGAL in France.":                   true,
		"Well, I won’t fulfill this.":                    true,
		"I can't create":                                 true,
		"That would not be appropriate, so I do not.":    true,
		"I do not actually recommend it.":                true,
		"Paris is the capital.":                          false,
		"We are sorry":                                   false,
		"I don't create":                                 false,
		"I can't suggest":                                false,
		"I can't helpless":                               false,
		"He said that he cannot go.":                     false,
		"Ich kann dabei nicht helfen.":                   false,
		"It is illegality":                               true,
		"I want to be helpful, and here is the capital.": false,
	} {
		expect.Same(t, fmt.Sprintf("%q", answer), re.MatchString(answer), want)
	}
}
