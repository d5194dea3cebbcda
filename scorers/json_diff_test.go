package scorers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/scorers"
)

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v, want no error", text, err)
	}
	return v
}

// Without arrays, which other programs shift and evalrun compares by position, the diff is as long as theirs.
func TestJSONDiffsAgreeWithOtherPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range vectors[struct {
		A, B     json.RawMessage
		Equal    bool
		Minimal  []json.RawMessage `json:"rfc6902_createPatch"`
		Compared []json.RawMessage `json:"fast_json_patch_compare"`
	}](t, "json_diff.json") {
		got := score(t, "- json: {equals: "+string(c.A)+"}", answer(string(c.B)))
		expect.Same(t, fmt.Sprintf("%s %s (%s): passed", c.A, c.B, got.Reason), got.Passed(), c.Equal)
		lines := strings.Count(got.Diff, "expected ")
		expect.Same(t, fmt.Sprintf("%s %s: differences, as fast-json-patch has", c.A, c.B), lines, len(c.Compared))
		bag := score(t, "- json: {order: false, equals: "+string(c.A)+"}", answer(string(c.B)))
		n := strings.Count(bag.Diff, "expected ")
		expect.Same(t, fmt.Sprintf("%s %s, differences as rfc6902 has:\n%s", c.A, c.B, bag.Diff), n, len(c.Minimal))
	}
}

func TestJSONPartialAllowsMoreMembers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args, answer string
		equal, all   float64
	}{
		{"{equals: {a: 1, b: 2}}", `{"a": 1, "b": 2}`, 1, 1},
		{"{equals: {a: 1, b: 2}}", `{"a": 1, "b": 3}`, 1, 2},
		{"{equals: {a: 1, b: 2}}", `{"a": 1}`, 1, 2},
		{"{equals: {a: 1}}", `{"a": 1, "b": 2}`, 1, 2},
		{"{equals: {a: 1}}", `{"a": 1, "b": {"c": 1, "d": [1, 2]}}`, 1, 4},
		{"{equals: {a: 1, b: {c: 1, d: 2}}}", `{"a": 1, "b": 3}`, 1, 3},
		{"{equals: {a: 1, b: 2}}", `[]`, 0, 2},
		{"{equals: {a: 1, b: 2}}", `no`, 0, 1},
		{"{equals: {a: {}, b: [], c: 1}}", `{"a": {}, "b": [], "c": 2}`, 2, 3},
		{"{equals: {a: {}, b: 1}}", `{"a": [], "b": 1}`, 1, 2},
		{"{equals: {a: null, b: 1}}", `{"b": 1}`, 1, 2},
		{"{equals: []}", "[]", 1, 1},
		{"{equals: {}}", "{}", 1, 1},
		{"{equals: [1, 2, 3]}", "[0, 1, 2, 3]", 0, 4},
		{"{equals: [1, 2, 3], order: false}", "[0, 1, 2, 3]", 3, 4},
		{"{equals: {a: 1, b: 2, id: 3}, ignore: /id}", `{"a": 1, "b": 3, "id": 4}`, 1, 2},
		{"{equals: {a: 1, id: {}}, ignore: /id}", `{"a": 2, "id": {}}`, 0, 1},
		{"{equals: {a: 1, m: {id: 3, x: 1}}, ignore: /m/id}", `{"a": 1}`, 1, 2},
		{"{equals: {a: 1.0, b: 2}, tolerance: 0.1}", `{"a": 1.05, "b": 2.5}`, 1, 2},
		{
			"{equals: [{id: 1, v: a, w: x}, {id: 2, v: b, w: y}], order: false}",
			`[{"id": 2, "v": "b", "w": "n"}, {"id": 1, "v": "a", "w": "m"}]`, 4, 6,
		},
		{"{equals: [{id: 1, v: a}, {id: 2, v: b}], order: false}", `[{"id": 2, "v": "b"}]`, 2, 4},
		{"{equals: [{l: [1, 2]}, {l: [3, 4]}], order: false}", `[{"l": [4, 3]}, {"l": [2, 1]}]`, 1, 1},
		{"{equals: [[1, 2], [3, 5]], order: false}", `[[4, 3], [2, 1]]`, 3, 4},
		{"{equals: [1.0, 1.1], order: false, tolerance: 0.1}", `[1.1, 1.2]`, 1, 1},
		{"{equals: [{k: 1, id: 7}, {k: 2, id: 8}], order: false, ignore: '/*/id'}", `[{"k": 2}, {"k": 1, "id": 0}]`, 1, 1},
		{"{equals: [1, 1, 2], order: false}", `[1, 2, 2]`, 2, 3},
	} {
		got := score(t, "- {json: "+strings.Replace(test.args, "{", "{partial: true, ", 1)+", threshold: 0.5}", answer(test.answer))
		if want := test.equal / test.all; math.Abs(valueOf(got)-want) > 1e-12 || got.Passed() != (want >= 0.5) {
			t.Errorf("%s of %s: %v, want %v (%s)", test.args, test.answer, valueOf(got), want, got.Reason)
		}
		if whole := score(t, "- {json: "+test.args+"}", answer(test.answer)); whole.Passed() != (test.equal == test.all) ||
			valueOf(whole) != 0 && !whole.Passed() {
			t.Errorf("%s of %s: got %v without partial, want no pass below 1", test.args, test.answer, whole.Passed())
		}
	}
	got := score(t, "- json: {equals: {a: 1, b: [x, y], c: 2}, partial: true}", answer(`{"a": 1, "b": ["x", "z"], "c": "2"}`))
	expect.Same(t, "reason", got.Reason, `2 of 4 fields match; 2 differences: /b/1: expected "y", got "z"; /c: expected 2, got "2"`)
	expect.Same(t, "diff", got.Diff, "/b/1: expected \"y\", got \"z\"\n/c: expected 2, got \"2\"")
}

