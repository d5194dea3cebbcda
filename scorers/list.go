package scorers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

func listOptions() []string { return []string{"ignoreCase", "normalize"} }

func listKind() Kind {
	return Kind{
		Name: "list", Summary: "the answer lists these items", Options: listOptions(),
		Version: 2,
		Doc: "Takes a list of texts, or `{items, order, recall}`. Passes when the answer has all the items and no others, in any " +
			"order and repetition. `order: true` requires the order given, `recall: 0.8` that share of the items, whatever else is " +
			"listed. The value is the share of the items of both sides that both have; with `recall`, the share that was found; " +
			"under `order`, the longest run in order counts.\n\n" +
			"The answer's items are those of a JSON array; or the lines with bullets, numbers or letters before them; or the " +
			"lines, when there are several; or what commas, semicolons and a last `and` (`und`, `、`, `،` and others) separate. A " +
			"line or beginning that ends with a colon is no item. White space, emphasis, quotes and final stops around an item do " +
			"not count; beyond that `Red (warm)` is not `Red`.\n\n" +
			"Options next to it: `ignoreCase: true`, `normalize: nfc | nfkc | none` (default nfc).",
		Example: "- list: {items: [red, green, blue], order: true}\n  ignoreCase: true",
		takes:   yaml.Either(texts(), listKeys().Shape()), compile: compileList,
	}
}

// maxItems bounds the length of a list.
const maxItems = 1000

type listScorer struct {
	fold    fold
	items   []string
	place   map[string]int // index in items, by folded item
	ordered bool
	recall  *float64 // required share of the items; nil: the lists must be equal
}

var listKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"items"},
		Keys: append([]yaml.Key{
			{Name: "items", Is: texts(), Doc: "What is to be listed."},
			{Name: "order", Is: yaml.Bool, Doc: "The order matters."},
			{Name: "recall", Is: share(), Doc: "The share of the items that must be there, whatever else is."},
		}, textKeys().Only(listOptions()...).Keys...),
	}
})

func compileList(a args) AnswerScorer {
	c := listScorer{fold: a.fold(), place: map[string]int{}}
	c.fold.trim = true
	items := a.Args
	if a.Args.IsMapping() {
		m := a.Args.Map(listKeys().Names()...)
		items = m.Need("items")
		c.ordered = m.Get("order").Bool()
		if v := m.Get("recall"); !v.IsZero() {
			if c.recall = new(v.Float(0, 1)); *c.recall == 0 && strings.Trim(v.Written(), "0.") == "" {
				v.Errorf("such as 0.8", "`recall: 0` always passes")
			}
		}
	}
	c.read(items)
	return onText(fold{normalize: asWritten}, func(got, _ string) Finding { return c.scoreText(got) })
}

func (c *listScorer) read(items yaml.Node) {
	places := map[string]diag.Pos{}
	for _, n := range items.Items() {
		text := textOf(n)
		key := c.key(text)
		if first, twice := places[key]; twice {
			n.Errorf("remove one of them", "duplicate item %s, first %s", quote(text), first.SeenFrom(n.Pos()))
		} else {
			places[key] = n.Pos()
		}
		if eval.IsBlank(key) {
			n.Errorf("remove it", "an empty item is never listed")
		}
		c.place[key] = len(c.items)
		c.items = append(c.items, text)
	}
	switch {
	case items.IsSequence() && len(c.items) == 0:
		items.Errorf("such as [apples, pears]", "`list` needs at least one item")
	case len(c.items) > maxItems:
		items.Errorf("split it into several scorers", "%d items; at most %d", len(c.items), maxItems)
	}
}

func (c *listScorer) key(item string) string { return bareItem(c.fold.text(item)) }

func (c *listScorer) scoreText(got string) Finding {
	places, missing, others := c.compare(listedItems(got))
	found := len(places)
	if c.ordered {
		found = longestRising(places)
	}
	share := float64(found) / float64(len(c.items))
	reason := c.reason(len(places), found, missing)
	if c.recall != nil {
		return Graded(share, share >= *c.recall-1e-12, "%s; at least %g of them expected: %s", reason, *c.recall, quote(got))
	}
	if len(others) > 0 {
		reason += "; not expected: " + quoteList(others)
	}
	union := len(c.items) + len(places) - found + len(others)
	return Graded(float64(found)/float64(union), found == union, "%s: %s", reason, quote(got))
}

