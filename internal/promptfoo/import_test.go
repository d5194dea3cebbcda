package promptfoo

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/yaml"
)

func sprint(v any) string { return fmt.Sprint(v) }

func flatMap(m map[string]any) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s=%v", k, m[k]))
	}
	return strings.Join(out, " ")
}

func site(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		expect.OK(t, os.MkdirAll(filepath.Dir(at), 0o700))
		expect.OK(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return filepath.Join(dir, "promptfooconfig.yaml")
}

func imported(t testing.TB, files map[string]string) *Import {
	t.Helper()
	var problems Problems
	im, err := Read(site(t, files), Options{}, &problems)
	expect.OK(t, err)
	if im == nil {
		t.Fatalf("got no import, want one: %v", problems.Diags.Err())
	}
	return im
}

// accounted reports the keys of a configuration that have no line in the report, and whether the suite is YAML.
func accounted(t testing.TB, im *Import, config string) {
	t.Helper()
	var problems diagList
	if _, ok := yaml.Parse("suite", im.files[SuiteFile], &problems); !ok || problems.HasErrors() {
		t.Errorf("got no YAML, want a suite: %v\n%s", problems.Err(), im.files[SuiteFile])
	}
	for _, l := range im.fates.lines {
		if l.fate.status == statusTODO && !strings.Contains(string(im.files[SuiteFile]), diag.CleanLine(l.fate.note)) {
			t.Errorf("%s: got no TODO in the suite, want one for what is not expressible", l.path)
		}
	}
	n, ok := yaml.Parse("config", []byte(config), &problems)
	if !ok {
		return
	}
	lines := map[string]bool{}
	for _, l := range im.fates.lines {
		lines[l.path] = true
		if l.fate.status == 0 || l.fate.note == "evalrun import does not read it" {
			t.Errorf("%s: got no fate, want one", l.path)
		}
	}
	var walk func(s src)
	walk = func(s src) {
		for _, e := range s.entries() {
			if !lines[e.path] {
				t.Errorf("%s: got no line in the report, want one", e.path)
			}
			walk(e.src)
		}
		if s.IsSequence() {
			for _, item := range s.items() {
				walk(item)
			}
		}
	}
	walk(src{n, "", "", newFates(&secrets{})})
}

// Every key of every kind of configuration has a line with a fate, and the suite is YAML.
func TestEveryKeyHasALine(t *testing.T) {
	t.Parallel()
	for _, config := range configurations {
		accounted(t, imported(t, map[string]string{"promptfooconfig.yaml": config}), config)
	}
}

// configurations use every key that promptfoo knows, right and wrong.
var configurations = []string{
	`
prompts: {"Say {{x}}": first, "p.txt": second}
targets: {openai:gpt-4o: {config: {temperature: 0.1, n: 2, functions: [], unknown: {a: [1, {b: c}]}}}}
tests: [{vars: {x: [a, b], y: {deep: [1]}, z: [1, 2]}, assert: [{type: contains-all, value: [a, {b: c}]}]}]
derivedMetrics: [{name: f1, value: "a / (a + b)"}, {name: odd, value: "sqrt(a)"}]
scenarios:
  - description: s
    config: [{vars: {lang: fr}}, {vars: {lang: de}, assert: [{type: contains, value: x}]}]
    tests: [{description: t, vars: {x: 1}, assert: [{type: equals, value: "{{lang}}"}]}]
nunjucksFilters: {shout: ./shout.js}
extensions: [file://hook.py:f]
tags: {env: prod}
sharing: {apiBaseUrl: https://x.example}
tracing: {enabled: true, otlp: {http: {enabled: true}}}
writeLatestResults: true
commandLineOptions: {maxConcurrency: 2, repeat: 3, share: false, grader: openai:gpt-4o, nonsense: 1}
evaluateOptions: {timeoutMs: 5000, maxEvalTimeMs: 60000, cache: false, showProgressBar: true, generateSuggestions: true}
`, `
prompts: [{raw: "{{a}}", label: l, config: {temperature: 1}}, {id: file://gone.txt}, [nested], 5, null]
providers:
  - {id: openai, config: {tools: [{type: function, function: {name: f, strict: true}}, {type: web_search}], tool_choice: required}}
  - {openai:gpt-4o: {label: named, config: {passthrough: {seed: 1, odd: x}, headers: {X-A: b, X-Api-Key: c},
      organization: org, inputCost: 0.000001, outputCost: 0.000002}}}
  - {config: {a: b}}
  - [x]
  - {id: http, config: {url: "{{env.U}}/x", queryParams: {q: "{{prompt}}"}, auth: {type: bearer, token: t},
      session: {url: x}, tls: {certPath: c.pem}, validateStatus: "status < 500",
      body: [1, 2], transformResponse: "text.split(' ')[0]"}}
  - {id: "https://x.example", config: {method: GET}, delay: 100, transform: output.trim(), env: {A: b}, inputs: {a: b}, nonsense: 1}
  - {id: vertex:gemini-pro, config: {region: r, safetySettings: [{category: HARM, threshold: HIGH}],
      generationConfig: {temperature: 1, odd: 2}}}
  - exec:python run.py --x "a b"
  - openai:embeddings:text-embedding-3-large
  - file://provider.yaml
defaultTest:
  vars: {v: "{{w}} and {{undefined}}", w: x}
  options: {prefix: "P ", suffix: " S", transform: "output.split(' ')[0]", transformVars: x,
    rubricPrompt: y, storeOutputAs: z, runSerially: true, factuality: {subset: 0.5},
    disableVarExpansion: true, repeat: 2, provider: file://grader.py}
  threshold: 2
  metadata: {a: [b, c], d: {e: f}}
  assertScoringFunction: file://f.js
tests:
  - vars: {a: "{% if x %}"}
    provider: {id: openai:other}
    providers: [named, "gone*"]
    prompts: [l]
    providerOutput: given
    threshold: 0.5
    options: {disableDefaultAsserts: true, prefix: x, repeat: 4}
    assert:
      - {type: not-unknown, value: x}
      - {type: contains, value: "{{ a | shuffle }}"}
      - {type: context-recall, value: x, threshold: 0.5}
      - {type: context-relevance}
      - {type: answer-relevance, provider: {text: openai:gpt-4o, embedding: openai:embeddings:text-embedding-3-small}}
      - {type: tool-call-f1, value: [a, b]}
      - {type: assert-set, threshold: 0.5, metric: m, weight: 2, config: {},
          assert: [{type: contains, value: a, metric: inner, weight: 3}, {type: webhook, value: x}]}
      - {type: assert-set, threshold: 0.5, weight: NaN, assert: [{type: contains, value: a, weight: [.inf]}]}
      - {type: llm-rubric, value: file://gone.md, rubricPrompt: x}
      - {type: javascript, value: "{{ a | shuffle }} {% if x %}", config: {a: {b: [c]}}}
      - {type: javascript, value: file://gone.js}
      - {type: is-json, value: "not: [valid"}
      - {type: contains, value: x, weight: -1, metric: "{{a}} m", transform: file://gone.js, contextTransform: x, description: d}
      - {$ref: "#/assertionTemplates/gone"}
      - just a text
      - {}
  - file://gone.yaml
  - {path: file://gen.py, config: {a: b}}
  - 5
assertionTemplates: {used: {type: contains, value: x}}
`,
	"prompts: x\nproviders: echo\ntests: {vars: {a: b}}\nscenarios: x\ndefaultTest: gone\n" +
		"redteam: {plugins: [{id: x, config: {a: [b]}}]}\n",
	"prompts:\nproviders:\ntests:\ndefaultTest:\nderivedMetrics: 5\nevaluateOptions: [1]\ntags: [x]\n",
}

// FuzzImport: whatever a configuration says, import ends without a panic, its suite is YAML, and every key has a line.
func FuzzImport(f *testing.F) {
	for _, config := range configurations {
		f.Add(config)
	}
	f.Fuzz(func(t *testing.T, config string) {
		var problems Problems
		im, err := Read(site(t, map[string]string{"promptfooconfig.yaml": config}), Options{}, &problems)
		if err != nil || im == nil {
			return
		}
		accounted(t, im, config)
		_ = im.report()
	})
}

// The same configuration gives the same files, byte for byte.
func TestImportsAreTheSame(t *testing.T) {
	t.Parallel()
	for _, config := range configurations {
		files := map[string]string{"same/promptfooconfig.yaml": config}
		var first *Import
		for range 5 {
			var problems Problems
			im, err := Read(filepath.Join(filepath.Dir(site(t, files)), "same", "promptfooconfig.yaml"), Options{}, &problems)
			expect.OK(t, err)
			if first == nil {
				first = im
				continue
			}
			expect.Same(t, "the report", string(im.report()), string(first.report()))
			for name, data := range first.files {
				expect.Same(t, name, string(im.files[name]), string(data))
			}
		}
	}
}

// Keys in variables of tests may be what is tested: they stay, in checks too, and the report names their variables. A key of the
// configuration is masked wherever it appears.
func TestKeysInVariablesStayAndAreReported(t *testing.T) {
	t.Parallel()
	const plain, own = "sk-proj-abcdefghijkl1234567890", "ghp_0123456789abcdefABCDEF012345"
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	im := imported(t, map[string]string{
		"promptfooconfig.yaml": "prompts: ['Say {{leak}}', 'the key is sk-proj-otherabcdefghij1234567']\n" +
			"providers: [{id: 'https://h.example/', config: {headers: {x-api-key: " + own + "}, body: {q: '{{prompt}}'}}}]\n" +
			"tests:\n  - file://t.csv\n  - vars:\n      leak: my " + plain + "\n      list: [1, {token: " + jwt + ", own: " + own + "}]\n" +
			"      pem: |\n        -----BEGIN PRIVATE KEY-----\n        MIIabc\n        -----END PRIVATE KEY-----\n" +
			"    assert: [{type: not-contains, value: " + plain + "}]\n",
		"t.csv": "leak,__expected\nAKIAABCDEFGHIJKLMNOP,contains:AKIAABCDEFGHIJKLMNOP\n",
	})
	suite, report := string(im.files[SuiteFile]), string(im.report())
	for _, want := range []string{
		"leak: my " + plain, "token: " + jwt, `own: "[key]"`, "MIIabc", "not: {contains: " + plain + "}", "text: the key is [key]",
	} {
		expect.Contains(t, "suite", suite, want)
	}
	expect.Contains(t, "table", string(im.files["data/t.csv"]), "AKIAABCDEFGHIJKLMNOP,\"[{\"\"contains\"\":\"\"AKIAABCDEFGHIJKLMNOP")
	expect.Contains(
		t, "report", report, "revoke what is one: tests[1].vars.leak, tests[1].vars.list, tests[1].vars.pem, the column leak of t.csv",
	)
	for _, secret := range []string{own, "sk-proj-other"} {
		if strings.Contains(suite+report, secret) {
			t.Errorf("%s was copied, want it masked", secret)
		}
	}
}

// in16 is a text in UTF-16, big or little endian, with a byte order mark.
func in16(text string, big bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		high, low := byte(unit>>8), byte(unit)
		if big {
			high, low = low, high
		}
		b.Write([]byte{low, high})
	}
	return b.String()
}

