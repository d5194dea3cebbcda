package promptfoo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func writtenConfig(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), configName)
	expect.OK(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// tested imports a configuration with tests and the files that it names.
func tested(t testing.TB, config string, files ...string) written {
	t.Helper()
	all := map[string]string{configName: "prompts: ['{{q}}']\nproviders: [echo]\n" + config + "\n"}
	for i := 0; i < len(files); i += 2 {
		all[files[i]] = files[i+1]
	}
	return convert(t, all)
}

func TestATableOfTestsBecomesADataset(t *testing.T) {
	t.Parallel()
	w := tested(t, "tests: t.csv", "t.csv",
		"q,__expected,__expected1,__description,__metadata:area,__threshold,__prefix,__odd\n"+
			"\"a, \"\"b\"\"\",equals:x,contains:y,first,north,0.5,Say: ,\nשלום,,,,,,,\n")
	expect.Same(t, "problems", w.problems, "")
	expect.Contains(t, "suite", w.suite, `cases:
  - dataset: data/t.csv
    name: "{{.case_name}}"
    tags: "{{.case_tags}}"
    threshold: "{{.case_threshold}}"
    scorerColumn: case_scorers
`)
	expect.Contains(t, "suite", w.suite, `text: "{{.prompt_prefix}}{{.q}}"`)
	expect.Same(t, "dataset", w.files["data/t.csv"], `q,case_scorers,case_name,case_tags,case_threshold,prompt_prefix
"a, ""b""","[{""equals"":""x""},{""contains"":""y""}]",first,area:north,0.5,Say: 
שלום,"[{""expr"":""true""}]",row 2,,,
`)
	for _, line := range []string{
		"- `t.csv: q` (line 1): imported: as a column of the dataset",
		"- `t.csv: __metadata:area` (line 1): imported with a difference: as tags of the form KEY:VALUE in the column case_tags",
		"- `t.csv: __prefix` (line 1): imported: as the column prompt_prefix",
		"- `t.csv: __odd` (line 1): ignored by promptfoo itself: promptfoo has no such column",
	} {
		expect.Contains(t, "report", w.report(), line)
	}
}

func TestTablesThatAreOddStillMakeASuiteOrSayWhy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		table, data, todo string
	}{
		"a mark of byte order": {"\ufeffq\nא\n", "q\nא\n", ""},
		"line ends of Windows": {"q,r\r\na,b\r\n", "q,r\na,b\n", ""},
		"rows that are short":  {"q,r\na\nb,c,d\n", "q,r\na,\nb,c\n", ""},
		"a name twice":         {"q,q\na,b\n", "q\nb\n", ""},
		"blanks around names":  {" q , r\na,b\n", "q,r\na,b\n", ""},
		"a quote that is open": {"q,r\n\"a,b\n", "q,r\n\"a,b\n\",\n", ""},
		"an empty file":        {"", "", "# TODO: tests of t.csv: t.csv has no line with the names of its columns"},
	} {
		w := tested(t, "tests: [t.csv]", "t.csv", test.table)
		expect.Same(t, "dataset of "+name, w.files["data/t.csv"], test.data)
		if test.todo != "" {
			expect.Contains(t, "suite of "+name, w.suite, test.todo)
			continue
		}
		expect.Same(t, "problems of "+name, w.problems, "")
	}
}

