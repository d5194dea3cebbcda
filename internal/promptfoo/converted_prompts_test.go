package promptfoo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// ran lists the trials of an import, as provider, prompt and test, sorted.
func (w *written) ran() string {
	var out []string
	for cell := range w.loaded.Cells() {
		out = append(out, fmt.Sprintf("%s %s", cell.Arm.Name(), cell.Case.Name))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// promptfoo 0.121.20 runs the same 24 trials of this configuration.
func TestPromptsAreNamedByIDAndLabel(t *testing.T) {
	t.Parallel()
	w := convert(t, map[string]string{
		configName: `
prompts:
  - {id: one, label: "First: prompt", raw: "one {{x}}"}
  - {id: two, raw: "two {{x}} {{env.CITY}}"}
  - {label: "First: other", raw: "three {{x}}"}
  - file://prompts/*.txt
  - {id: file://p.csv, label: table}
  - prompts/many*
env: {CITY: Rome, OTHER: x, OPENAI_API_KEY: sk-not-for-a-suite}
providers:
  - {id: echo, label: "e:1", prompts: [one, "First"]}
  - {id: echo, label: "e:2"}
  - {id: echo, label: f, prompts: ["t*"]}
  - {id: echo, label: none, prompts: []}
  - {id: https, label: h, prompts: [two], config: {url: "http://{{host}}/{{env.CITY}}/{{env.PAGE}}", body: {q: "{{prompt}}"}}}
defaultTest: file://d.yaml
tests:
  - {description: all, vars: {x: 1}}
  - {description: e of one, vars: {x: 2}, providers: ["e"], prompts: [one]}
  - {description: e with a star, vars: {x: 3}, providers: ["e:*"], prompts: ["First*", two]}
  - {description: the first, vars: {x: 4}, prompts: ["First"]}
  - {description: nothing, vars: {x: 5}, providers: [f], prompts: [one]}
`,
		"d.yaml":        "vars: {host: 127.0.0.1:1}\nassert: [{type: regex, value: '[0-9]'}]\n",
		"p.csv":         "prompt,label\n\"csv, {{x}}\",lab\nsecond {{x}},\n",
		"prompts/q.txt": "a {{x}}\n---\nb {{x}}", "prompts/many.md": "md {{x}}",
	})
	expect.Same(t, "problems", w.problems, "")
	expect.Contains(t, "suite", w.suite, `url: "http://127.0.0.1:1/Rome/${env:EVALRUN_PAGE}"`)
	expect.Contains(t, "suite", w.suite, `text: "two {{.x}} Rome"`)
	expect.Contains(t, "suite", w.suite, "# the test nothing runs on no prompt of its providers")
	expect.Contains(t, "report", w.report(), "`env.OTHER` (line 9): imported with a difference: set it where evalrun runs")
	expect.Same(t, "trials", w.ran(), strings.TrimSpace(`
e-1/First-other all
e-1/First-other e with a star
e-1/First-other the first
e-1/First-prompt all
e-1/First-prompt e of one
e-1/First-prompt e with a star
e-1/First-prompt the first
e-2/First-other all
e-2/First-other e with a star
e-2/First-other the first
e-2/First-prompt all
e-2/First-prompt e of one
e-2/First-prompt e with a star
e-2/First-prompt the first
e-2/lab all
e-2/many all
e-2/q all
e-2/q-2 all
e-2/table all
e-2/two all
e-2/two e with a star
f/table all
f/two all
h/two all`))
}

func TestVariablesOfTheEnvironmentAreVariablesOfCases(t *testing.T) {
	t.Parallel()
	w := convert(t, map[string]string{
		configName: `
prompts: ["Where is {{env.PLACE}}? {% for x in [1] %}{% endfor %}", '[{"role": "user", "content": "In {{env.PLACE}} {{env.KNOWN}}"}]']
env: {KNOWN: 'a "b"'}
providers: [echo, "openai:{{env.MODEL}}"]
tests: [{vars: {x: 1}}]
`,
	})
	expect.Contains(t, "suite", w.suite, `"content": "In {{.env_PLACE | jsonText}} a \"b\""`)
	expect.Contains(t, "report", w.report(), "`env.PLACE` is the variable `env_PLACE` here: run with `--var env_PLACE=VALUE`")
	expect.Contains(t, "problems", w.problems, "has no variable `env_PLACE`")
	expect.Contains(t, "report", w.report(), "a suite names its models: write the model out")
}

// A test of a prompt that is not there, or of one with settings that a suite cannot give to a prompt, is an error.
func TestPromptsThatAreOthersMakeErrors(t *testing.T) {
	t.Parallel()
	w := tested(t, "tests: [{vars: {q: x}, prompts: [gone]}]")
	expect.Contains(t, "suite", w.suite, "unscored: \"`prompts`: no prompt has this label or id\"")
	w = convert(t, map[string]string{
		configName: "prompts: [{raw: '{{q}}', label: warm, config: {temperature: 1}}]\nproviders: [echo]\ntests: [{vars: {q: x}}]\n",
	})
	expect.Contains(t, "suite", w.suite, "unscored: \"`config` of the prompt: settings that go with a prompt belong to a target here")
	expect.Contains(t, "suite", w.suite, `arms: ["*/warm"]`)
}
