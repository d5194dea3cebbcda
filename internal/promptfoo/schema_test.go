package promptfoo

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// published has the lists of testdata/schema.txt by their names.
func published(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/schema.txt")
	expect.OK(t, err)
	out := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		if name, list, is := strings.Cut(line, ": "); is && !strings.HasPrefix(line, "#") {
			out[name] = strings.Fields(list)
		}
	}
	return out
}

// places are configurations with one more key, %s, and the path of the mapping that has it.
var places = map[string]struct{ config, path string }{
	"top":                {head + tail + "%s\n", ""},
	"test":               {head + "tests: [{vars: {a: b}, %s}]\n", "tests[0]."},
	"defaultTest":        {head + tail + "defaultTest: {threshold: 1, %s}\n", "defaultTest."},
	"options":            {head + "tests: [{vars: {a: b}, options: {%s}}]\n", "tests[0].options."},
	"assert":             {head + "tests: [{assert: [{type: equals, value: a, %s}]}]\n", "tests[0].assert[0]."},
	"assertSet":          {head + "tests: [{assert: [{type: assert-set, assert: [{type: cost}], %s}]}]\n", "tests[0].assert[0]."},
	"scenario":           {head + "scenarios: [{%s}]\n", "scenarios[0]."},
	"scenarioConfig":     {head + "scenarios: [{config: [{%s}], tests: [{vars: {a: b}}]}]\n", "scenarios[0].config[0]."},
	"prompt":             {"prompts: [{raw: p, %s}]\nproviders: [echo]\n" + tail, "prompts[0]."},
	"provider":           {"prompts: [p]\nproviders: [{id: echo, %s}]\n" + tail, "providers[0]."},
	"http":               {"prompts: [p]\nproviders: [{id: https, config: {url: 'http://x', %s}}]\n" + tail, "providers[0].config."},
	"evaluateOptions":    {head + tail + "evaluateOptions: {%s}\n", "evaluateOptions."},
	"commandLineOptions": {head + tail + "commandLineOptions: {%s}\n", "commandLineOptions."},
	"derivedMetric":      {head + tail + "derivedMetrics: [{%s}]\n", "derivedMetrics[0]."},
}

const (
	head = "prompts: [p]\nproviders: [echo]\n"
	tail = "tests: [{vars: {a: b}}]\n"
)

// A key is said to be ignored by promptfoo exactly where its schema has no such key.
func TestKeysThatAreIgnoredAreNotInTheSchema(t *testing.T) {
	t.Parallel()
	lists := published(t)
	all := map[string]bool{"nonsense": true, "assertionTemplates": true, "version": true, "name": true}
	for name := range places {
		for _, key := range lists[name] {
			all[key] = true
		}
	}
	for name, place := range places {
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(key string) bool { return strings.Contains(place.config, key+":") })
		separator := map[bool]string{true: "\n", false: ", "}[name == "top"]
		added := strings.Join(keys, ": {odd: 1}"+separator) + ": {odd: 1}"
		im := imported(t, map[string]string{"promptfooconfig.yaml": strings.Replace(place.config, "%s", added, 1)})
		for _, key := range keys {
			i := slices.IndexFunc(im.fates.lines, func(l fateLine) bool { return l.path == place.path+key })
			if i < 0 {
				t.Errorf("%s of %s: got no line, want one", key, name)
				continue
			}
			line := im.fates.lines[i]
			ignored := line.fate.status == statusIgnored
			known := slices.Contains(lists[name], key) && (name != "top" || key != "providers") // `targets` takes their place
			if ignored == known {
				t.Errorf("%s of %s: got %q, want it ignored by promptfoo: %v", key, name, line.words(), !known)
			}
		}
	}
}

// A type is said to be unknown exactly where the schema has no such type.
func TestTypesThatAreUnknownAreNotInTheSchema(t *testing.T) {
	t.Parallel()
	lists := published(t)
	known := slices.Concat(lists["types"], lists["special"])
	for _, name := range slices.Concat(known, slices.Collect(maps.Keys(assertionKinds())), []string{"nonsense", "is-yaml", "contain"}) {
		for _, not := range []string{"", "not-"} {
			config := "prompts: [p]\nproviders: [echo]\ntests: [{assert: [{type: '" + not + name + "', value: a}]}]\n"
			im := imported(t, map[string]string{"promptfooconfig.yaml": config})
			is := slices.Contains(lists["types"], name) || not == "" && slices.Contains(lists["special"], name)
			if unknown := strings.Contains(string(im.files[SuiteFile]), "promptfoo knows no such type"); unknown == is {
				t.Errorf("%s%s: got it unknown: %v, want %v:\n%s", not, name, unknown, !is, im.files[SuiteFile])
			}
		}
	}
}

var update = flag.Bool("update", false, "write the counts into the page about imports")

// The page about imports has the number of types that become scorers, and names the others.
func TestThePageCountsTypes(t *testing.T) {
	t.Parallel()
	lists := published(t)
	types := slices.Sorted(slices.Values(slices.Concat(lists["types"], lists["special"])))
	var unscored []string
	for _, name := range types {
		if assertionKinds()[name].lost != "" {
			unscored = append(unscored, "`"+name+"`")
		}
	}
	const begin = "| types of checks | "
	onPage(t, begin, "\n\n## Where outcomes differ", fmt.Sprintf(
		"%d of the %d of promptfoo 0.121.20 become scorers |\n| types that are always `unscored` | %s |",
		len(types)-len(unscored), len(types), strings.Join(unscored, ", "),
	))
}

var page sync.Mutex // the tests that -update writes by

// onPage wants the page about imports to have a text between two others.
func onPage(t *testing.T, begin, end, want string) {
	t.Helper()
	page.Lock()
	defer page.Unlock()
	const name = "../../docs/how-to/import-promptfoo.md"
	data, err := os.ReadFile(name)
	expect.OK(t, err)
	before, rest, found := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("got nothing between %q and %q, want it on the page", begin, end)
	}
	want = before + begin + want + end + after
	if *update {
		expect.OK(t, os.WriteFile(name, []byte(want), 0o600))
		return
	}
	expect.Same(t, "page; update it with -update", string(data), want)
}
