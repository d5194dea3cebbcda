package promptfoo

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// converter collects the parts of the suite while it reads the configuration.
type converter struct {
	source *configSource
	fates  *fates
	files  map[string][]byte
	shims  *shims

	head       mapping // description, tags and other keys at the beginning
	services   services
	targets    []*target
	prompts    []*prompt
	judges     judges
	graders    map[string]*mapping // programs of the author that judge
	details    bool                // some check looks at what a provider returns besides its output
	embeds     string              // the embedding service, "" if no scorer needs embeddings
	embedder   string              // its model
	unembedded string              // why the embedding of the source has no counterpart, "" if it has one
	cases      []*testCase
	missing    []*testCase     // for tests that cannot be imported
	broken     map[string]bool // variables whose values cannot be imported
	affixes    map[string]bool // which of prefixVariable and suffixVariable some test has
	everywhere sequence        // scorers of every test
	ofScenario []string        // why the tests of the scenario at hand are other ones
	sets       []*mapping      // datasets and programs that write tests
	generators []*function     // those programs
	defaults   defaults
	limits     mapping
	tail       mapping // TODOs without a place
	metrics    mapping
	prices     *mapping
	unpriced   *string              // the first model without a price, "" if all have one; nil until some test needs prices
	own        map[string][2]string // prices in the configuration, by model
	priced     map[string]*target   // the targets whose configuration has these prices
	top        src

	uses      map[string]bool       // variables in templates
	lists     map[string]bool       // those of them that templates go through
	members   map[string][][]string // paths below variables in templates
	columns   []map[string]bool     // variables of each case or dataset
	tables    []map[string]bool     // those of datasets
	caseNames names
	texts     map[string]bool // variables that some test has as a text
	typed     map[string]bool // variables that some test has as a number or a boolean
	json      map[string]bool // variables that some test has as a text that may be a list or a mapping in JSON
	maxTrials int             // 0 is the default of suites
	products  int             // tests that scenarios multiply

	outer  map[string]string // by file, the file that refers to it
	opens  int               // number of files read
	metric names             // of the defaults' scorers

	targetNames, promptNames, metricNames, dataNames, templateNames, configNames names

	fetch  func(address string) (data []byte, ending string, err error) // nil: nothing is fetched
	images map[string]string                                            // files of images by their addresses

	byRef     map[string][]*prompt // prompts by references to them
	inlined   map[string]string    // files with inline code, by their kind, ending and content
	templates map[string]string    // files with prompts of judges, by judge and content
	codeNames map[string]int       // the highest number of a file of code, by kind and ending
}

func newConverter(s *configSource) *converter {
	return &converter{
		source:    s,
		fates:     newFates(&secrets{}),
		files:     map[string][]byte{},
		shims:     &shims{},
		uses:      map[string]bool{},
		lists:     map[string]bool{},
		members:   map[string][][]string{},
		texts:     map[string]bool{},
		typed:     map[string]bool{},
		json:      map[string]bool{},
		byRef:     map[string][]*prompt{},
		images:    map[string]string{},
		inlined:   map[string]string{},
		templates: map[string]string{},
		codeNames: map[string]int{},
		broken:    map[string]bool{},
		affixes:   map[string]bool{},
		outer:     map[string]string{},
		graders:   map[string]*mapping{},
		judges:    judges{blocks: map[string]string{}, byName: map[string]*mapping{}},
		services:  services{all: map[string]*mapping{}, blocks: map[string]string{}},
	}
}

func (c *converter) at(n yaml.Node) src { return src{n, "", "", c.fates} }

// configKeys are keys of a configuration that no reader handles.
var configKeys = []string{
	"env", "extensions", "metadata", "nunjucksFilters", "outputPath", "redteam", "sharing", "tracing", "writeLatestResults", "$schema",
}

