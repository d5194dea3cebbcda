package promptfoo

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// repeated joins n lines, which may have a number.
func repeated(n int, line string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(i)) + "\n")
	}
	return b.String()
}

// bounded converts a configuration with a bound of work. It returns the converter, and what Read would say.
func bounded(t *testing.T, most int, files map[string]string) (c *converter, problem string) {
	t.Helper()
	var problems Problems
	name := site(t, files)
	s, err := open(name, Options{}, &problems)
	expect.OK(t, err)
	defer s.close()
	c = newConverter(s)
	c.fates.most = most
	if root, ok := s.parse("promptfooconfig.yaml", s.config); ok {
		top := c.at(root)
		c.config(top)
		c.fates.account(top)
	}
	if problems.Diags.HasErrors() {
		return c, problems.Diags.Err().Error()
	}
	if problem, _ := eval.TooManyTrials(c.products, 0); problem != "" {
		return c, problem
	}
	if err := c.fates.tooMuch(); err != nil {
		return c, err.Error()
	}
	return c, ""
}

// Configurations that are too large, or grow too large, end in a message after a bounded number of steps.
func TestConfigurationsThatGrowAreBounded(t *testing.T) {
	t.Parallel()
	aliases := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		aliases += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	const most, tooMuch = 1500, "the configuration has more than 1500 keys, tests and checks"
	for name, test := range map[string]struct {
		config, want string
		files        map[string]string
	}{
		"tests": {config: head + "tests:\n" + repeated(500, "  - {vars: {x: v%d}, assert: [{type: contains, value: v%d}]}"), want: tooMuch},
		"tests in a file": {
			config: head + "tests: file://t.jsonl\n", want: tooMuch,
			files: map[string]string{"t.jsonl": repeated(500, `{"vars": {"x": "v%d"}, "assert": [{"type": "contains", "value": "v%d"}]}`)},
		},
		"checks in a table": {
			config: head + "tests: file://t.csv\n", want: tooMuch,
			files: map[string]string{"t.csv": "x,__expected\n" + repeated(2000, "v%d,contains: v%d")},
		},
		"scenarios of 3,000 x 3,000": {
			config: head + "scenarios:\n  - config:\n" + repeated(3000, "      - {vars: {a: %d}}") + "    tests:\n" +
				repeated(3000, "      - {vars: {x: %d}}"),
			want: "more than 5000000 trials",
		},
		"scenarios of 30 x 300": {
			config: head + "scenarios:\n  - config:\n" + repeated(30, "      - {vars: {a: %d}}") + "    tests:\n" +
				repeated(300, "      - {vars: {x: %d}}"),
			want: tooMuch,
		},
		"references to a large test": {
			config: head + "tests:\n" + repeated(500, "  - {$ref: '#/defs/t'}") + "defs:\n  t:\n    vars: {x: 1}\n    assert:\n" +
				repeated(200, "      - {type: contains, value: v%d}"),
			want: tooMuch,
		},
		"checks in one test": {
			config: head + "tests:\n  - vars: {x: 1}\n    assert:\n" + repeated(2000, "      - {type: contains, value: v%d}"),
			want:   tooMuch,
		},
		"prompts": {config: "prompts:\n" + repeated(2000, "  - Say {{x}} %d") + "providers: [echo]\n" + tail, want: tooMuch},
		"references to prompts": {
			config: "prompts:\n" + repeated(400, "  - {label: l%d, raw: 'Say %d'}") + "providers: [echo]\ntests:\n" +
				repeated(400, "  - {vars: {x: 1}, prompts: [l%d]}"),
			want: tooMuch,
		},
		"aliases of aliases": {config: aliases + head + "tests: [{vars: {x: *a9}}]\n", want: "aliases expand to more than 100000 values"},
		"nested lists":       {config: head + "tests: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), want: "max depth"},
	} {
		files := map[string]string{"promptfooconfig.yaml": test.config}
		maps.Copy(files, test.files)
		c, problem := bounded(t, most, files)
		expect.Contains(t, name, problem, test.want)
		if made := len(c.cases) + len(c.fates.lines); made > most {
			t.Errorf("%s: got %d tests and lines after %d steps, want at most %d", name, made, c.fates.work, most)
		}
	}
}

// References and files that lead back to themselves end in a message at their place.
func TestCyclesEndInAMessage(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"#/b is a reference itself":   {"promptfooconfig.yaml": head + "tests: [{$ref: '#/b'}]\na: {$ref: '#/b'}\nb: {$ref: '#/a'}\n"},
		"an assertion without a type": {"promptfooconfig.yaml": head + "tests: [{$ref: '#/a'}]\na: {vars: {x: 1}, assert: [{$ref: '#/a'}]}\n"},
		"a.yaml names itself, or a file that names it": {
			"promptfooconfig.yaml": head + "tests: file://a.yaml\n", "a.yaml": "- file://b.yaml\n", "b.yaml": "- file://a.yaml\n",
		},
	} {
		im := imported(t, files)
		expect.Contains(t, "suite", string(im.files[SuiteFile]), want)
	}
}

// Thousands of equal names, pieces of code, services and prompts of judges are counted once each.
func TestEqualNamesAreCountedOnce(t *testing.T) {
	t.Parallel()
	c, problem := bounded(t, maxWork, map[string]string{"promptfooconfig.yaml": "prompts:\n" +
		repeated(300, "  - {label: same, raw: 'Say %d'}") + "providers:\n" +
		repeated(300, "  - {id: 'openai:gpt-4o', label: same, config: {apiBaseUrl: 'http://h%d.example/v1', apiKey: k%d}}") + "tests:\n" +
		repeated(300, "  - {description: same, vars: {x: 1}, assert: [{type: javascript, value: output == %d, metric: same}]}")})
	expect.Same(t, "problem", problem, "")
	c.suite("promptfooconfig.yaml")
	for what, got := range map[string]int{
		"tests": c.caseNames.last["same"], "targets": c.targetNames.last["same"], "prompts": c.promptNames.last["same"],
		"services": c.services.names.last["openai"], "files of code": c.codeNames["javascript\x00.js\x00"],
	} {
		expect.Same(t, what+": names counted", got, 300)
	}
}
