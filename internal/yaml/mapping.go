package yaml

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
)

// Entry is a key of a mapping with its value.
type Entry struct {
	Key   Node
	Value Node
}

// Name returns the text of the key.
func (e Entry) Name() string { return e.Key.resolve().Value }

// Map is a mapping whose keys were checked.
type Map struct {
	Node
	entries []Entry
	hints   []string // hints for unknown keys
}

// Misspells reports whether an unknown key of the mapping may be a misspelling of one of keys. The hints are texts for people,
// and quote the keys that they suggest: the tables of hints name them nowhere else, so that no hint can miss a key.
func (m Map) Misspells(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		return slices.ContainsFunc(m.hints, func(hint string) bool {
			return strings.Contains(hint, "`"+key+"`") || strings.Contains(hint, "`"+key+":")
		})
	})
}

// ReportUnknown reports an unknown key, with a hint.
func (m *Map) ReportUnknown(e Entry, known []string) {
	hint := hint(e.Name(), known)
	m.hints = append(m.hints, hint)
	e.Key.Errorf(hint, "unknown key `%s`", e.Name())
}

// Map checks that the value is a mapping with scalar keys, without duplicates and unknown keys. If known is
// empty, all keys are allowed.
func (n Node) Map(known ...string) Map {
	m := Map{Node: n}
	if n.IsZero() {
		return m
	}
	if !n.IsMapping() {
		n.expected("a mapping")
		return m
	}
	m.entries = n.entries()
	if len(known) == 0 {
		return m
	}
	for _, e := range m.entries {
		if !slices.Contains(known, e.Name()) {
			m.ReportUnknown(e, known)
		}
	}
	return m
}

// Corrected takes an unknown key, which was reported, for the missing one that it misspells: problems in its value show at once.
func (m Map) Corrected(known []string) Map {
	for i, e := range m.entries {
		near := diag.Nearest(e.Name(), known, 1)
		if slices.Contains(known, e.Name()) || elsewhere(e.Name(), known) != "" || len(near) == 0 || m.Has(near[0]) {
			continue
		}
		key := *e.Key.resolve()
		key.Value = near[0]
		m.entries[i].Key = Node{&key, e.Key.d}
	}
	return m
}

// entries includes merged mappings (`<<`). A key of the mapping itself replaces a merged one.
func (n Node) entries() []Entry {
	content := n.resolve().Content
	own := make([]Entry, 0, len(content)/2)
	first := make(map[string]int, len(content)/2)
	var merged []Node
	for i := 0; i+1 < len(content); i += 2 {
		key, value := Node{content[i], n.d}, Node{content[i+1], n.d}
		if !key.IsScalar() {
			key.expected("a key")
			continue
		}
		if key.resolve().Tag == "!!merge" {
			merged = append(merged, value.Items()...)
			continue
		}
		name := key.resolve().Value
		if line, twice := first[name]; twice {
			key.Errorf("remove one of them", "duplicate key `%s`, first on line %d", name, line)
			continue
		}
		first[name] = key.Pos().Line
		own = append(own, Entry{key, value})
	}
	return append(own, inherited(merged, first)...)
}

func inherited(merged []Node, first map[string]int) []Entry {
	var out []Entry
	for _, m := range merged {
		if !m.IsMapping() {
			m.Errorf("such as `<<: *base`", "`<<` takes a mapping, found %s", m.Describe())
			continue
		}
		for _, e := range m.entries() {
			if _, taken := first[e.Name()]; !taken {
				first[e.Name()] = e.Key.Pos().Line
				out = append(out, e)
			}
		}
	}
	return out
}

// Entries yields the entries in the order of the file.
func (m Map) Entries() iter.Seq[Entry] { return slices.Values(m.entries) }

// Len returns the number of keys.
func (m Map) Len() int { return len(m.entries) }

// Get returns the value of a key; the zero Node if the key is missing.
func (m Map) Get(key string) Node {
	for _, e := range m.entries {
		if e.Name() == key {
			return e.Value
		}
	}
	return Node{}
}

// Key returns the node of a key itself; the zero Node if it is missing.
func (m Map) Key(key string) Node {
	for _, e := range m.entries {
		if e.Name() == key {
			return e.Key
		}
	}
	return Node{}
}

// Has reports whether the mapping has a key.
func (m Map) Has(key string) bool { return !m.Get(key).IsZero() }

// Need is Get for a required key. It reports a missing key, unless an unknown key may be its misspelling.
func (m Map) Need(key string) Node {
	v := m.Get(key)
	if v.IsZero() && m.IsMapping() && !m.Misspells(key) {
		m.Errorf("add `"+key+": ...`", "the key `%s` is missing", key)
	}
	return v
}