// compare finds the indexes of the expected items in the answer's order, the missing items, and the others.
func (c *listScorer) compare(items []string) (places []int, missing, others []string) {
	seen := map[string]bool{}
	for _, item := range items {
		key := c.key(item)
		if seen[key] || eval.IsBlank(key) {
			continue
		}
		seen[key] = true
		if at, wanted := c.place[key]; wanted {
			places = append(places, at)
		} else {
			others = append(others, item)
		}
	}
	for _, item := range c.items {
		if !seen[c.key(item)] {
			missing = append(missing, item)
		}
	}
	return places, missing, others
}

func (c *listScorer) reason(present, inOrder int, missing []string) string {
	reason := fmt.Sprintf("the answer lists %d of %s", present, diag.Count(len(c.items), "item"))
	if inOrder < present {
		reason += fmt.Sprintf(", %d of them in the order given", inOrder)
	}
	if len(missing) > 0 {
		reason += "; missing: " + quoteList(missing)
	}
	return reason
}

// longestRising is the length of the longest increasing subsequence of distinct numbers.
func longestRising(places []int) int {
	var ends []int // least last element of an increasing subsequence, by length
	for _, p := range places {
		i, _ := slices.BinarySearch(ends, p)
		if i == len(ends) {
			ends = append(ends, p)
		} else {
			ends[i] = p
		}
	}
	return len(ends)
}

var (
	itemMark = compiled(`^\s*(?:[-*+•‣◦▪–—·]|(?:\(?[0-9\pN]{1,4}|\(?[a-zA-Z])[.)、])\s+`)
	lastWord = compiled(`(?i)^(?:and|or|und|oder|et|ou|y|o|e|en|и|و|ו)\s+`)
	lastTwo  = compiled(`(?i)\s+(?:and|or|&|und|oder|et|ou|y|e|en|и)\s+`)
)

func listedItems(text string) []string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if items, ok := jsonItems(text); ok {
		return items
	}
	var marked, plain []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		mark := itemMark().FindString(line)
		switch {
		case mark != "" && len(mark) < len(line):
			marked = append(marked, line[len(mark):])
		case !eval.IsBlank(line) && !leadsIn(line):
			plain = append(plain, line)
		}
	}
	switch {
	case len(marked) > 0:
		return marked
	case len(plain) == 1:
		return inlineItems(plain[0])
	}
	return plain
}

func leadsIn(line string) bool {
	line = strings.TrimRight(line, "*_ ")
	return strings.HasSuffix(line, ":") || strings.HasSuffix(line, "：")
}

// jsonItems are the items of a JSON array of texts and numbers.
func jsonItems(text string) ([]string, bool) {
	if !strings.HasPrefix(text, "[") {
		return nil, false
	}
	value, problem := parseJSON(text)
	array, ok := value.([]any)
	if problem != "" || !ok {
		return nil, false
	}
	var out []string
	for _, v := range array {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case json.Number:
			out = append(out, string(v))
		default:
			return nil, false
		}
	}
	return out, true
}

// inlineItems are the items of a single line, such as: The colours are: red, green and blue.
func inlineItems(line string) []string {
	if _, rest, ok := strings.Cut(line, ": "); ok {
		line = rest
	}
	parts := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(",;，；、،؛", r) })
	if len(parts) == 0 {
		return nil
	}
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	last := parts[len(parts)-1]
	if lead := lastWord().FindString(last); lead != "" && len(parts) > 1 {
		parts[len(parts)-1] = last[len(lead):]
		return parts
	}
	if places := lastTwo().FindAllStringIndex(last, -1); places != nil {
		at := places[len(places)-1]
		parts = append(parts[:len(parts)-1], last[:at[0]], last[at[1]:])
	}
	return parts
}

// bareItem strips emphasis, quotes, full stops and invisible characters around an item.
func bareItem(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || eval.Hidden(r) || strings.ContainsRune("*_`\"'“”„«»‘’.,;。，、،", r)
	})
}
