package promptfoo

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

type testCase struct {
	block    *mapping
	targets  []string  // its only ones
	prompts  []*prompt // its only ones
	comments []string
}

type defaults struct {
	vars      mapping
	scorers   sequence
	tags      *sequence
	threshold yamlValue
	repeats   int
	prefix    string
	suffix    string
	changes   []change // transforms of every answer
	judge     *string  // name of the judge that grades, see scope
	prompt    src      // of judges
	at        src
}

// testKeys are keys of tests that promptfoo knows and no reader handles.
var testKeys = []string{"provider", "providers", "prompts"}

// readDefaults reads defaultTest, which may name a file.
func (c *converter) readDefaults(s src) {
	if s.IsZero() || s.IsNull() {
		s.ok("empty")
		return
	}
	in := c.resolved(s)
	if s.IsScalar() {
		file, ok := c.load(s, s.text())
		if !ok {
			c.unscoredEverywhere("`defaultTest`: " + s.note())
			return
		}
		s.ok("read from the file")
		in = file
		defer c.fates.account(file)
	}
	c.defaults.at = in
	if ref := in.get("$ref"); ref.why() != nil {
		c.unscoredEverywhere("`defaultTest`: " + ref.note())
	}
	c.defaultOptions(in.get("options"))
	for _, e := range in.get("vars").entries() {
		c.setVariable(&c.defaults.vars, e, nil)
	}
	in.get("vars").ok("as `defaults.vars`")
	c.defaults.tags = c.tags(in.get("metadata"))
	if t := in.get("threshold"); !t.IsZero() {
		if c.defaults.threshold = c.share(t, "threshold"); c.defaults.threshold == nil {
			c.unscoredEverywhere("`threshold`: " + t.note())
		}
	}
	scope := &scope{
		changes: c.defaults.changes, judge: c.defaults.judge, prompt: c.defaults.prompt,
		names: &c.metric, weighed: c.defaults.threshold != nil || c.someThreshold(), mixed: c.defaults.threshold == nil,
	}
	c.assertions(&c.defaults.scorers, in.get("assert"), scope)
	c.untested(&c.defaults.scorers, in)
	in.rest(testKeys...)
	in.ok("as `defaults`")
}

// someThreshold reports whether a test may have a threshold, also one of a scenario or in another file.
func (c *converter) someThreshold() bool {
	return c.thresholdIn(c.top.get("tests"), true) || slices.ContainsFunc(c.top.get("scenarios").items(), func(s src) bool {
		return s.IsScalar() || c.thresholdIn(c.resolved(s).get("tests"), true)
	})
}

// thresholdIn reports whether one of several tests may have a threshold. Without open, one in a file may.
func (c *converter) thresholdIn(tests src, open bool) bool {
	return slices.ContainsFunc(tests.items(), func(t src) bool {
		if t.IsScalar() {
			return !open || c.thresholdInFile(t.text())
		}
		t = c.resolved(t)
		return !t.IsMapping() || !t.get("threshold").IsZero() || !t.get("path").IsZero()
	})
}

func (c *converter) thresholdInFile(ref string) bool {
	files, err := c.source.match(ref)
	return err != nil || slices.ContainsFunc(files, func(file string) bool {
		_, data, err := c.source.readText(file)
		if err != nil {
			return true
		}
		switch path.Ext(file) {
		case ".csv", ".tsv", ".jsonl", ".ndjson":
			return strings.Contains(string(data), "threshold")
		case ".yaml", ".yml", ".json":
			n, ok := yaml.Parse(file, data, new(diagList))
			return !ok || c.thresholdIn(src{n, "", file, newFates(&secrets{})}, false)
		}
		return true // a program
	})
}

func (c *converter) defaultOptions(s src) {
	o := c.testOptions(s)
	for _, why := range o.lost {
		c.unscoredEverywhere(why)
	}
	c.defaults.changes, c.defaults.judge, c.defaults.prefix, c.defaults.suffix = o.changes, o.judge, o.prefix, o.suffix
	c.defaults.prompt = o.prompt
	if o.repeats > 0 {
		c.defaults.repeats = o.repeats
	}
}

