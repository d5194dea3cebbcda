package suite_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

var update = flag.Bool("update", false, "renew the .out files")

// load loads a suite as the commands do, and renders what is said about it.
func load(t testing.TB, path string) (*suite.Suite, *diag.List, string) {
	t.Helper()
	root, err := os.OpenRoot(filepath.Dir(path))
	expect.OK(t, err)
	t.Cleanup(func() { root.Close() })
	var diags diag.List
	s := suite.Load(
		root.FS(), filepath.Base(path), scorers.Builtin(),
		suite.Options{Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}, &diags,
	)
	var b bytes.Buffer
	source := func(file string) []byte {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), file))
		if err != nil {
			t.Errorf("%s: got %v, want the source", file, err)
		}
		return data
	}
	expect.OK(t, (diag.Renderer{Source: source}).Render(&b, &diags))
	return s, &diags, b.String()
}

func fromText(text string, opts suite.Options) (*suite.Suite, *diag.List) {
	return fromFolder(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, opts)
}

func fromFolder(fsys fs.FS, opts suite.Options) (*suite.Suite, *diag.List) {
	var diags diag.List
	return suite.Load(fsys, "s.yaml", scorers.Builtin(), opts, &diags), &diags
}

func TestGoodSuitesLoad(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/ok/*.yaml")
	examples, _ := filepath.Glob("../examples/suites/*.yaml")
	datasets, _ := filepath.Glob("../examples/datasets/*.yaml")
	for _, file := range slices.Concat(files, examples, datasets) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, diags, said := load(t, file)
			if diags.Len() != 0 {
				t.Errorf("want no problem, got:\n%s", said)
			}
			for c := range s.Cases() {
				for _, arm := range c.Arms {
					if _, err := s.Render(c, arm); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

func TestBadSuitesReportTheirProblems(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/err/*.yaml")
	if len(files) == 0 {
		t.Fatal("testdata/err has no suite, want some")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, diags, said := load(t, file)
			if !diags.HasErrors() {
				t.Errorf("it loads, want the errors of %s", strings.TrimSuffix(file, ".yaml")+".out")
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".out"
			if *update {
				expect.OK(t, os.WriteFile(golden, []byte(said), 0o644))
			}
			want, err := os.ReadFile(golden)
			expect.OK(t, err)
			expect.Same(t, "problems", said, string(want))
		})
	}
}

func TestTheProductExampleLoads(t *testing.T) {
	t.Parallel()
	s, _, _ := load(t, "testdata/ok/product.yaml")
	var arms []string
	for _, a := range s.Arms() {
		arms = append(arms, a.Name())
	}
	want := []string{"pro/direct", "pro/from-file", "pro/chat", "pro-warm/direct", "eyes/picture"}
	expect.Same(t, "arms", arms, want)
	trials, found := map[string]int{}, map[string]int{} // the latter of scorers
	for c := range s.Cases() {
		trials[c.Name] = c.Repeats * len(c.Arms)
		found[c.Name] = len(c.Scorers)
		found[c.Name+" on eyes"] = len(c.ScorersFor(s.Arms()[4]))
	}
	expect.Same(t, "trials", trials, map[string]int{"france": 15, "andorra": 9, "insult": 3, "Iceland": 12, "Norway": 12})
	if found["insult"] != 1 || found["france on eyes"] != 3 {
		t.Errorf("insult has %d scorers and france on eyes %d, want 1 and 3", found["insult"], found["france on eyes"])
	}
	temperature := s.Targets[0].Model().GenerationConfig.Temperature
	if temperature == nil || *temperature != 0 {
		t.Errorf("temperature %v, want 0: it is not unset", temperature)
	}
}

func TestImagesAreKnownByTheirBytes(t *testing.T) {
	t.Parallel()
	for dir, supported := range map[string]bool{"testdata/images": true, "testdata/unsupported": false} {
		files, _ := filepath.Glob(dir + "/*")
		for _, file := range files {
			data, err := os.ReadFile(file)
			expect.OK(t, err)
			s, err := withImage(filepath.Base(file), data)
			if (err == nil) != supported {
				t.Errorf("%s: %v, want it supported: %t", file, err, supported)
			}
			if err != nil {
				continue
			}
			for c := range s.Cases() {
				prompt, err := s.Render(c, c.Arms[0])
				if err != nil || !bytes.Equal(prompt.Contents[0].Parts[0].(eval.ImagePart).Image.Data, data) {
					t.Errorf("%s: %v, want the bytes of the file", file, err)
				}
			}
		}
	}
}

// withImage loads a suite whose prompt shows an image.
func withImage(name string, data []byte) (*suite.Suite, error) {
	text := fmt.Sprintf("version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, parts: [{image: \"%s\"}, {text: x}]}]\n"+
		"cases: [{name: c, scorers: [{contains: x}]}]\n", name)
	s, diags := fromFolder(fstest.MapFS{"s.yaml": {Data: []byte(text)}, name: {Data: data}}, suite.Options{})
	return s, diags.Err()
}

func TestPromptsOverTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	var parts strings.Builder
	for range 17 {
		parts.WriteString("{image: a.png}, ")
	}
	png, err := os.ReadFile("testdata/images/1x1.png")
	expect.OK(t, err)
	suiteText := func(parts string) []byte {
		return fmt.Appendf(
			nil,
			"version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, parts: [%s{text: x}]}]\ncases: [{name: c, scorers: "+
				"[{contains: x}]}]\n",
			parts,
		)
	}
	big := append(bytes.Clone(png), make([]byte, 3_200_000)...)
	for name, test := range map[string]struct {
		parts, want string
	}{
		"images": {parts.String(), "17 images; at most 16"},
		"bytes":  {"{image: big.png}, ", "at most 4194304 are allowed"},
	} {
		fsys := fstest.MapFS{"s.yaml": {Data: suiteText(test.parts)}, "a.png": {Data: png}, "big.png": {Data: big}}
		_, diags := fromFolder(fsys, suite.Options{})
		expect.Fails(t, name, diags.Err(), test.want)
	}
}

// Identity is what a case's variables and the images they choose make it, and nothing else.
func TestCaseIDDependsOnVariablesAndImagesAlone(t *testing.T) {
	t.Parallel()
	base := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"{{.a}}\"}]\n"
	id := func(cases string, opts suite.Options) string {
		s, diags := fromText(base+"cases: ["+cases+"]\n", opts)
		expect.OK(t, diags.Err())
		for c := range s.Cases() {
			return c.ID
		}
		return ""
	}
	one := id("{name: c, vars: {a: x}, scorers: [{contains: x}]}", suite.Options{})
	renamed := id("{name: other, vars: {a: x}, tags: [t], scorers: [{equals: y}]}", suite.Options{})
	expect.Same(t, "the id with another name, tags and scorers", renamed, one)
	given := id("{name: c, vars: {a: x}, scorers: [{contains: x}]}", suite.Options{Vars: map[string]string{"a": "z"}})
	expect.Same(t, "the id with --var", given, one)
	if other := id("{name: c, vars: {a: y}, scorers: [{contains: x}]}", suite.Options{}); other == one {
		t.Errorf("with other variables the id is %s too, want another one", other)
	}
	expect.Same(t, "the id", id("{name: c, id: mine, vars: {a: y}, scorers: [{contains: x}]}", suite.Options{}), "mine")
}

func TestDefaultsApplyToCases(t *testing.T) {
	t.Parallel()
	s, diags := fromText(`version: 1
name: s
tags: [all]
targets: [{name: t, model: m}]
prompts: [{name: p, text: "{{.a}}{{.b}}"}]
defaults:
  vars: {a: da, b: db}
  tags: [default]
  threshold: 0.5
  scorers:
    - contains: x
      name: shared
    - contains: y
cases:
  - {name: inherits}
  - name: own
    vars: {a: own}
    tags: [mine]
    threshold: 0.9
    repeats: 2
    scorers:
      - equals: z
        name: shared
`, suite.Options{})
	expect.OK(t, diags.Err())
	var got []string
	for c := range s.Cases() {
		var kinds []string
		for _, sc := range c.Scorers {
			kinds = append(kinds, sc.Kind+":"+sc.Name)
		}
		prompt, err := s.Render(c, c.Arms[0])
		expect.OK(t, err)
		text := eval.TextOf(prompt.Contents[0].Parts[0])
		got = append(got, fmt.Sprintf("%s %v %g %d %v %s", c.Name, c.Tags, *c.Threshold, c.Repeats, kinds, text))
	}
	want := []string{
		"inherits [all default] 0.5 1 [contains:shared contains:] dadb",
		"own [all mine] 0.9 2 [contains: equals:shared] owndb",
	}
	expect.Same(t, "cases", got, want)
}

// Problems that were once accepted in silence.
func TestProblemsAreReported(t *testing.T) {
	t.Parallel()
	head := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"{{.q}}\"}]\ndefaults: {vars: {q: x, e: " +
		"\"\"}, scorers: [{contains: x}]}\n"
	for cases, want := range map[string]string{
		"cases: [{name: {{.q}}}]":                     "quote a text that begins with",
		"cases: [{name: [a]}]":                        "expected a text",
		"cases: [{name: \"\"}]":                       "must not be empty",
		"cases: [{name: \"{{.e}}\"}]":                 "renders to nothing",
		"cases: [{name: a, id: i}, {name: b, id: i}]": "duplicate case id",
		"cases: [{name: a, scorers: [{contains: x, name: m}, {contains: y, name: m}]}]": "two scorers of case `a` are named `m`",
		"cases: [{name: a, vars: {q: \"  \"}}]":                                         "has an empty turn",
		"cases: [{name: a, scorers: [{ignoreCase: true, equls: x}]}]":                   "unknown scorer kind `equls`",
	} {
		_, diags := fromText(head+cases+"\n", suite.Options{})
		var b bytes.Buffer
		_ = diag.Renderer{}.Render(&b, diags)
		if !diags.HasErrors() || !strings.Contains(b.String(), want) {
			t.Errorf("%s:\n%s\nwant %q", cases, b.String(), want)
		}
	}
	_, diags := fromText(head+"cases: [{name: a}]\n", suite.Options{Vars: map[string]string{"qq": "x"}})
	var b bytes.Buffer
	_ = diag.Renderer{}.Render(&b, diags)
	expect.Contains(t, "result", b.String(), "--var qq: the suite uses no such variable")
}

// The place of a byte inside a scalar, whatever its style.
func TestPlacesInsideScalarsAreExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"text: \"a {{.x}}\"":                        "5:16",
		"text: 'it''s {{.x}}'":                      "5:20",
		"text: \"caf\\u00e9 {{.x}}\"":               "5:24",
		"text: &t \"a {{.x}}\"":                     "5:19",
		"text: plain {{.x}}":                        "5:19",
		"text: plain words\n      and then {{.x}}":  "6:18",
		"text: \"quoted words\n      and {{.x}}\"":  "6:13",
		"text: >\n      folded\n      words {{.x}}": "7:15",
		"text: |\n      kept\n        words {{.x}}": "7:17",
		"text: |2\n      kept {{.y}}\n      {{.x}}": "7:9",
	} {
		src := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts:\n  - " + text + "\n    name: p\ncases: [{name: c, vars: {y: " +
			"y}, scorers: [{contains: x}]}]\n"
		_, diags := fromText(src, suite.Options{})
		var got []string
		for _, d := range diags.Sorted() {
			got = append(got, fmt.Sprintf("%d:%d", d.Pos.Line, d.Pos.Col))
		}
		if fmt.Sprint(got) != "["+want+"]" {
			t.Errorf("%s: %v, want %s (%v)", text, got, want, diags.Err())
		}
	}
}

func TestServiceAddressesReadOnlyEvalrunVariables(t *testing.T) {
	t.Parallel()
	text := "version: 1\nname: s\nservice: {baseUrl: \"%s\"}\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: x}]\ncases: " +
		"[{name: c, scorers: [{contains: x}]}]\n"
	getenv := func(name string) string {
		return map[string]string{"EVALRUN_HOST": "svc.invalid", "HOME": "/secret"}[name]
	}
	s, diags := fromText(fmt.Sprintf(text, "https://${env:EVALRUN_HOST}/x"), suite.Options{Getenv: getenv})
	if err := diags.Err(); err != nil || s.Service.BaseURL != "https://svc.invalid/x" {
		t.Errorf("%s %v, want https://svc.invalid/x", s.Service.BaseURL, err)
	}
	for _, bad := range []string{"https://${env:HOME}", "https://${env:EVALRUN_API_KEY}"} {
		if _, diags := fromText(fmt.Sprintf(text, bad), suite.Options{Getenv: getenv}); !diags.HasErrors() {
			t.Errorf("%s is taken, want an error", bad)
		}
	}
	for url, warn := range map[string]bool{
		"http://far.invalid": true, "http://127.0.0.1:8": false, "http://localhost": false, "https://far.invalid": false,
	} {
		if _, diags := fromText(fmt.Sprintf(text, url), suite.Options{}); (diags.Len() > 0) != warn {
			t.Errorf("%s: %d problems, want a warning: %t", url, diags.Len(), warn)
		}
	}
}

func TestEncodedSizeIsWhatIsSent(t *testing.T) {
	t.Parallel()
	contents := []eval.Content{{Role: "user", Parts: []eval.Part{
		eval.TextPart{Text: "<é \"quoted\"\n\u2028 \U0001F600"}, eval.ImagePart{Image: &eval.Image{MIMEType: "image/png", Data: []byte("12345")}},
	}}}
	expect.Same(t, "size", wire.Size(contents), len(wire.Append(nil, contents)))
}

// A problem at the end of a long suite has its own place.
func TestProblemsInLongSuitesHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	suiteOf := func(last string) string {
		return "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"{{.q}}\"}]\ncases:\n" +
			numbered("  - {name: case %[1]d, vars: {q: %[1]d}, scorers: [{contains: Paris}, {not: {contains: London %[1]d}}]}\n", 2999) +
			"  - {name: last, vars: {q: x}, scorers: [" + last + "]}\n"
	}
	for last, want := range map[string]string{
		"{contians: x}":                  "s.yaml:3005:43: unknown scorer kind `contians`",
		"{contains: \"{{.nothing}}\"}":   "s.yaml:3005:56: case `last` has no variable `nothing`",
		"{contains: Paris}, {contains: ": "s.yaml:3005:3: not valid YAML: did not find expected node content",
	} {
		_, diags := fromText(suiteOf(last), suite.Options{})
		if err := diags.Err(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", last, err, want)
		}
	}
}
