package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

func structureKinds() []Kind {
	return []Kind{{
		Name: "json", Summary: "the answer is JSON, and equals a value",
		Doc: "`json: valid` passes when the whole answer is one JSON value. `json: {equals: VALUE}` compares with a value written in YAML, whatever the order of keys; " +
			"numbers are compared exactly, or within `tolerance` (absolute). `ignore` lists JSON Pointers (RFC 6901) whose values may differ or be missing; `*` stands for one segment. " +
			"The reason lists each difference with its path.",
		Example: "- json:\n    equals: {queue: billing, priority: 2}\n    ignore: [/id]\n    tolerance: 0.01", compile: compileJSON,
	}}
}

func compileJSON(a args) Scorer {
	if a.Args.IsScalar() {
		if v := a.Args; !v.IsBool() {
			v.Word("valid")
		} else if !v.Bool() {
			v.Errorf("for an answer that is not JSON write `not: {json: valid}`", "`json: false` is not a check")
		}
		return jsonValid()
	}
	m := a.Args.Map("valid", "equals", "ignore", "tolerance")
	if v := m.Get("valid"); !v.IsZero() && !v.Bool() {
		v.Errorf("for an answer that is not JSON write `not: {json: valid}`", "`valid: false` is not a check")
	}
	want := m.Get("equals")
	if want.IsZero() {
		for _, key := range []string{"ignore", "tolerance"} {
			if m.Has(key) {
				m.Key(key).Errorf("", "`%s` goes with `equals`", key)
			}
		}
		if m.IsMapping() && m.Len() == 0 {
			a.Args.Errorf("`json: valid` asks for any JSON", "`json` needs `equals` or `valid`")
		}
		return jsonValid()
	}
	return jsonEquals(want, ignored(m.Get("ignore")), m.Get("tolerance").Float(0, math.MaxFloat64))
}

func jsonValid() Scorer {
	return onText(fold{normalize: "none"}, func(got, _ string) Finding {
		if _, problem := parseJSON(got); problem != "" {
			return no("%s", problem)
		}
		return yes("the answer is valid JSON")
	})
}

// parseJSON reads the whole text as one JSON value with its numbers as written.
func parseJSON(text string) (value any, problem string) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	err := dec.Decode(&value)
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return value, ""
		}
		return nil, fmt.Sprintf("not valid JSON: something follows the value: %s", quote(text))
	}
	hint := ""
	if strings.HasPrefix(strings.TrimSpace(text), "```") {
		hint = " (the answer is fenced with ```)"
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, fmt.Sprintf("not valid JSON at byte %d%s: %s", syntax.Offset, hint, quote(text))
	}
	return nil, fmt.Sprintf("not valid JSON: it ends too early%s: %s", hint, quote(text))
}

// pointers are JSON Pointers, split into segments.
type pointers [][]string