// Files that are not UTF-8 arrive as they were written, and the report names them. What is no text is not taken for one.
func TestFilesOfOtherEncodingsAreConverted(t *testing.T) {
	t.Parallel()
	im := imported(t, map[string]string{
		"promptfooconfig.yaml": in16("prompts: [file://le.txt, file://be.txt, file://ansi.txt, "+
			"file://bom.txt, file://pic.txt, 'für {{q}}']\n"+
			"providers: [echo]\ntests: [file://t.csv, file://t.jsonl, {vars: {q: file://v.txt}}]\n", false),
		"le.txt": in16("Grüße „LE“ 🎈", false), "be.txt": in16("Grüße „BE“ 🎈", true),
		"ansi.txt": "Gr\xfc\xdfe \x84ANSI\x93 \x80", "bom.txt": "\ufeffGrüße BOM", "pic.txt": "\x89PNG\r\n\x1a\n\x00\x00",
		"t.csv":   "q\nZ\xfcrich\n",
		"t.jsonl": in16(`{"vars": {"q": "Málaga"}}`+"\n", true), "v.txt": "K\xf6ln",
	})
	suite := string(im.files[SuiteFile])
	for _, want := range []string{
		`"Grüße „LE“ 🎈"`, `"Grüße „BE“ 🎈"`, `"Grüße „ANSI“ €"`, "text: Grüße BOM\n", `"für {{.q}}"`, "Málaga", "Köln",
		"pic.txt is not a text",
	} {
		expect.Contains(t, "suite", suite, want)
	}
	expect.Contains(t, "data", string(im.files["data/t.csv"]), "Zürich")
	report := string(im.report())
	for _, want := range []string{
		"`ansi.txt`: converted from Windows-1252 or Latin-1", "`be.txt`: converted from UTF-16", "`le.txt`: converted from UTF-16",
		"`bom.txt`: converted from UTF-8 with a byte order mark", "`promptfooconfig.yaml`: converted from UTF-16",
	} {
		expect.Contains(t, "report", report, want)
	}
	if strings.Contains(report, "`pic.txt`: converted") {
		t.Error("a picture was converted, want it left alone")
	}
}