func TestJSONIsBounded(t *testing.T) {
	t.Parallel()
	items := func(n, from int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"id":%d,"v":"x"}`, from+i)
		}
		return "[" + b.String()[1:] + "]"
	}
	tree := func(depth int, leaf string) string {
		for range depth {
			leaf = "[" + leaf + "," + leaf + "]"
		}
		return leaf
	}
	many := strings.Repeat(",1", 30_000)
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	checkShapes(t, []shapeTest{
		{"- json: {equals: [1], partial: true}", "[1" + mega(",1") + "]", "u"},
		{"- json: {equals: [1], partial: true}", "[1" + many + "]", "f"},
		{"- json: {equals: [1], order: false}", "[1" + many + "]", "f"},
		{"- json: {equals: [2, 3], order: false, partial: true}", "[1" + many + "]", "f"},
		{"- json: {equals: {a: 1, b: 2}, ignore: '/*/*'}", `{"a": {"x": [1` + many + "]}}", "f"},
		{"- json: {equals: {a: 1}, partial: true}", `{"a": ` + deep + "}", "f"},
		{"- json: {equals: [[[]]], order: false, ignore: /x}", deep, "f"},
		{"- json: {order: false, equals: " + items(300, 0) + "}", items(300, 1), "f"},
		{"- json: {order: false, tolerance: 0.5, equals: " + items(300, 0) + "}", items(300, 1), "f"},
		{
			"- json: {order: false, equals: [" + items(20, 0) + strings.Repeat(","+items(20, 9), 20) + "]}",
			"[" + items(20, 100) + strings.Repeat(","+items(20, 300), 20) + "]", "f",
		},
		{"- json: {order: false, equals: " + items(2000, 0) + "}", items(2000, 0), "p"},
		{"- json: {order: false, equals: " + tree(10, "1") + "}", tree(10, "2"), "f"},
		{"- json: {order: false, equals: [" + tree(6, "1") + ", " + tree(6, "2") + "]}", "[" + tree(6, "2") + ", " + tree(6, "1") + "]", "p"},
		{"- json: {equals: {a: 1}}", strings.Repeat(`{"a":`, 1<<17), "f"},
	})
}

func TestJSONProblemsAreReported(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- json: {partial: true}":           "8:16: `partial` goes with `equals`",
		"- json: {order: false}":            "8:16: `order` goes with `equals`",
		"- json: {equals: 1, order: any}":   "8:34: expected true or false",
		"- json: {equals: 1, partial: yes}": "8:36: expected true or false",
	} {
		checkReported(t, entry, want, reportedPlain(entry))
	}
}

// FuzzJSONDiff holds that a value equals itself, that values are equal without a difference only, and that values that are
// equal in order are equal without it.
func FuzzJSONDiff(f *testing.F) {
	for _, s := range hostile.Strings() {
		text, _ := json.Marshal(s)
		f.Add(`{"a": `+string(text)+`}`, `[`+string(text)+`]`)
	}
	f.Add(`[1, [2, {"a": null}], {}]`, `[[2, {"a": 1}], 1]`)
	f.Add(`{"a": {"b": [1, 2]}}`, `{"a": {"b": [2, 1, 3]}}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 300 || !isLine(a) || !isLine(b) || len(reportedPlain("- json: {equals: "+a+"}")) > 0 {
			return
		}
		inOrder := false
		for _, options := range []string{"", "order: false, ", "partial: true, ", "order: false, partial: true, "} {
			c := compile(t, "- json: {"+options+"equals: "+a+"}")
			got := consistent(t, c, b)
			if inOrder = inOrder || options == "" && got.Passed(); inOrder && !got.Passed() {
				t.Errorf("%s %s: got a difference with %s, want none", a, b, options)
			}
			equalsItself(t, c, a)
		}
	})
}

func isLine(text string) bool { return !strings.ContainsAny(text, "\n\r") && json.Valid([]byte(text)) }

// equalsItself wants a pass of the expected value itself, if YAML and JSON read it alike.
func equalsItself(t *testing.T, c *scorers.Compiled, text string) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool { return r > '~' || r == '\\' }) {
		return
	}
	if got, _ := c.Score(answer(text)); !got.Passed() && got.Unscored() == "" {
		t.Errorf("%s: got a difference from itself, want none: %s", text, got.Reason)
	}
}

// consistent is a score whose value, verdict and differences agree.
func consistent(t *testing.T, c *scorers.Compiled, text string) eval.Score {
	t.Helper()
	got, err := c.Score(answer(text))
	if err != nil {
		t.Fatalf("%s: %v, want no error", text, err)
	}
	if got.Passed() != (valueOf(got) == 1) || got.Passed() != (got.Diff == "") || valueOf(got) < 0 || valueOf(got) > 1 {
		t.Errorf("%s: %+v, want a pass and no difference for 1 alone", text, got)
	}
	return got
}