// unscoredEverywhere leaves every test without a score.
func (c *converter) unscoredEverywhere(why string) {
	c.everywhere.add(c.unscored(why), "TODO: replace this")
}

func (c *converter) share(s src, what string) yamlValue {
	n, ok := number(s)
	if !ok || n < 0 || n > 1 {
		s.todo("a %s is a number from 0 to 1 here", what)
		return nil
	}
	s.ok("as `" + what + "`")
	return literal(s.text())
}

func (c *converter) tests(s src) {
	s.listed("as `cases`")
	for _, item := range s.items() {
		if !c.fates.spend(1) {
			return
		}
		item = c.resolved(item)
		switch {
		case item.IsNull():
			item.ok("empty")
		case item.IsScalar():
			c.testFiles(item, item.text())
		case item.get("$ref").why() != nil:
			c.loseTests(item, item.get("$ref").text(), item.get("$ref").note())
		case !item.get("path").IsZero():
			c.testsAt(item)
		case item.IsMapping():
			c.test(item, nil)
		default:
			c.loseTests(item, item.text(), "expected a test or the name of a file")
		}
	}
}

func (c *converter) testFiles(s src, ref string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(ref, "file://"), ":")
	why := ""
	switch {
	case strings.Contains(strings.TrimPrefix(ref, "file://"), "://"):
		why = "an import fetches nothing; download the tests and name the file"
	case language(name) != "" && !strings.Contains(name, "*"):
		c.testFunction(s, ref, src{})
		return
	}
	files, err := []string(nil), error(nil)
	if why == "" {
		if files, err = c.source.match(ref); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		c.loseTests(s, ref, why)
		return
	}
	s.ok("read from " + strings.Join(files, ", "))
	for _, file := range files {
		c.testFile(s, file)
	}
}

func (c *converter) testFile(s src, name string) {
	if language(name) != "" {
		c.testFunction(s, name, src{})
		return
	}
	switch path.Ext(name) {
	case ".csv", ".tsv":
		c.csvTests(s, name)
	case ".jsonl", ".ndjson":
		c.lineTests(s, name)
	case ".yaml", ".yml", ".json":
		file, ok := c.load(s, name)
		if !ok {
			c.loseTests(s, name, s.note())
			return
		}
		c.tests(file)
		c.fates.account(file)
	default:
		c.loseTests(s, name, "tests are read from .csv, .tsv, .jsonl, .json and .yaml")
	}
}

// loseTests leaves a case that is an error in the place of tests, so that the rest of the suite does not pass for the whole.
func (c *converter) loseTests(s src, ref, why string) {
	c.loseCase(s, "tests of "+cut(diag.CleanLine(ref), 150), why)
}

func (c *converter) loseCase(s src, what, why string) {
	c.lose(s, what, why)
	m := new(mapping).set("name", textValue(c.caseName(what))).set("scorers", listOf([]yamlValue{c.unscored(why)}))
	c.missing = append(c.missing, &testCase{block: m})
}

