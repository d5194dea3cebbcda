package scorers

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/jsondiff"
	"github.com/evalrun/evalrun/internal/yaml"
)

func jsonKind() Kind {
	return Kind{
		Name: "json", Summary: "the answer is JSON, and equals a value",
		Doc: "`json: valid` passes when the whole answer is one JSON value. `json: {equals: VALUE}` compares with a value written " +
			"in YAML, whatever the order of keys. The reason lists each difference with its path.\n\n" +
			"- `tolerance: 0.01` (absolute) bounds the difference of numbers, which are else compared exactly.\n" +
			"- `ignore` lists JSON Pointers (RFC 6901) whose values may differ or be missing; `*` matches one segment.\n" +
			"- `order: false` pairs the items of arrays so that as many fields as possible match; very long arrays of unequal " +
			"items in their order.\n" +
			"- `partial: true` makes the value the share of fields that match; it passes at 1, or at the `threshold` next to it. A " +
			"field is a value without others inside. A field that only one side has does not match.\n\n" +
			"An answer that is not JSON fails, and `not:` turns that into a pass for `json: valid` alone.",
		Example: "- json:\n    equals: {queue: billing, priority: 2}\n    ignore: [/id]\n    tolerance: 0.01",
		takes:   yaml.Either(yaml.Word("valid"), yaml.Bool, yaml.Some(jsonKeys().Shape())), compile: compileJSON,
	}
}

var jsonKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		{Name: "valid", Is: yaml.Bool, Doc: "true: any JSON passes."},
		{Name: "equals", Is: yaml.Any, Doc: "The value, in YAML."},
		{
			Name: "ignore",
			Is:   yaml.OneOrList(yaml.Matching(`^/`)),
			Doc:  "JSON Pointers whose values may differ or be missing; `*` matches one segment.",
		},
		{Name: "tolerance", Is: yaml.Number(0, math.MaxFloat64), Doc: "How far off numbers may be."},
		{Name: "order", Is: yaml.Bool, Doc: "false: the order of arrays does not matter."},
		{Name: "partial", Is: yaml.Bool, Doc: "The value is the share of fields that match."},
	}}
})

func compileJSON(a args) AnswerScorer {
	if a.Args.IsScalar() {
		if v := a.Args; !v.IsBool() {
			v.Word("valid")
		} else if !v.Bool() {
			v.Errorf("for an answer that is not JSON write `not: {json: valid}`", "`json: false` is not a check")
		}
		return jsonValid()
	}
	m := a.Args.Map(jsonKeys().Names()...)
	if v := m.Get("valid"); !v.IsZero() && !v.Bool() {
		v.Errorf("for an answer that is not JSON write `not: {json: valid}`", "`valid: false` is not a check")
	}
	want := m.Get("equals")
	if want.IsZero() {
		a.checkValid(m)
		return jsonValid()
	}
	value, problem := parseJSON(string(want.JSON(nil)))
	if problem != "" { // already reported at the node
		return nil
	}
	return jsonEquals(value, jsondiff.Rules{
		Ignore: ignored(m.Get("ignore")), Tolerance: m.Get("tolerance").Float(0, math.MaxFloat64),
		Unordered: m.Has("order") && !m.Get("order").Bool(),
	}, m.Get("partial").Bool())
}

// checkValid reports keys that need `equals`.
func (a args) checkValid(m yaml.Map) {
	for _, key := range []string{"ignore", "tolerance", "order", "partial"} {
		if m.Has(key) {
			m.Key(key).Errorf("add `equals`, or remove it", "`%s` goes with `equals`", key)
		}
	}
	if m.IsMapping() && m.Len() == 0 {
		a.Args.Errorf("`json: valid` accepts any JSON", "`json` needs `equals` or `valid`")
	}
}

func jsonValid() AnswerScorer {
	return onText(fold{normalize: asWritten}, func(got, _ string) Finding {
		_, unread := readJSON(got)
		if unread == nil {
			return Pass("the answer is valid JSON")
		}
		if unread.state == uncheckable {
			unread.state = failed // whether the answer is readable JSON is what the scorer checks
		}
		return *unread
	})
}

func ignored(n yaml.Node) jsondiff.Pointers {
	var out jsondiff.Pointers
	for _, item := range n.Items() {
		text := item.Str()
		if !strings.HasPrefix(text, "/") {
			item.Errorf("such as /meta/id, or /items/*/id", "`%s` is not a JSON Pointer", text)
			continue
		}
		segments := strings.Split(text[1:], "/")
		for i, s := range segments {
			segments[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
		}
		out = append(out, segments)
	}
	return out
}

func jsonEquals(want any, rules jsondiff.Rules, partial bool) AnswerScorer {
	return onText(fold{normalize: asWritten}, func(got, _ string) Finding {
		value, failed := readJSON(got)
		if failed != nil {
			return *failed
		}
		d, fields := rules.Compare(want, value, maxFields)
		switch {
		case d == nil && !partial && rules.Fields(want) <= maxFields:
			return Uncheckable("the answer holds %s, the expected JSON %d: they cannot be equal", diag.Count(fields, "value"), rules.Fields(want))
		case d == nil:
			return Unscored("the answer holds %d values: more than %d are too many to compare", fields, maxFields)
		case d.Total == 0:
			return Pass("the answer equals the expected JSON")
		}
		lines := differenceLines(d)
		summary := lines[0]
		if d.Total > 1 {
			summary = fmt.Sprintf("%d differences: %s", d.Total, strings.Join(lines[:min(3, len(lines))], "; "))
		}
		f := Fail("%s", summary)
		if partial {
			f.value = float64(d.Equal) / float64(d.Equal+d.Unequal)
			f.Reason = fmt.Sprintf("%d of %s %s; %s", d.Equal, diag.Count(d.Equal+d.Unequal, "field"),
				diag.Verb(d.Equal+d.Unequal, "matches", "match"), f.Reason)
		}
		f.Diff = strings.Join(lines, "\n")
		if more := d.Total - len(lines); more > 0 {
			f.Diff += fmt.Sprintf("\n... and %d more", more)
		}
		return f
	})
}
