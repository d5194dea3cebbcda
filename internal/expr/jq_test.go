package expr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/itchyny/gojq"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// The meter changes nothing of what expressions mean.
func TestTheMeterChangesNoResult(t *testing.T) {
	t.Parallel()
	value := map[string]any{
		"a": []any{1.0, 2.0, map[string]any{"b": "x y"}},
		"n": 3.0,
		"s": "text",
		"o": map[string]any{"k": map[string]any{"v": 1.0}},
	}
	for _, source := range []string{
		`.a[0] + .a[1]`, `.s + "!"`, `.s * .n`, `.n * .s`, `.s * 0`, `.o * {k: {w: 2}}`, `.n * 2`, `[(1, 2) + (10, 20)]`,
		`[(1, 2) * (10, 20)]`, `.a | length`, `[.a[] | numbers] | add`, `.a[2].b | split(" ") | join("-")`,
		`.a[0] = 5 | .a`, `.a[0] += 5 | .a`, `.o.k.v |= . + 1`, `.a |= map(tojson)`, `"\(.n) and \(.s)"`, `@base64 "x\(.s)"`,
		`.s | @base64`, `.a | @json`, `setpath(["z"]; 1) | .z`, `def add: 7; .a | add`, `def f(x): x + 1; f(.n)`,
		`reduce .a[0:2][] as $i (0; . + $i)`, `[foreach range(4) as $i (0; . + $i)]`, `.s | ascii_downcase | explode | implode`,
		`[.a[]?] | map(tostring) | sort`, `try error("x") catch . + "y"`, `{(.s): .n} | tojson`, `[.. | strings]`,
		`null + 1`, `.missing + null`, `{} + {a: 1}`, `[1] + [2]`, `"x" * null`, `[limit(3; range(10))]`,
		`.a as [$p, $q] | $p + $q`, `if .n + 1 == 4 then "yes" else "no" end`,
		`[.a[] | select(type == "object") | .b | test("x")]`,
		`.["s"] + .[("n", "s") | select(. == "s")]`, `-(.n + 1)`, `.a[.n - 3]`, `.a[1:(1 + 1)]`, `(.a | first) + 1`,
		`.x.y = 1 | .x`, `del(.a[0]) | .a`, `to_entries | map(.key) | join(",")`, `.n // 5 + 1`,
		`[.a[] | strings] | add // "none"`,
		`[(6, 8) - (1, 2)]`, `[(6, 8) / (1, 2)]`, `[(6, 8) % (4, 5)]`, `"a,b" / ","`, `[1, 2] - [2]`, `try ([] / {}) catch .`,
		`.n / 2 | floor, ceil, round`, `(.a[] | select(. == 1)) |= 5 | .a`, `[path(.a[] | select(. == 4 / 2))]`,
	} {
		q, err := gojq.Parse(source)
		if err != nil {
			t.Fatalf("%s: %v, want no error", source, err)
		}
		plain, err := gojq.Compile(q)
		if err != nil {
			t.Fatalf("%s: %v, want no error", source, err)
		}
		metered, err := compile(mustParse(t, source))
		if err != nil {
			t.Fatalf("%s: %v, want no error", source, err)
		}
		want, got := all(plain.Run(value)), all(metered.Run(value, &sizeMeter{}))
		if want != got {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}

func mustParse(t *testing.T, source string) *gojq.Query {
	t.Helper()
	q, err := gojq.Parse(source)
	expect.OK(t, err)
	return q
}

func all(results gojq.Iter) string {
	var out []string
	for {
		v, ok := results.Next()
		if !ok {
			return strings.Join(out, " ")
		}
		if err, failed := v.(error); failed {
			out = append(out, "error: "+err.Error())
			continue
		}
		data, err := gojq.Marshal(v)
		if err != nil {
			out = append(out, err.Error())
		}
		out = append(out, string(data))
	}
}

// A problem is reported where it is.
func TestErrorsAreReportedAtTheirPlace(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{`.a | nothere`: 5, `.a[`: 2, `.a | )`: 5, `$x`: 0} {
		_, problem := CompileJQ(source)
		if problem == nil {
			t.Errorf("%s: got no mistake, want one at %d", source, want)
		} else if problem.Offset != want {
			t.Errorf("%s: got %v at %d, want a mistake at %d", source, problem, problem.Offset, want)
		}
	}
}

// Infinity compares like a number, and NaN as the least.
func TestConstantsAreFinite(t *testing.T) {
	t.Parallel()
	const refused = " has no finite result: "
	for source, want := range map[string]string{
		`if (1e999 > 3) then "yes" else "no" end`: "4" + refused + "1e999",
		`.a | -1e999`:               "6" + refused + "1e999",
		strings.Repeat("9", 310):    "0" + refused + strings.Repeat("9", 310),
		`infinite > 3`:              "0" + refused + "infinite",
		`(infinite % 5) != 7`:       "1" + refused + "infinite",
		`{a: [.b[infinite]]}`:       "8" + refused + "infinite",
		`def f: "\(infinite)"; f`:   "10" + refused + "infinite",
		`nan < 3`:                   "0" + refused + "nan",
		`[nan, 1] | min < 3`:        "1" + refused + "nan",
		`[nan] | max`:               "1" + refused + "nan",
		`.a | nan as $n | $n < 3`:   "5" + refused + "nan",
		`1e308 > 3`:                 "",
		`1e-999 < 3`:                "",
		`.nan, .infinite, {nan: 1}`: "",
		`"nan"`:                     "",
		`.a | isnan, isinfinite`:    "",
		`nan`:                       "",
		`.a // nan, [nan]`:          "",
	} {
		for _, compile := range []func(string) *queryError{
			func(s string) *queryError { _, bad := CompileJQ(s); return bad },
			func(s string) *queryError { _, bad := CompileRows(s); return bad },
		} {
			got := ""
			if bad := compile(source); bad != nil {
				got = fmt.Sprint(bad.Offset, " ", bad)
			}
			expect.Same(t, source, got, want)
		}
	}
}

// Null is a result, an error is the last one, and a bound says which it is.
func TestRunGivesNullErrorsAndBounds(t *testing.T) {
	t.Parallel()
	const noNumber = "error: calculates no number on this answer: it is undefined, or too large"
	for source, want := range map[string]string{
		`.a, .b`:                                          "1 null",
		`.a, error("bad"), .a`:                            "1 error: error: bad",
		`def f: f; f`:                                     "error: takes more than 1000000 steps on this answer",
		`"x" * 1e9`:                                       "error: makes more than 134217728 bytes of this answer",
		`("x" * 1e9)? // "caught"`:                        "caught error: makes more than 134217728 bytes of this answer",
		`.a * 1e308 * 10 > 3`:                             noNumber,
		`.a + 1e308 + 1e308 > 3`:                          noNumber,
		`-1e308 - 1e308 < 3`:                              noNumber,
		`1e308 / 1e-308 > 3`:                              noNumber,
		`.a *= 1e308 | .a *= 10 | .a > 3`:                 noNumber,
		`(.a - 2 | sqrt) < 3`:                             noNumber,
		`(.a - 1 | log) < 3`:                              noNumber,
		`pow(10; 400) > 3`:                                noNumber,
		`[1e308, 1e308] | add > 3`:                        noNumber,
		`("1e400" | tonumber) > 3`:                        noNumber,
		`"[1e400]" | fromjson | .[0] > 3`:                 noNumber,
		`1 / (.a - 1) > 3`:                                noNumber,
		`try (1 / 0) catch true`:                          "true " + noNumber,
		`(1 % 0)? // "caught"`:                            "caught " + noNumber,
		`try (-1 | sqrt) catch true`:                      "true " + noNumber,
		`try (1e308 * 10) catch true`:                     "true " + noNumber,
		`(1 / 0) // 5`:                                    noNumber,
		`try ("x" / 0) catch true`:                        "true",
		`reduce range(400) as $i (1; . * 10) | floor > 3`: noNumber,
		`reduce (3, 1, 2) as $x (null; if . == null or $x < . then $x else . end)`: "1",
	} {
		expression, problem := CompileJQ(source)
		if problem != nil {
			t.Fatalf("%s: %v, want no problem", source, problem)
		}
		var got []string
		for v, err := range expression.Run(map[string]any{"a": 1.0}) {
			room := 1000
			line, _ := Line(v, &room)
			if err != nil {
				line = "error: " + err.Error()
			}
			got = append(got, line)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// A path gives what jq gives, on every shape.
func TestPathsGiveWhatJQGives(t *testing.T) {
	t.Parallel()
	var values []any
	for _, text := range []string{
		`{"a": {"b": "x"}}`, `{"a": [{"b": 1.50}, "y"]}`, `{"a": null}`, `null`, `[1]`, `"a"`,
		`{"a": {"b": [1, {"c": true}]}}`, `{"a b": {"c": "z"}}`, `{"a": [[["deep"]]]}`, `{"a": 1e5}`, `{"": 1}`,
	} {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var v any
		expect.OK(t, dec.Decode(&v))
		values = append(values, v)
	}
	for source, isPath := range map[string]bool{
		`.a`: true, `.a.b`: true, `.a[0].b`: true, `.a[1]`: true, `.a[7]`: true, `.a[0][0][0]`: true, `.a.b[1].c`: true, `.[0]`: true,
		`."a b".c`: false, `.["a"]`: false, `.a[]`: false, `.a?`: false, `.a.b?`: false, `.a[-1]`: false, `.a[0:1]`: false,
		`.`: false, `.a[0.5]`: false, `.a | .b`: false, `.a // .b`: false, `.a as $x | $x`: false, `.a[.b]`: false,
		`..`: false,
	} {
		expression, problem := CompileJQ(source)
		if problem != nil {
			t.Fatalf("%s: %v, want no problem", source, problem)
		}
		if got := expression.path != nil; got != isPath {
			t.Errorf("%s: got %t, want it to be a path: %t", source, got, isPath)
		}
		slow := *expression
		slow.path = nil
		for _, v := range values {
			if got, want := said(expression, v), said(&slow, v); got != want {
				t.Errorf("%s of %v: got %s, want %s", source, v, got, want)
			}
		}
	}
}

func said(e *Code, value any) string {
	var out []string
	for v, err := range e.Run(value) {
		room := 1000
		line, _ := JSON(v, &room)
		out = append(out, fmt.Sprintf("%s %v", line, err))
	}
	return strings.Join(out, "; ")
}

// Only paths pick: what calls a function, or makes a value, does not.
func TestOnlyPathsPick(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		`.a.b[0]`: true, `.a[] | .b, .c`: true, `.["x"]`: true, `.a[-1]`: true, `..`: true, `(.a)`: true,
		`.a + .b`: false, `[.a]`: false, `length`: false, `.["\(.a)"]`: false, `"x"`: false, `def f: .; f`: false,
	} {
		expression, problem := CompileJQ(source)
		if problem != nil {
			t.Fatalf("%s: %v, want no problem", source, problem)
		}
		expect.Same(t, source, expression.OnlyPicks(), want)
	}
}

// Rows gives what the whole expression does, one item of its list after the other.
func TestRowsGiveTheItemsOfTheList(t *testing.T) {
	t.Parallel()
	var doc any
	text := `{"data": [{"t": "x", "q": [{"n": 1}, {"n": 2}]}, {"t": "y", "q": []}, {"t": "z", "q": [{"n": 3}]}], "o": {"list": [[1], [2]]}}`
	expect.OK(t, json.Unmarshal([]byte(text), &doc))
	for source, list := range map[string]string{
		`.data[]`: "data", `.data[].q[]`: "data", `.data[].q[].n`: "data", `.data[] | .q[] | .n + 1`: "data", `.o.list[][]`: "o.list",
		`.data[] | .t as $t | .q[] | {$t, n}`: "data", `.data[] | select(.t != "y")`: "data", `.data[] | .t, .q[0].n`: "data",
		`.data[] | def f: .t; f`: "data", `.data[] | first(.q[])`: "data", `.data[].q[]?`: "data", `.data[].t?`: "data",
		`.data[0].q[]`: "", `.data[]?`: "", `.data[] as $d | $d.t`: "", `.data | .[]`: "", `first(.data[])`: "", `.data[1:][]`: "",
		`[.data[].t] | .[]`: "", `def f: .data[]; f`: "", `.data[], .o`: "", `..`: "", `.["data"][]`: "", `.`: "", `(.data[]) | .t`: "",
		`.data?[].t`: "", `reduce .data[] as $d (0; . + 1)`: "",
	} {
		rows, problem := CompileRows(source)
		if problem != nil {
			t.Fatalf("%s: %v, want no problem", source, problem)
		}
		keys, each := rows.List()
		if got := strings.Join(keys, "."); got != list || each != (list != "") {
			t.Errorf("%s: got the list %q (%t), want %q", source, got, each, list)
		}
		items := []any{doc}
		if each {
			at := doc
			for _, key := range keys {
				at = at.(map[string]any)[key]
			}
			items = at.([]any)
		}
		var got []string
		for _, item := range items {
			if one := said(rows.run, item); one != "" {
				got = append(got, one)
			}
		}
		whole, _ := CompileJQ(source)
		if want := said(whole, doc); strings.Join(got, "; ") != want {
			t.Errorf("%s: got %s, want %s", source, strings.Join(got, "; "), want)
		}
	}
}