// test makes a case for each combination of the values of its variables. with has variables from around the
// test.
func (c *converter) test(s src, with *mapping) {
	o := c.testOptions(c.resolved(s.get("options")))
	m := &mapping{}
	t := &testCase{block: m}
	title := s.get("description")
	m.set("name", textValue(c.caseName(cmp.Or(title.text(), fmt.Sprintf("test %d", len(c.cases)+1)))))
	title.ok("as the case's name")
	of := c.resolved(s.get("vars"))
	vars, matrix := c.variables(of, with, o.whole)
	o.lost = append(o.lost, append(lostVariables(of, src{}), c.fillIn(vars, matrix)...)...)
	for name, text := range map[string]string{prefixVariable: o.prefix, suffixVariable: o.suffix} {
		if text != "" {
			vars.set(name, textValue(text))
			c.columns[len(c.columns)-1][name], c.affixes[name] = true, true
		}
	}
	if !vars.empty() {
		m.set("vars", vars)
	}
	if !matrix.empty() {
		m.set("matrix", matrix)
	}
	if tags := c.tags(s.get("metadata")); tags != nil {
		m.set("tags", tags)
	}
	o.lost = append(o.lost, c.testArms(t, s)...)
	o.lost = append(o.lost, c.ofScenario...)
	if th := s.get("threshold"); !th.IsZero() {
		if v := c.share(th, "threshold"); v != nil {
			m.set("threshold", v)
		} else {
			o.lost = append(o.lost, "`threshold`: "+th.note())
		}
	}
	if o.repeats > 0 {
		m.set("repeats", integer(o.repeats))
	}
	if o.alone {
		m.set("inheritScorers", literal("false"))
	}
	c.testScorers(t, s, o)
	s.rest(testKeys...)
	s.ok("as the case")
	c.cases = append(c.cases, t)
}

// lostVariables says which variables of a test cannot be imported. Those in over win.
func lostVariables(of, over src) (lost []string) {
	for _, part := range append(of.items(), of.get("$ref")) {
		if part.why() != nil && !part.IsMapping() {
			lost = append(lost, "`vars`: "+part.note())
		}
	}
	for _, e := range of.entries() {
		for _, part := range append(e.items(), e.src) {
			if part.why() != nil && over.get(e.key).IsZero() { // else the variable of defaultTest would take its place
				lost = append(lost, "the variable `"+diag.CleanLine(e.key)+"`: "+part.note())
				break
			}
		}
	}
	return lost
}

func (c *converter) testScorers(t *testCase, s src, o options) {
	scorers := &sequence{}
	sc := &scope{changes: o.changes, judge: cmp.Or(o.judge, c.defaults.judge), prompt: o.prompt, names: &names{outer: &c.metric}}
	if sc.prompt.IsZero() {
		sc.prompt = c.defaults.prompt
	}
	if len(o.changes) == 0 {
		sc.changes = c.defaults.changes
	}
	sc.typed, sc.about = typedIn(s.get("vars"), c.defaults.at.get("vars")), s.get("metadata")
	asserts, alone := c.asserts(t, s)
	sc.weighed = alone || c.defaults.threshold != nil || !s.get("threshold").IsZero()
	c.assertions(scorers, asserts, sc)
	c.untested(scorers, s)
	checked := slices.Clone(asserts.items())
	all := slices.Clone(scorers.items)
	if !o.alone {
		checked, all = append(checked, c.defaults.at.get("assert").items()...), append(all, c.defaults.scorers.items...)
	}
	checked = slices.DeleteFunc(checked, src.IsNull) // a key without a value
	if sc.weighed && len(checked) > 0 && !slices.ContainsFunc(all, element.counts) {
		o.lost = append(o.lost, "no check has a weight: promptfoo's score is 0, which is below the threshold")
	}
	for _, why := range o.lost {
		scorers.add(c.unscored(why), "TODO: replace this")
	}
	if scorers.empty() && (c.defaults.scorers.empty() || o.alone) {
		anyAnswer(scorers)
	}
	if len(scorers.items) > 0 {
		t.block.set("scorers", scorers)
	}
}

// asserts returns the assertions of a test, or those of its only set, whose threshold becomes that of the case.
func (c *converter) asserts(t *testCase, s src) (asserts src, alone bool) {
	asserts = s.get("assert")
	set, alone := c.loneSet(s)
	if alone {
		t.block.set("threshold", literal(set.get("threshold").text()), "of the set, in which scores between 0 and 1 count")
		set.get("metric").differs("not kept: the case itself is the set")
		for _, part := range []src{set, set.get("type"), set.get("threshold"), set.get("assert"), asserts} {
			part.ok("as `threshold` and `scorers` of the case")
		}
		set.rest(setKeys...)
		asserts = set.get("assert")
	}
	return asserts, alone
}