// hint suggests a key instead of an unknown one: evalrun's key for one of another tool, or else the nearest known key.
func hint(word string, known []string) string {
	return cmp.Or(elsewhere(word, known), diag.DidYouMean(word, known))
}

const imports = "; `evalrun import promptfoo` turns a promptfoo configuration into a suite"

// foreign maps keys of other tools, in lower case and without dashes, to evalrun's. An entry applies to blocks that have
// its first key. WORD in a hint stands for the unknown key.
var foreign = []struct{ in, words, hint string }{
	// a suite
	{"cases", "tests scenarios", "write `cases`" + imports},
	{"cases", "test testcases samples examples dataset datasets data", "write `cases`"},
	{"cases", "providers", "write `targets`" + imports},
	{"cases", "provider model models", "write `targets`, such as `targets: [{name: pro, model: svc-pro}]`"},
	{"cases", "prompt", "write `prompts`, such as `prompts: [{name: short, text: ...}]`"},
	{"cases", "defaulttest", "write `defaults`" + imports},
	{"cases", "vars variables", "write `vars` in a case, or in `defaults` for all cases"},
	{"cases", "assert asserts assertions scorers checks evaluators graders", "write `scorers` in a case, or in `defaults` for all cases"},
	{"cases", "assertiontemplates", "write `scorerSets`" + imports},
	{"cases", "derivedmetrics", "write `metrics`" + imports},
	{"cases", "evaluateoptions commandlineoptions", "write `limits`, or use flags such as `-j`" + imports},
	{"cases", "outputpath", "use `-o FORMAT=FILE` on the command line" + imports},
	{"cases", "redteam nunjucksfilters extensions sharing tracing env", "a suite has no such key" + imports},
	{"cases", "threshold", "write `gate: {passRate: {min: ...}}`, or `threshold` in `defaults`"},
	{"cases", "repeat repeats", "write `repeats` in a case, or in `defaults` for all cases"},
	{"cases", "temperature maxtokens config", "write `generationConfig` in a target"},

	// a case
	{"inheritScorers", "input inputs question query prompt message context", "write it as a variable: `vars: {WORD: ...}`"},
	{
		"inheritScorers", "expected expectedoutput ideal answer reference output target groundtruth",
		"write a scorer, such as `scorers: [{equals: ...}]`, or a variable",
	},
	{"inheritScorers", "description title", "write `name`"},
	{"inheritScorers", "metadata", "write `tags`, or a variable"},
	{"inheritScorers", "provider providers prompts", "write `arms`, globs of `target/prompt`"},
	{"inheritScorers", "file data", "write `dataset`"},
	{"inheritScorers", "options transform", "write `select` next to a scorer"},
	{"cluster", "assert asserts assertions checks evaluators graders", "write `scorers`"},
	{"cluster", "variables", "write `vars`"},

	// a target
	{"echo", "provider id", "write `model`, and `service` for a service by its name"},
	{"echo", "config parameters options temperature topp topk maxtokens", "write `generationConfig`, such as `{temperature: 0}`"},
	{"echo", "url", "write `http`"},
	{"echo", "label", "write `name`"},

	// a gate
	{"passRate", "scores scorers metrics", "write `mean`, such as {NAME: {min: 0.8}}"},
	{"sole", "margin", "write `within`"},

	// a judge
	{"choose", "prompt prompttemplate prompttext rubricprompt", "write `template: FILE`, a file with the prompt"},
	{"choose", "labels scores options values", "write `choices`, such as {yes: 1, no: 0}"},
	{"choose", "rubric criteria", "write `rubric` in a scorer: `judge: {rubric: ..., judge: NAME}`"},

	// a judge among scorers
	{"rubric", "min minimum", "write `threshold` next to `judge`, not in it"},
	{"rubric", "threshold weight required name select", "write `WORD` next to `judge`, not in it"},

	// a prompt
	{"live", "content template raw prompt", "write `text`"},
	{"live", "messages", "write `turns`"},
	{"live", "label id", "write `name`"},
}

var plainWord = strings.NewReplacer("_", "", "-", "")

// elsewhere returns the hint for a key of another tool; "" for other words.
func elsewhere(word string, known []string) string {
	plain := plainWord.Replace(strings.ToLower(word))
	for _, f := range foreign {
		if slices.Contains(strings.Fields(f.words), plain) && slices.Contains(known, f.in) {
			return strings.ReplaceAll(f.hint, "WORD", word)
		}
	}
	return ""
}
