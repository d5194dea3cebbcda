package suite

import (
	"cmp"
	"iter"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

var (
	plainName = pattern(`^[A-Za-z0-9._-]+$`)
	modelID   = pattern(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	// anyModelID matches the model ids of named services, which may come from any vendor.
	anyModelID = pattern(`^[A-Za-z0-9@][A-Za-z0-9._:/@+-]*$`)
	envRef     = pattern(`\$\{env:([^}]*)\}`)
)

// pattern compiles an expression when it is first used.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// loader walks the file from top to bottom.
type loader struct {
	*Suite
	diags        *diag.List
	roots        []yaml.Map               // roots of the included files, and last that of the suite
	names        []string                 // names of the arms
	used         map[string]bool          // variables that templates use; see usage.go
	broken       []*Prompt                // prompts with templates that cannot be parsed
	unstreamed   map[diag.Pos]*unstreamed // scorers that need streams, by position
	stream       bool                     // default of `stream` for targets
	sets         map[string]*scorerSet
	equal        map[string]*Scorer // scorers that entries share, by what they read; see known
	classified   *scorerDef         // the scorer that the `classification` block adds
	unspoken     []string           // parts of prompts that a protocol cannot express and that were reported
	programNodes []programNode
	verbatim     bool // texts are data that a program wrote, and no templates
}

// promptfooKey is a key that a promptfoo configuration has, and a suite has not; "" in a suite that has a stray one.
func promptfooKey(m yaml.Map) string {
	for _, key := range []string{"providers", "defaultTest", "tests", "assert"} {
		if m.Has(key) && !m.Has("version") && !m.Has("targets") && !m.Has("cases") {
			return key
		}
	}
	return ""
}

func (l *loader) load(root yaml.Node) {
	m := root.Map(suiteBlock().Names()...)
	if !root.IsMapping() {
		return
	}
	if m.Has("rules") && !m.Has("targets") {
		*l.diags = diag.List{}
		m.Key("rules").Errorf(
			"give it with an equals sign: --emulator="+l.File,
			"this is a script for the emulator, not a suite",
		)
		return
	}
	if key := promptfooKey(m); key != "" {
		*l.diags = diag.List{}
		m.Key(key).Errorf("make a suite of it: evalrun import promptfoo "+l.File, "this is a promptfoo configuration, not a suite")
		return
	}
	m = m.Corrected(suiteBlock().Names())
	l.roots = append(l.include(m), m)
	if v := m.Need("version"); !v.IsZero() && v.Str() != "1" {
		v.Errorf("write `version: 1`", "this evalrun reads suites of version 1, not %s", v.Str())
	}
	l.Name = nameOf(m.Need("name"))
	l.Description = m.Get("description").Str()
	l.Tags = m.Get("tags").Strings()
	l.service(m.Get("service"))
	l.services(m.Get("services"))
	l.stream = m.Get("stream").Bool()
	l.targets()
	l.prompts()
	if l.tooMany() {
		return
	}
	l.makeArms()
	l.embedding(m)
	l.judges()
	l.limits(m.Get("limits"))
	l.prices(m.Get("prices"))
	l.gate(m.Get("gate"))
	l.scorerSets()
	l.classification(m.Get("classification"))
	l.readDefaults()
	l.readCases()
	l.checkJudges()
	l.checkServices()
	l.unusedSets()
	l.metrics(m.Get("metrics"))
	l.checkMetrics(m.Get("gate"))
	l.shownFiles()
}

func nameOf(n yaml.Node) string {
	if n.IsZero() {
		return ""
	}
	name := n.Str()
	if n.IsScalar() && !n.IsNull() && !plainName().MatchString(name) {
		n.Errorf("letters, digits, `.`, `_` and `-` are allowed", "`%s` is not a name", name)
	}
	return name
}

func apiVersion(n yaml.Node) string { return n.Word(wire.APIVersions...) }

func checkModelID(n yaml.Node, id string) {
	if n.IsScalar() && !n.IsNull() && !modelID().MatchString(id) {
		if prefix, _, found := strings.Cut(id, ":"); found && wire.VendorNamed(prefix) != nil {
			n.Errorf(
				"leave the address out, or write `vendor: "+prefix+"` at the model",
				"`%s:` names no vendor here, because the service without a name has an address "+
					"(--base-url, EVALRUN_BASE_URL or `service`)",
				prefix,
			)
			return
		} else if found {
			n.Errorf(
				cmp.Or(diag.DidYouMean(prefix, wire.VendorNames()), "evalrun vendors lists them"),
				"there is no vendor `%s`", diag.CleanLine(prefix),
			)
			return
		}
		id := strings.TrimPrefix(id, "models/")
		if !modelID().MatchString(id) {
			id = "svc-pro"
		}
		n.Errorf("write the model's id, without `models/`: "+id, "`%s` is not a model id", n.Str())
	}
}

// maxModelID bounds the ids of models, of which those with paths and accounts are the longest.
const maxModelID = 1000

func checkModel(n yaml.Node, id string, of *NamedService) {
	switch {
	case len(id) > maxModelID:
		n.Errorf("write the id alone", "the id of a model has at most %d bytes, and this one has %d", maxModelID, len(id))
	case of.speaks() == eval.Generative:
		checkModelID(n, id)
	case id != "":
		checkAnyModelID(n, id)
	}
}

// checkAnyModelID reports a text that is the id of no vendor's model.
func checkAnyModelID(n yaml.Node, id string) {
	if n.IsScalar() && !n.IsNull() && !anyModelID().MatchString(id) {
		n.Errorf("such as gpt-4o-mini, llama3.2:3b or vendor/model", "`%s` is not a model id", diag.CleanLine(id))
	}
}

// checkVersion reports an API version for a service whose addresses have none.
func (l *loader) checkVersion(m yaml.Map, of *NamedService) {
	if m.Has("apiVersion") && !of.HasVersions() {
		m.Key("apiVersion").Errorf("remove it", "the service `%s` has no API versions that could be chosen", of.Name)
	}
}

func (l *loader) embedding(root yaml.Map) {
	l.Embedding = Embedding{Model: eval.DefaultEmbeddingModel, Pos: diag.Pos{File: l.File}}
	n := root.Get("embedding")
	if n.IsZero() {
		return
	}
	m := n.Map(embeddingBlock().Names()...)
	model := m.Need("model")
	of, id := l.place(m, model)
	checkModel(model, id, of)
	l.checkVersion(m, of)
	l.checkEmbeds(m.Get("service"), of)
	if known := of.NamedModel(id); known != nil && !known.Supports(wire.MethodEmbed) {
		model.Errorf("such as "+eval.DefaultEmbeddingModel, "the model `%s` makes no embeddings", known.ID())
	}
	l.Embedding = Embedding{Model: id, APIVersion: apiVersion(m.Get("apiVersion")), Service: of, Pos: model.Pos()}
}

func unique(seen map[string]diag.Pos, name yaml.Node, what string) bool {
	if !name.IsScalar() {
		return false
	}
	if first, twice := seen[name.Str()]; twice {
		name.Errorf("", "duplicate %s name `%s`, first %s", what, name.Str(), first.SeenFrom(name.Pos()))
		return false
	}
	seen[name.Str()] = name.Pos()
	return true
}

func safetySettings(n yaml.Node) []eval.SafetySetting {
	var out []eval.SafetySetting
	seen := map[string]diag.Pos{}
	for _, item := range n.Seq() {
		m := item.Map(safetyBlock().Names()...)
		if !item.IsMapping() {
			continue
		}
		category, threshold := m.Need("category"), m.Need("threshold")
		warnUnknown(category, "category", wire.Categories)
		warnUnknown(threshold, "threshold", wire.Thresholds)
		if unique(seen, category, "safety category") {
			out = append(out, eval.SafetySetting{Category: category.Str(), Threshold: threshold.Str()})
		}
	}
	return out
}

func warnUnknown(n yaml.Node, what string, known []string) {
	if n.IsZero() || slices.Contains(known, n.Str()) || n.Str() == "" {
		return
	}
	hint := "it is sent as written"
	if near := diag.Nearest(n.Str(), known, 1); len(near) > 0 {
		hint += "; did you mean `" + near[0] + "`?"
	}
	n.Warnf(hint, "the service's specification names no %s `%s`", what, n.Str())
}

func (l *loader) makeArms() {
	for _, t := range l.Targets {
		for _, p := range l.Prompts {
			if p.Targets.Match(t.Name) {
				arm := newArm(t, p, l.opts.Ref)
				l.arms = append(l.arms, arm)
				l.names = append(l.names, arm.plain)
			}
		}
	}
}

// globs reads a list of patterns; each must match one of the names.
func globs(n yaml.Node, what string, names []string) eval.Patterns {
	var out eval.Patterns
	for _, item := range n.Items() {
		g := eval.Pattern(item.Str())
		if g == "" {
			continue
		}
		if !slices.ContainsFunc(names, g.Match) && len(names) > 0 {
			item.Errorf(diag.DidYouMean(string(g), names), "`%s` matches no %s", g, what)
		}
		out = append(out, g)
	}
	switch {
	case len(out) > 0:
	case n.IsSequence():
		n.Errorf("leave the key out for all of them", "the list is empty, so it matches no %s", what)
	case n.IsScalar() && !n.IsNull():
		n.Errorf("leave the key out for all of them, or write \"*\"", "the text is empty, so it matches no %s", what)
	}
	return out
}

// Largest values of limits and repeats, in suites and on the command line.
const (
	MaxConcurrency = 4096
	MaxAttempts    = 100
	MaxRepeats     = 1_000_000
)

func (l *loader) limits(n yaml.Node) {
	m := n.Map(limitsBlock().Names()...)
	budget := m.Get("budget").Map(budgetBlock().Names()...)
	positive := func(m yaml.Map, key string) int { return m.Get(key).Int(1, math.MaxInt32) }
	l.Limits = Limits{
		Concurrency:       m.Get("concurrency").Int(1, MaxConcurrency),
		RequestsPerMinute: positive(m, "requestsPerMinute"),
		TokensPerMinute:   positive(m, "tokensPerMinute"),
		BudgetTokens:      positive(budget, "tokens"),
		BudgetCalls:       positive(budget, "calls"),
		BudgetMoney:       budget.Get("money").Float(1e-9, math.MaxInt32),
		BudgetTime:        budget.Get("time").Duration(),
		Timeout:           m.Get("timeout").Duration(),
		Attempts:          m.Get("attempts").Int(1, MaxAttempts),
		BatchWait:         m.Get("batch").Map(batchLimitsBlock().Names()...).Get("wait").Duration(),
		CountTokens:       yaml.WordOf(m.Get("countTokens"), CountAlways, CountAuto, CountNever),
	}
	l.checkCounting(m.Get("countTokens"))
	for e := range m.Get("models").Map().Entries() {
		checkAnyModelID(e.Key, e.Name())
		one := e.Value.Map(modelLimits().Names()...)
		if e.Value.IsMapping() && one.Len() == 0 {
			e.Value.Errorf("such as {requestsPerMinute: 60}", "a model's limits need requestsPerMinute or tokensPerMinute")
		}
		l.Limits.Models = append(l.Limits.Models, ModelLimits{
			Model:             e.Name(),
			RequestsPerMinute: positive(one, "requestsPerMinute"),
			TokensPerMinute:   positive(one, "tokensPerMinute"),
		})
	}
}

func values(m yaml.Map) eval.Dict {
	out := eval.Dict{}
	for e := range m.Entries() {
		out[e.Name()] = eval.Written(e.Value.Value())
	}
	return out
}

// include reads the files that a suite includes, directly or through others, each once and before the file that
// includes it.
func (l *loader) include(root yaml.Map) []yaml.Map {
	in := includer{loader: l, taken: map[string]bool{}}
	in.visit(root, []string{l.files.suite})
	return in.out
}

type includer struct {
	*loader
	taken map[string]bool
	out   []yaml.Map
}

// visit reads the files that a file includes. chain lists the files from the suite to this one, to find circles.
func (in *includer) visit(m yaml.Map, chain []string) {
	for _, item := range m.Get("include").Items() {
		name := path.Clean(item.Str())
		if item.Str() == "" {
			continue
		}
		if i := slices.Index(chain, name); i >= 0 {
			item.Errorf(
				"one of them does not need the other", "the files include each other in a circle: %s",
				strings.Join(append(chain[i:], name), " > "),
			)
			return
		}
		if in.taken[name] {
			continue
		}
		in.taken[name] = true
		if part, ok := in.open(item, name); ok {
			in.visit(part, append(chain[:len(chain):len(chain)], name))
			in.out = append(in.out, part)
		}
	}
}

func checkIncluded(part yaml.Map) {
	included, whole := partBlock().Names(), suiteBlock().Names()
	for e := range part.Entries() {
		switch {
		case slices.Contains(included, e.Name()):
		case slices.Contains(whole, e.Name()):
			e.Key.Errorf("move it into the suite", "`%s` is not taken from a file that is included", e.Name())
		default:
			part.ReportUnknown(e, included)
		}
	}
}

func (in *includer) open(item yaml.Node, name string) (part yaml.Map, ok bool) {
	src, err := in.files.text(name)
	if err != nil {
		item.Errorf("", "%s", err)
		return part, false
	}
	shown := in.Shown(name)
	in.diags.AddInclude(shown, item.Pos())
	root, ok := yaml.Parse(shown, src, in.diags)
	if !ok {
		return part, false
	}
	part = root.Map()
	checkIncluded(part)
	part = part.Corrected(partBlock().Names())
	if v := part.Get("version"); !v.IsZero() && v.Str() != "1" {
		v.Errorf("write `version: 1`", "this evalrun reads suites of version 1, not %s", v.Str())
	}
	return part, true
}

// items yields the mappings of a list, those of included files first. A list without items in any file is an error.
func (l *loader) items(key string, block yaml.Block, none, hint string) iter.Seq[yaml.Map] {
	return func(yield func(yaml.Map) bool) {
		var last yaml.Node
		n, keys := 0, block.Names()
		for _, root := range l.roots {
			list := root.Get(key)
			if list.IsZero() {
				continue
			}
			last = list
			for _, item := range list.Seq() {
				n++
				if m := item.Map(keys...); item.IsMapping() && !yield(m) {
					return
				}
			}
		}
		switch {
		case last.IsZero() && slices.ContainsFunc(l.roots, func(root yaml.Map) bool { return root.Misspells(key) }):
		case last.IsZero():
			l.roots[len(l.roots)-1].Need(key)
		case last.IsSequence() && n == 0:
			last.Errorf(hint, "%s", none)
		}
	}
}

// LoadPrices reads a price list. Problems go to diags.
func LoadPrices(shown string, src []byte, diags *diag.List) *eval.PriceList {
	p := &eval.PriceList{Models: map[string]eval.Price{}}
	root, ok := yaml.Parse(shown, src, diags)
	if !ok {
		return p
	}
	m := root.Map(pricesBlock().Names()...)
	p.Currency = m.Need("currency").Str()
	p.Batch = batchFactor(m.Get("batch"))
	models := m.Need("models")
	for e := range models.Map().Entries() {
		checkAnyModelID(e.Key, e.Name())
		one := e.Value.Map(priceBlock().Names()...)
		price := readPrice(one)
		price.Batch, price.Source, price.Date = batchFactor(one.Get("batch")), one.Get("source").Str(), one.Get("date").Str()
		if _, err := time.Parse(time.DateOnly, price.Date); err != nil && price.Date != "" {
			one.Get("date").Errorf("such as 2027-01-31", "`%s` is not a day", price.Date)
		}
		if above := one.Get("above"); !above.IsZero() {
			m := above.Map(longPriceBlock().Names()...)
			price.Above = &eval.LongPrice{Tokens: m.Need("tokens").Int(eval.LongPrompt, math.MaxInt32), Price: readPrice(m)}
		}
		p.Models[e.Name()] = price
	}
	if models.IsMapping() && len(p.Models) == 0 {
		models.Errorf("such as `svc-pro: {input: 0.5, output: 1.5}`, per million tokens", "the price list names no model")
	}
	return p
}

func readPrice(m yaml.Map) eval.Price {
	return eval.Price{
		Input:  m.Need("input").Float(0, math.MaxInt32),
		Output: m.Need("output").Float(0, math.MaxInt32),
		Cached: optionalFloat(m.Get("cached"), math.MaxInt32),

		CacheWrite:     optionalFloat(m.Get("cacheWrite"), math.MaxInt32),
		CacheWriteHour: optionalFloat(m.Get("cacheWriteHour"), math.MaxInt32),
	}
}

// batchFactor reads the factor of the prices by batch, nil where there is none.
func batchFactor(n yaml.Node) *float64 {
	if n.IsZero() {
		return nil
	}
	return new(n.Float(leastFactor, 1))
}

func (l *loader) prices(n yaml.Node) {
	if n.IsZero() {
		return
	}
	name := n.Str()
	src, err := l.files.text(name)
	if err != nil {
		n.Errorf("", "%s", err)
		return
	}
	l.PricesFile = l.Shown(name)
	l.Prices = LoadPrices(l.PricesFile, src, l.diags)
}