// counts reports whether a threshold counts the score of a scorer.
func (e element) counts() bool {
	m, is := e.value.(*mapping)
	return is && m.get("weight") != literal("0")
}

// loneSet returns the only assertion of a test, a set with a threshold in which scores between 0 and 1 count.
func (c *converter) loneSet(s src) (set src, alone bool) {
	items := s.get("assert").items()
	if len(items) != 1 || !s.get("threshold").IsZero() || c.defaults.threshold != nil || !c.defaults.scorers.empty() {
		return src{}, false
	}
	set = items[0]
	if !c.top.get("derivedMetrics").IsZero() && !set.get("metric").IsZero() {
		return src{}, false // they may name it
	}
	share, ok := number(set.get("threshold"))
	scored := slices.ContainsFunc(set.get("assert").items(), func(item src) bool {
		kind := strings.TrimPrefix(item.get("type").text(), "not-")
		return (assertionKinds()[kind].code || gradedKinds.matches(kind)) && !weightless(item)
	})
	return set, scored && ok && share > 0 && share <= 1 && set.get("type").text() == "assert-set" && set.get("weight").IsZero()
}

// gradedKinds matches checks with scores between 0 and 1.
var gradedKinds = pattern{expression: `^(llm-rubric|g-eval|factuality|model-graded|answer-|context-|similar|rouge|bleu|gleu)`}

// untested makes a test an error for keys that change what it tests and have no counterpart.
func (c *converter) untested(to *sequence, s src) {
	for _, key := range slices.Sorted(maps.Keys(testTODO)) {
		if f := s.get(key); !f.IsZero() {
			c.lost(to, f, key, testTODO[key])
		}
	}
}

var testTODO = map[string]string{
	"assertScoringFunction": "a function of its own for the score has no counterpart; `metrics` compute with named scorers",
	"providerOutput":        "an answer that is given: `evalrun run --answers FILE` takes such answers",
}

// anyAnswer makes a test without assertions pass for any answer.
func anyAnswer(to *sequence) {
	to.add(one("expr", textValue("true")), "no assertion: any answer passes, as in promptfoo")
}

// caseName returns an unused name on one line, without templates.
func (c *converter) caseName(text string) string {
	base := strings.TrimSpace(cut(strings.Join(strings.Fields(diag.CleanLine(text)), " "), 150))
	return escapeText(c.caseNames.free(cmp.Or(base, "test"), " "))
}

// testArms limits a case to providers and prompts. lost says which of them the suite has not.
func (c *converter) testArms(t *testCase, s src) (lost []string) {
	providers := s.get("providers").items()
	if p := s.get("provider"); !p.IsZero() {
		providers = append(providers, p)
	}
	t.targets, lost = c.targetsOf(t, providers)
	s.get("providers").ok("as `arms`")
	for _, item := range s.get("prompts").items() {
		named := c.promptsNamed(item.text())
		if len(named) == 0 {
			item.todo("no prompt has this label or id")
			lost = append(lost, "`prompts`: "+item.note())
		}
		t.prompts = append(t.prompts, named...)
		item.ok("as `arms`")
	}
	s.get("prompts").ok("as `arms`")
	if len(t.targets)+len(t.prompts) > 0 && len(lost) == 0 {
		t.block.set("arms", &sequence{}) // addCases fills it in, when the prompts have names
	}
	return lost
}

// armsOf lists the arms of a test, whose prompts have their names now.
func (c *converter) armsOf(t *testCase) (arms []string) {
	if len(t.prompts) == 0 {
		for _, target := range t.targets {
			arms = append(arms, target+"/*")
		}
		return arms
	}
	for _, p := range t.prompts {
		for _, made := range p.made {
			if len(t.targets) == 0 {
				arms = append(arms, "*/"+made.name)
			}
			for _, target := range made.to {
				if slices.Contains(t.targets, target.name) {
					arms = append(arms, target.name+"/"+made.name)
				}
			}
		}
	}
	slices.Sort(arms)
	return slices.Compact(arms)
}