func TestTestsOfOtherFilesBecomeCases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		w    written
		want string
	}{
		"JSON":       {tested(t, "tests: t.json", "t.json", `[{"vars":{"q":"\u00e9"}}]`), "vars: {q: é}"},
		"JSON lines": {tested(t, "tests: t.jsonl", "t.jsonl", "{\"vars\":{\"q\":1}}\n{\"vars\":{\"q\":2.50}}\n"), "vars: {q: 2.5}"},
		"a glob": {
			tested(t, "tests: 'd/*.yaml'", "d/b.yaml", "- vars: {q: b}\n", "d/a.yaml", "- vars: {q: a}\n"),
			"- name: test 1\n    vars: {q: a}\n",
		},
		"a file of a variable": {tested(t, "tests: [{vars: {q: file://q.txt}}]", "q.txt", "{{not}} a\ntemplate\n"), "{{not}} a\n"},
	} {
		expect.Contains(t, "suite of "+name, test.w.suite, test.want)
		expect.Same(t, "problems of "+name, test.w.problems, "")
		expect.Same(t, "keys of "+name+" without a counterpart", test.w.Inexpressible(), 0)
	}
}

func TestScenariosBecomeTheProductOfTheirParts(t *testing.T) {
	t.Parallel()
	w := tested(t, `scenarios:
  - config: [{vars: {lang: fr}}, {vars: {lang: de}}]
    tests: [{description: hello, vars: {q: hi}}, {vars: {q: bye}, assert: [{type: equals, value: '{{lang}}'}]}]`)
	expect.Same(t, "problems", w.problems, "")
	var got []string
	for line := range strings.Lines(w.suite) {
		if strings.Contains(line, "- name: ") || strings.Contains(line, "vars:") {
			got = append(got, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")))
		}
	}
	expect.Same(t, "cases", got[2:], []string{
		"name: hello", "vars: {lang: fr, q: hi}", "name: test 2", "vars: {lang: fr, q: bye}",
		"name: hello 2", "vars: {lang: de, q: hi}", "name: test 4", "vars: {lang: de, q: bye}",
	})
	expect.Contains(t, "suite", w.suite, `scorers: [{equals: "{{.lang}}"}]`)
}

func TestDefaultsReachAllTestsButThoseThatRefuseThem(t *testing.T) {
	t.Parallel()
	w := tested(t, `defaultTest: {vars: {a: b}, assert: [{type: contains, value: '{{a}}'}], options: {prefix: 'P '}}
tests: [{vars: {q: x}}, {vars: {q: y, a: c}, options: {disableDefaultAsserts: true}}]`)
	expect.Same(t, "problems", w.problems, "")
	expect.Contains(t, "suite", w.suite, `    text: "P {{.q}}"
defaults:
  vars: {a: b}
  scorers: [{contains: "{{.a}}"}]
cases:
  - name: test 1
    vars: {q: x}
  - name: test 2
    vars: {q: "y", a: c}
    inheritScorers: false
`)
}

func TestTestsOfOneDescriptionGetNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := tested(t, `tests:
  - {description: same, vars: {q: x}}
  - {description: same, vars: {q: x}}
  - {description: same 2, vars: {q: x}}
  - {description: "", vars: {q: x}}
  - {description: "a\tb\u202e שלום", vars: {q: x}}`)
	expect.Same(t, "problems", w.problems, "")
	names := map[string]bool{}
	for line := range strings.Lines(w.suite) {
		if name, is := strings.CutPrefix(line, "  - name: "); is && names[name] {
			t.Errorf("got the name %q twice, want names that differ:\n%s", name, w.suite)
		} else if is {
			names[name] = true
		}
	}
	expect.Same(t, "names", len(names), 7) // with a target and a prompt
}

func TestAssertionsByReferenceAreFilledIn(t *testing.T) {
	t.Parallel()
	w := tested(t, `assertionTemplates: {"a/b": {type: contains, value: x}}
tests: [{vars: {q: x}, assert: [{$ref: '#/assertionTemplates/a~1b'}, {$ref: 'other.yaml#/x'}]}]`)
	expect.Same(t, "problems", w.problems, "")
	expect.Contains(t, "suite", w.suite, "- contains: x\n")
	expect.Contains(t, "report", w.report(), "`tests[0].assert[0].$ref` (line 4): imported: filled in")
	expect.Contains(t, "report", w.report(), "`tests[0].assert[1].$ref` (line 4): not expressible: references within the configuration alone")
}