func (c *converter) config(top src) {
	c.top = top
	c.describe(top)
	c.providers(top)
	c.readDefaults(top.get("defaultTest"))
	c.readPrompts(top.get("prompts"))
	c.tests(top.get("tests"))
	c.scenarios(top.get("scenarios"))
	if len(c.cases)+len(c.sets) == 0 && top.get("tests").IsZero() && top.get("scenarios").IsZero() {
		c.oneTest()
	}
	c.derived(top.get("derivedMetrics"))
	c.options(top.get("evaluateOptions"), evaluateOptions)
	c.options(top.get("commandLineOptions"), commandLineOptions)
	c.environment(top.get("env"))
	c.setApart(top)
	top.rest(configKeys...)
}

func (c *converter) describe(top src) {
	if d := top.get("description"); !d.IsZero() {
		c.head.set("description", textValue(d.text()))
		d.ok("as `description`")
	}
	if tags := top.get("tags"); tags.IsMapping() {
		out := &sequence{}
		for _, e := range tags.entries() {
			out.add(textValue(tagOf(e.key, e.text())))
			e.differs("as the tag %q", tagOf(e.key, e.text()))
		}
		c.head.set("tags", out)
		tags.ok("as `tags`")
	}
}

func tagOf(key, value string) string {
	out := strings.ReplaceAll(key+":"+value, ",", ";") // commas separate the tags in a column
	return strings.TrimSpace(diag.CleanLine(cut(out, 80)))
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}

// apart has the top-level keys without a counterpart, with the reason.
var apart = map[string]string{
	"redteam":         "evalrun generates no attacks; export generated ones as `tests` and import those",
	"plugins":         "evalrun generates no attacks",
	"strategies":      "evalrun generates no attacks",
	"extensions":      "an import runs no hooks; set things up before `evalrun run`",
	"nunjucksFilters": "templates have a fixed set of functions; compute such values into variables",
	"tracing":         "evalrun sends a traceparent with every attempt; spans are not collected",
}

func (c *converter) setApart(top src) {
	for _, key := range slices.Sorted(maps.Keys(apart)) {
		if s := top.get(key); !s.IsZero() {
			c.lose(s, "`"+key+"`", apart[key])
			if key == "redteam" && top.get("tests").IsZero() && top.get("scenarios").IsZero() {
				c.unscoredEverywhere("`redteam`: " + apart[key])
			}
		}
	}
	if s := top.get("outputPath"); !s.IsZero() {
		s.differs("a flag: `evalrun run %s %s`", SuiteFile, outputFlags(s))
		c.head.note("promptfoo wrote its results to a file: evalrun run " + SuiteFile + " " + outputFlags(s))
	}
	top.get("sharing").differs("results stay on this machine; `evalrun view` shows them")
	top.get("writeLatestResults").differs("every run is kept in its directory")
	top.get("metadata").differs("labels of runs are flags")
	top.get("$schema").ignored("for editors")
}

// lose marks a value as not expressible, and leaves a comment at the end of the suite.
func (c *converter) lose(s src, what, why string) {
	s.todo("%s", why)
	c.tail.note("TODO: " + what + ": " + why)
}

// OutputFormats are the reports in place of those that promptfoo writes, by the ending of the file; "" is for any other.
func OutputFormats() map[string]string {
	return map[string]string{
		".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".html": "html", ".xml": "junit", ".yaml": "json", ".yml": "json",
		".txt": "table", "": "json",
	}
}

func outputFlags(s src) string {
	formats := OutputFormats()
	var out []string
	for _, item := range s.items() {
		format := cmp.Or(formats[path.Ext(item.text())], formats[""])
		out = append(out, "-o "+format+"="+diag.CleanLine(item.text()))
	}
	return strings.Join(out, " ")
}

// text translates a template. A template without a counterpart becomes "", and is reported as not
// expressible.
func (c *converter) text(s src, d dialect) (string, bool) { return c.template(s, s.text(), d) }

// template translates a template and records the variables in it.
func (c *converter) template(s src, text string, d dialect) (string, bool) {
	d.typed = c.typed
	if d.env == nil {
		d.env = c.envInText
	}
	t, err := d.translate(text)
	if err == nil {
		err = d.check(t.text)
	}
	if err != nil {
		s.todo("%s", err)
		return "", false
	}
	for _, v := range t.uses {
		c.uses[v] = true
	}
	for _, m := range memberOf.regexp().FindAllStringSubmatch(t.text, -1) {
		c.members[m[1]] = append(c.members[m[1]], strings.Split(m[2], ".")[1:])
	}
	for _, m := range overVariable.regexp().FindAllStringSubmatch(t.text, -1) {
		c.lists[m[1]] = true
	}
	for _, n := range t.notes {
		s.differs("%s", n)
	}
	return t.text, true
}