func (c *converter) promptsNamed(ref string) []*prompt {
	found, known := c.byRef[ref]
	if known || !c.fates.spend(len(c.prompts)/100) {
		return found
	}
	for _, p := range c.prompts {
		if p.answers(ref) {
			found = append(found, p)
		}
	}
	c.byRef[ref] = found
	return found
}

func (c *converter) targetsOf(t *testCase, providers []src) (targets, lost []string) {
	for _, p := range providers {
		id := cmp.Or(p.text(), p.get("id").text())
		if names := c.targetsNamed(id); len(names) > 0 {
			targets = append(targets, names...)
			p.ok("as `arms`")
			continue
		}
		p.todo("a provider of one test has to be a target of the suite; add it to `targets` and name it in `arms`")
		lost = append(lost, "`provider`: "+p.note())
		t.comments = append(t.comments, "TODO: add "+diag.CleanLine(id)+" to `targets` and name it in `arms`")
	}
	return targets, lost
}

// targetsNamed returns the targets that a provider's id or label means.
func (c *converter) targetsNamed(ref string) (out []string) {
	for _, t := range c.targets {
		if slices.ContainsFunc(t.names, func(name string) bool { return refersTo(ref, name) }) {
			out = append(out, t.name)
		}
	}
	return out
}

// refersTo reports whether a reference means a name: itself, the part before a colon, or what a `*` at the end stands for.
func refersTo(ref, name string) bool {
	before, star := strings.CutSuffix(ref, "*")
	return name != "" && ref != "" && (name == ref || strings.HasPrefix(name, ref+":") || star && strings.HasPrefix(name, before))
}

func (c *converter) tags(s src) *sequence {
	if !s.IsMapping() {
		return nil
	}
	out := &sequence{}
	for _, e := range s.entries() {
		for _, item := range e.items() {
			if text := item.text(); text != "" {
				out.add(textValue(tagOf(e.key, text)))
			} else {
				item.differs("left out: a tag is a text")
			}
		}
		e.differs("as tags of the form KEY:VALUE, for `--tag`")
	}
	if out.empty() {
		return nil
	}
	s.differs("as tags of the form KEY:VALUE, for `--tag`")
	return out
}

// oneTest makes the single test that promptfoo runs for a configuration without tests.
func (c *converter) oneTest() {
	scorers := &sequence{}
	if c.defaults.scorers.empty() {
		anyAnswer(scorers)
	}
	m := new(mapping).set("name", textValue(c.caseName("prompt as it is")))
	if !scorers.empty() {
		m.set("scorers", scorers)
	}
	c.cases = append(c.cases, &testCase{block: m, comments: []string{"promptfoo runs each prompt once when there are no tests"}})
	c.columns = append(c.columns, map[string]bool{})
}

// scenarios makes tests for each of several sets of variables.
func (c *converter) scenarios(s src) {
	if s.IsMapping() {
		s.ok("as `cases`")
	}
	s.listed("as `cases`")
	for _, item := range s.items() {
		item = c.resolved(item)
		if item.IsScalar() {
			file, ok := c.load(item, item.text())
			if !ok {
				c.loseTests(item, item.text(), item.note())
				continue
			}
			item.ok("read from the file")
			c.scenarios(file)
			c.fates.account(file)
			continue
		}
		item.get("description").differs("not kept")
		configs, tests := c.opened(item.get("config")), c.opened(item.get("tests"))
		for _, part := range append(item.get("config").items(), item.get("tests").items()...) {
			if part.IsScalar() && part.why() != nil {
				c.loseTests(part, part.text(), part.note())
			}
		}
		c.products += len(configs) * len(tests) // both are bounded by the size of files
		if problem, _ := eval.TooManyTrials(c.products, c.maxTrials); problem != "" {
			return // Read reports it
		}
		for _, data := range configs {
			of := c.resolved(data.get("vars"))
			with, _ := c.variables(of, nil, true)
			c.columns = c.columns[:len(c.columns)-1] // a scenario is not a case
			c.scenario(data)
			ofAll := c.ofScenario
			for _, test := range tests {
				c.ofScenario = slices.Concat(ofAll, lostVariables(of, c.resolved(test.get("vars"))))
				if c.test(test, with); !c.fates.spend(1) {
					return
				}
			}
			c.ofScenario = nil
		}
		item.get("config").ok("as `vars` of its tests")
		item.get("tests").ok("as cases")
		item.rest()
	}
}

