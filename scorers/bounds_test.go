package scorers

import (
	"runtime"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// jqOf runs an expression over a value as a selection does.
func jqOf(t *testing.T, source string, value any) (string, *Finding) {
	t.Helper()
	expression, problem := expr.CompileJQ(source)
	if problem != nil {
		t.Fatalf("%s: %v, want no problem", source, problem)
	}
	return runJQ("jq", expression, value, "")
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
		`reduce range(40) as $i ([1]; . + .) | length`, `.list | add | length`, `.list | join("") | length`, `.list | tojson | length`,
		`"\(.list)" | length`, `.list | @json | length`, `[.list, .list] | flatten | tojson | length`, `null | .[90000000] = 1 | length`,
		`null | setpath([90000000]; 1) | length`, `null | .[90000000] |= 1 | length`, `null | .[90000000] += 1 | length`,
		`def f: . * .n; {n: 1e9} as $m | "x" * $m.n`, `[range(900) | . as $i | ("y" * 1000000)] | length`,
		`[.list[] | ascii_downcase] | length`, `.list |= map(. + "x") | .list | length`,
		`"a" as $x | [limit(3000; repeat($x * 1000000))] | length`, `{a: ("x" * .n)} | .a | length`, `if .n > 1 then "x" * .n else . end`,
		`try ("x" * .n) catch "caught"`, `label $out | ("x" * .n) | break $out`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, finding := jqOf(t, source, value)
		runtime.ReadMemStats(&after)
		if finding == nil || finding.state != noScore {
			t.Errorf("%s: got %.50q %+v, want it to be unscored", source, got, finding)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 1<<30 {
			t.Errorf("%s: got %d MB, want at most 1024", source, made>>20)
		}
	}
}

// A regular expression is bounded together with the text that it is looked for in.
func TestPatternsAreBoundedWithTheirText(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"(a{100}){100}{10}", "(((a{30}){30}){30}){30}", strings.Repeat("(?:a{0,900}b)", 30), "[" + strings.Repeat("ab", 150_000) + "]",
	} {
		if _, err := compilePattern(source); err == nil {
			t.Errorf("%.40s: got no error, want one", source)
		}
	}
	text := strings.Repeat("a", 1<<20)
	for source, much := range map[string]bool{"(?i)paris": false, `(\w+\s?)+$`: false, "(?:.?){900}z": true, "x{500}": true} {
		p, err := compilePattern(source)
		expect.OK(t, err)
		if why := p.tooMuch(text, false); (why != "") != much {
			t.Errorf("%s: %q, want a reason: %t", source, why, much)
		}
		expect.Same(t, source+": on a short text", p.tooMuch("short", true), "")
	}
}
