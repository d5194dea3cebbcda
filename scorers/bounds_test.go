package scorers

import (
	"runtime"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// jqOf runs an expression over a value as a selection does.
func jqOf(t *testing.T, source string, value any) (string, *Finding) {
	t.Helper()
	q, err := gojq.Parse(source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	code, err := compileJQ(q)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return runJQ("jq", code, value, "")
}

// No step of a jq expression makes more than a bounded value, and what it does not make is unscored.
func TestJQMakesABoundedAmount(t *testing.T) {
	big := strings.Repeat("y", 1<<20)
	list := make([]any, 5000)
	for i := range list {
		list[i] = big
	}
	value := map[string]any{"n": 979_000_000.0, "big": big, "list": list}
	for _, source := range []string{
		`"x" * .n`, `.n * "x"`, `. as $a | ("x" * $a.n)?`, `("x" * .n)? // "small"`, `reduce range(40) as $i ("x"; . + .)`,
		`reduce range(40) as $i ([1]; . + .) | length`,
		`.list | add | length`, `.list | join("") | length`, `.list | tojson | length`, `"\(.list)" | length`,
		`.list | @json | length`, `[.list, .list] | flatten | tojson | length`,
		`null | .[90000000] = 1 | length`, `null | setpath([90000000]; 1) | length`, `null | .[90000000] |= 1 | length`,
		`null | .[90000000] += 1 | length`,
		`def f: . * .n; {n: 1e9} as $m | "x" * $m.n`, `[range(900) | . as $i | ("y" * 1000000)] | length`,
		`[.list[] | ascii_downcase] | length`, `.list |= map(. + "x") | .list | length`,
		`"a" as $x | [limit(3000; repeat($x * 1000000))] | length`, `{a: ("x" * .n)} | .a | length`,
		`if .n > 1 then "x" * .n else . end`, `try ("x" * .n) catch "caught"`, `label $out | ("x" * .n) | break $out`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, finding := jqOf(t, source, value)
		runtime.ReadMemStats(&after)
		if finding == nil || finding.Unscored == "" {
			t.Errorf("%s: got %.50q %+v, want it to be unscored", source, got, finding)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 1<<30 {
			t.Errorf("%s makes %d MB", source, made>>20)
		}
	}
}

// The meter changes nothing of what expressions mean.
func TestMeteredJQ(t *testing.T) {
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
	} {
		q, err := gojq.Parse(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		plain, err := gojq.Compile(q)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		metered, err := compileJQ(mustParse(t, source))
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		want, got := all(plain.Run(value)), all(metered.Run(value, &jqMeter{}))
		if want != got {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}

func mustParse(t *testing.T, source string) *gojq.Query {
	t.Helper()
	q, err := gojq.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
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

// A regular expression is bounded together with the text that it is looked for in.
func TestBoundedPatterns(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"(a{100}){100}{10}", "(((a{30}){30}){30}){30}", strings.Repeat("(?:a{0,900}b)", 30)} {
		if _, err := compilePattern(source); err == nil {
			t.Errorf("%.40s is taken", source)
		}
	}
	text := strings.Repeat("a", 1<<20)
	for source, much := range map[string]bool{"(?i)paris": false, `(\w+\s?)+$`: false, "(?:.?){900}z": true, "x{500}": true} {
		p, err := compilePattern(source)
		if err != nil {
			t.Fatal(err)
		}
		if why := p.tooMuch(text, false); (why != "") != much {
			t.Errorf("%s: %q", source, why)
		}
		if why := p.tooMuch("short", true); why != "" {
			t.Errorf("%s on a short text: %s", source, why)
		}
	}
}