// scenario notes the keys of a scenario's data that would change its tests and have no counterpart.
func (c *converter) scenario(data src) {
	data.ok("in each of its tests")
	checks := []string{"assert", "options", "threshold", "providerOutput", "assertScoringFunction"}
	data.rest(slices.Concat(testKeys, checks, []string{"metadata", "description"})...)
	for _, key := range append(checks, testKeys...) {
		if of := data.get(key); of.why() != nil {
			c.ofScenario = append(c.ofScenario, "`"+key+"` of the scenario: "+of.note())
		}
	}
}

// opened returns the items of a list. It replaces names of files by the items in these files.
func (c *converter) opened(s src) (out []src) {
	for _, item := range s.items() {
		if !item.IsScalar() {
			out = append(out, c.resolved(item))
			continue
		}
		if file, ok := c.load(item, item.text()); ok {
			item.ok("read from the file")
			out = append(out, file.items()...)
			defer c.fates.account(file)
		}
	}
	return out
}

// filled gives a case that is only an error some text for each variable, so that it loads.
func (c *converter) filled(t *testCase) *testCase {
	vars := &mapping{}
	for _, name := range slices.Sorted(maps.Keys(c.uses)) {
		vars.set(name, textValue("missing"))
	}
	if slices.ContainsFunc(c.prompts, func(p *prompt) bool { return p.function != nil }) {
		vars.set(notImported, textValue("true"), "the functions that make prompts are not called for this case")
	}
	if !vars.empty() {
		t.block.set("vars", vars)
	}
	return t
}

func (c *converter) addDefaults(out *mapping) {
	d := &mapping{}
	if c.defaults.repeats > 1 {
		d.set("repeats", integer(c.defaults.repeats))
	}
	if !c.defaults.vars.empty() {
		d.set("vars", &c.defaults.vars)
	}
	if c.defaults.tags != nil {
		d.set("tags", c.defaults.tags)
	}
	if c.defaults.threshold != nil {
		d.set("threshold", c.defaults.threshold)
	}
	c.defaults.scorers.items = append(c.defaults.scorers.items, c.everywhere.items...)
	if len(c.defaults.scorers.items) > 0 {
		d.set("scorers", &c.defaults.scorers)
	}
	if !d.empty() {
		out.set("defaults", d)
	}
}

func (c *converter) addCases(out *mapping) {
	c.addDefaults(out)
	all := &sequence{}
	if len(c.cases)+len(c.sets) > 0 { // else the suite has no case, and is refused
		for _, t := range c.missing {
			c.cases = append(c.cases, c.filled(t))
		}
	}
	for _, t := range c.cases {
		if t.block.get("arms") != nil {
			arms := c.armsOf(t)
			if len(arms) == 0 {
				all.note("the test " + t.block.text("name") + " runs on no prompt of its providers")
				continue
			}
			t.block.replace("arms", texts(arms...))
		}
		if own, is := t.block.get("scorers").(*sequence); is && t.block.get("inheritScorers") != nil {
			own.items = append(own.items, c.everywhere.items...)
		}
		all.add(t.block, t.comments...)
	}
	for _, s := range c.sets {
		all.add(s)
	}
	if all.empty() {
		all.note("TODO: no test could be imported; write a case here")
	}
	out.set("cases", all)
}