var overVariable = pattern{expression: `\{\{-? *range [^}]*:= \.(\w+) *-?\}\}`}

var memberOf = pattern{expression: `[ ({]\$?\.(\w+)((?:\.\w+)+)`}

// check reports whether evalrun accepts a translated template.
func (d dialect) check(text string) error {
	parse := expr.Dialect{Functions: slices.Collect(maps.Values(d.functions))}
	if _, err := parse.Parse(text); err != nil {
		return fmt.Errorf("the template has no counterpart: %w", err)
	}
	return nil
}

// missingVariables gives an empty value to variables that some case lacks, because promptfoo renders them
// as empty.
func (c *converter) missingVariables() {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(c.uses)) {
		if c.defaults.vars.get(name) == nil && !c.broken[name] &&
			slices.ContainsFunc(c.columns, func(has map[string]bool) bool { return !has[name] }) {
			missing = append(missing, name)
		}
	}
	for i, name := range missing {
		var why []string
		if i == 0 {
			why = []string{"a variable that a test lacks is empty, as in promptfoo"}
		}
		empty := yamlValue(textValue(""))
		switch {
		case c.lists[name]:
			empty = listOf(nil)
		case len(c.members[name]) > 0:
			empty = emptyMembers(c.members[name])
		}
		c.defaults.vars.set(name, empty, why...)
	}
}

// emptyMembers is a mapping in which each path leads to an empty text.
func emptyMembers(paths [][]string) *mapping {
	out := &mapping{}
	for _, path := range paths {
		at, last := out, len(path)-1
		for _, name := range path[:last] {
			inner, is := at.get(name).(*mapping)
			if !is {
				inner = &mapping{}
				at.entries = slices.DeleteFunc(at.entries, func(e keyValue) bool { return e.key == name })
				at.set(name, inner)
			}
			at = inner
		}
		if at.get(path[last]) == nil {
			at.set(path[last], textValue(""))
		}
	}
	return out
}

func (c *converter) suite(config string) []byte {
	var w writer
	w.comments(0, []string{
		"Imported from " + filepath.Base(
			config,
		) + " by `evalrun import promptfoo`; " + ReportFile + " has a line for each of its keys.",
		"TODO marks what a suite cannot express; other comments say what differs.",
	})
	out := new(mapping).set("version", integer(1)).
		set("name", textValue(plainName(c.suiteName(config), "imported")))
	out.entries = append(out.entries, c.head.entries...)
	c.parseBodies()
	c.fillHosts()
	c.testsFile()
	c.passDetails()
	c.addServices(out)
	c.addTargets(out)
	c.addPrompts(out)
	c.judges.addTo(out)
	c.missingVariables()
	c.addCases(out)
	if !c.metrics.empty() || len(c.metrics.entries) > 0 {
		addBlock(out, "metrics", &c.metrics)
	}
	addBlock(out, "limits", &c.limits)
	if c.prices != nil {
		out.set("prices", textValue(pricesFile), "these are the prices that the configuration names or promptfoo has; check them")
		c.files[pricesFile] = c.priceList()
	}
	c.fates.secrets.outOfValue(out)
	w.mapping(out, 0)
	w.rest(c.tail.entries, 0)
	c.unusedCode(w.String())
	return []byte(w.String())
}

func addBlock(out *mapping, key string, m *mapping) {
	switch {
	case !m.empty():
		out.set(key, m)
	case len(m.entries) > 0:
		out.entries = append(out.entries, m.entries...)
	}
}

// suiteName returns the name of the configuration's folder.
func (c *converter) suiteName(config string) string {
	abs, err := filepath.Abs(config)
	if err != nil {
		return "imported"
	}
	return filepath.Base(filepath.Dir(abs))
}