func ignored(n yamlnode.Node) pointers {
	var out pointers
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

func (ps pointers) match(path []string) bool {
	return slices.ContainsFunc(ps, func(p []string) bool {
		return len(p) == len(path) && fits(p, path)
	})
}

func fits(pattern, path []string) bool {
	for i, s := range pattern {
		if s != "*" && s != path[i] {
			return false
		}
	}
	return true
}

func jsonEquals(wantNode yamlnode.Node, ignore pointers, tolerance float64) Scorer {
	want, problem := parseJSON(string(wantNode.JSON(nil)))
	if problem != "" { // the node reported it
		return nil
	}
	return onText(fold{normalize: "none"}, func(got, _ string) Finding {
		value, problem := parseJSON(got)
		if problem != "" {
			return no("%s", problem)
		}
		var r differences
		same := cmp.Equal(positional(want), positional(value), cmp.Reporter(&r), cmp.Comparer(numbersWithin(tolerance)),
			cmp.FilterPath(func(p cmp.Path) bool { return ignore.match(segments(p)) }, cmp.Ignore()))
		if same {
			return yes("the answer equals the expected JSON")
		}
		f := no("%s", r.summary())
		f.Diff = r.String()
		return f
	})
}

// numbersWithin compares JSON numbers: exactly as rational numbers, or within an absolute
// tolerance as floating-point ones.
func numbersWithin(tolerance float64) func(a, b json.Number) bool {
	return func(a, b json.Number) bool {
		if a == b {
			return true
		}
		fa, errA := a.Float64()
		fb, errB := b.Float64()
		if tolerance > 0 {
			// 0.31 is within 0.01 of 0.3, although not in binary.
			slack := 1e-12 * math.Max(math.Abs(fa), math.Abs(fb))
			return errA == nil && errB == nil && math.Abs(fa-fb) <= tolerance+slack
		}
		if fa != fb || errA != nil || errB != nil {
			return false
		}
		// Equal as floats: only large integers and long fractions need a closer look. Numbers
		// with exponents are few enough digits apart not to.
		if strings.ContainsAny(string(a)+string(b), "eE") {
			return true
		}
		ra, okA := new(big.Rat).SetString(string(a))
		rb, okB := new(big.Rat).SetString(string(b))
		return okA && okB && ra.Cmp(rb) == 0
	}
}

// list is a JSON array by position. go-cmp aligns slices, in time exponential in their nesting, and
// a JSON Pointer knows positions alone.
type list map[string]any

// positional turns the arrays of a JSON value into lists.
func positional(v any) any {
	switch v := v.(type) {
	case []any:
		out := make(list, len(v))
		for i, item := range v {
			out[strconv.Itoa(i)] = positional(item)
		}
		return out
	case object:
		out := make(object, len(v))
		for key, item := range v {
			out[key] = positional(item)
		}
		return out
	}
	return v
}

// object is a decoded JSON object.
type object = map[string]any

// segments turns a path of go-cmp into the segments of a JSON Pointer.
func segments(p cmp.Path) []string {
	var out []string
	for _, step := range p {
		if s, ok := step.(cmp.MapIndex); ok {
			out = append(out, s.Key().String())
		}
	}
	return out
}

// differences is a cmp.Reporter that keeps each unequal leaf with its path.
type differences struct {
	path  cmp.Path
	lines []string
	total int
}

const maxDifferences = 20

func (d *differences) PushStep(s cmp.PathStep) { d.path = append(d.path, s) }
func (d *differences) PopStep()                { d.path = d.path[:len(d.path)-1] }

func (d *differences) Report(r cmp.Result) {
	if r.Equal() {
		return
	}
	if d.total++; d.total > maxDifferences {
		return
	}
	pointer := ""
	for _, s := range segments(d.path) {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
	}
	if pointer == "" {
		pointer = "(root)"
	}
	want, got := d.path.Last().Values()
	show := func(valid bool, v any) string {
		if !valid {
			return "nothing"
		}
		text, err := eval.Marshal(arrays(v))
		if err != nil {
			return fmt.Sprint(v)
		}
		return cutText(string(text))
	}
	var w, g any
	if want.IsValid() {
		w = want.Interface()
	}
	if got.IsValid() {
		g = got.Interface()
	}
	d.lines = append(d.lines, fmt.Sprintf("%s: expected %s, got %s", pointer, show(want.IsValid(), w), show(got.IsValid(), g)))
}

// arrays is positional undone, for showing.
func arrays(v any) any {
	switch v := v.(type) {
	case list:
		out := make([]any, len(v))
		for i := range out {
			out[i] = arrays(v[strconv.Itoa(i)])
		}
		return out
	case object:
		out := make(object, len(v))
		for key, item := range v {
			out[key] = arrays(item)
		}
		return out
	}
	return v
}

func (d *differences) summary() string {
	if d.total == 1 {
		return d.lines[0]
	}
	return fmt.Sprintf("%d differences: %s", d.total, strings.Join(d.lines[:min(3, len(d.lines))], "; "))
}

func (d *differences) String() string {
	out := strings.Join(d.lines, "\n")
	if d.total > maxDifferences {
		out += fmt.Sprintf("\n... and %d more", d.total-maxDifferences)
	}
	return out
}
