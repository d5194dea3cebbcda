package expr

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

type item struct {
	Text string `expr:"text"`
	Why  string `expr:"finishReason"`
}

type inner struct {
	Tokens int     `expr:"outputTokens"`
	Ms     float64 `expr:"latencyMs"`
}

type env struct {
	Answer string            `expr:"answer"`
	Items  []item            `expr:"candidates"`
	Vars   map[string]any    `expr:"vars"`
	Usage  inner             `expr:"usage"`
	Safety map[string]string `expr:"safety"`
}

func sample() env {
	return env{
		Answer: "Paris, שלום e\u0301", Items: []item{{"a", "STOP"}, {"b", ""}},
		Vars:  map[string]any{"country": "France", "list": []any{"x", "y"}, "n": "3", "big": strings.Repeat("x", 1<<20)},
		Usage: inner{3, 1.5}, Safety: map[string]string{"HARM": "LOW"},
	}
}

func TestRunEvaluatesExpressions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`true`:                                            true,
		`answer contains "Paris"`:                         true,
		`answer contains "שלום"`:                          true,
		`not (answer startsWith "Rome")`:                  true,
		`answer matches "^P.*,"`:                          true,
		`usage.outputTokens <= 3 and usage.latencyMs < 2`: true,
		`usage.outputTokens / 4`:                          0.75,
		`usage.outputTokens`:                              3.0,
		`len(filter(candidates, .finishReason == "STOP")) / len(candidates)`: 0.5,
		`all(candidates, any(["a", "b"], # == "a") or true)`:                 true,
		`vars.country == "France" && vars["n"] == "3"`:                       true,
		`"x" in vars.list`:                                   true,
		`"z" in vars.list`:                                   false,
		`int(vars.n) == 3`:                                   true,
		`(vars.missing ?? "none") == "none"`:                 true,
		`vars?.missing == nil`:                               true,
		`let n = len(vars.list); n * 2`:                      4.0,
		`len(uniq(map(candidates, .text)))`:                  2.0,
		`join(map(candidates, .text), "-") == "a-b"`:         true,
		`replace(answer, "Paris", "Rome") startsWith "Rome"`: true,
		`sum(1..3) == 6`:                                     true,
		`len(3..1)`:                                          0.0,
		`reduce(1..4, #acc + #, 0)`:                          10.0,
		`answer | lower() | trim() | len() > 3`:              true,
		`safety["HARM"] == "LOW" and safety.HARM == "LOW"`:   true,
		`(2 ** 3 - 1.5) * 2 / 13 + sum([1, 2.5], # * 2)`:     8.0,
		`fromJSON("{\"a\": [1, 2]}").a[1]`:                   2.0,
		`1 in map(candidates, len(.text))`:                   true,
		`sort(["b", "a"])[0] == "a"`:                         true,
		`vars.country ?? "x" == "x" ? 1 : 0.5`:               nil,
	} {
		p, err := Compile(text, env{}, Grade)
		if err != nil {
			if want != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		got, err := p.Run(sample())
		if want == nil {
			continue
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v (%v), want %v", text, got, err, want)
		}
	}
}

func TestErrorsSayWhereAndWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		want    resultType
		offset  int
		message string
		hint    string
	}{
		{`answr contains "x"`, Grade, 0, "there is no `answr` here", "did you mean `answer`?"},
		{`"é" == anwser`, Grade, 8, "there is no `anwser` here", "did you mean `answer`?"},
		{`usage.outputTokns > 3`, Grade, 6, "there is no `outputTokns` in it", "did you mean `outputTokens`?"},
		{`any(candidates, .txt == "")`, Grade, 17, "there is no `txt` in it", "did you mean `text`?"},
		{`now().Year() > 3`, Grade, 0, "there is no function `now` here", ""},
		{`repeat(answer, 9) == ""`, Grade, 0, "there is no function `repeat` here", ""},
		{`answer`, Grade, 0, "the expression gives a text, not true, false or a number", ""},
		{`vars.list[0:1]`, Truth, 0, "", ""},
		{`1 + 1`, Truth, 0, "the expression gives a number, not true or false", ""},
		{`answer == ""`, Number, 0, "the expression gives true or false, not a number", ""},
		{`candidates`, Grade, 0, "the expression gives a list, not true, false or a number", ""},
		{`$env == 1`, Grade, 0, "`$env` needs a name", ""},
		{``, Grade, 0, "the expression is empty", ""},
		{" \r\n", Grade, 0, "the expression is empty", ""},
		{`answer contains`, Grade, 14, "unexpected token EOF", ""},
		{`answer matches "("`, Grade, 7, "missing closing )", ""},
		{`any(candidates, any(candidates, any(candidates, true)))`, Grade, 0, "loops can be nested at most 2 deep", ""},
		{strings.Repeat("1+", maxNodes) + "1", Grade, 0, "maximum allowed nodes", ""},
		{strings.Repeat(" ", maxText) + "1", Grade, maxText, "at most 4096 are allowed", ""},
		{`answer + 1`, Grade, 7, "mismatched types string and int", ""},
	} {
		_, err := Compile(c.text, env{}, c.want)
		if c.message == "" {
			continue // known when it runs
		}
		var e *SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%.40s: got no mistake, want one", c.text)
			continue
		}
		if !strings.Contains(e.Message, c.message) || e.Hint != c.hint || c.offset != 0 && e.Offset != c.offset {
			t.Errorf("%.40s: %d %q (%q), want %d %q (%q)", c.text, e.Offset, e.Message, e.Hint, c.offset, c.message, c.hint)
		}
	}
}

// What would take very long, or very much memory, ends with an error instead.
func TestBoundsEndWhatWouldTakeVeryLong(t *testing.T) {
	t.Parallel()
	big := sample()
	big.Answer = strings.Repeat("a", 1<<20)
	for range 2000 {
		big.Items = append(big.Items, item{Text: "t"})
	}
	for _, text := range []string{
		`len(1..1000000000) > 0`,
		`len(-9223372036854775807..9223372036854775807) > 0`,
		`len(9223372036854775000..9223372036854775807) > 1000000`,
		`any(1..1000000, any(1..1000000, false))`,
		`len(map(1..9999, map(1..9999, #))) > 1`,
		`all(candidates, all(candidates, answer contains "b" or true))`,
		`answer matches "[ab]{70}c"`,
		`answer matches "` + strings.Repeat("a{1000}", 20) + `"`,
		`len(reduce(1..60, #acc + #acc, "a")) > 0`,
		`len(join(map(1..1000, answer), "")) > 0`,
		`len(join(split(answer, ""), answer)) > 0`,
		`len(replace(answer, "a", answer)) > 0`,
		`len(replace(answer, "", answer)) > 0`,
		`len(uniq(1..20000)) > 0`,
		`len(fromJSON(answer + answer + answer)) > 0`,
		`let a = answer + answer; let b = a + a; let c = b + b; let d = c + c; let e = d + d; let f = e + e; len(f) > 0`,
		`len(toJSON(map(1..100, answer))) > 0`,
		`any(1..100, map(1..100, answer) == map(1..100, answer))`,
	} {
		p, err := Compile(text, env{}, Grade)
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		if got, err := p.Run(big); !errors.Is(err, errTooMuch) && (err == nil || !strings.Contains(err.Error(), "memory budget")) {
			t.Errorf("%.60s: %v (%v), want too much", text, got, err)
		}
	}
	p, err := Compile(`answer matches "^a+$" and not (lower(answer) contains "b") and len(candidates) > 2000`, env{}, Grade)
	expect.OK(t, err)
	if got, err := p.Run(big); got != true || err != nil {
		t.Errorf("a megabyte: got %v (%v), want true", got, err)
	}
}

func TestRunReportsValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`vars.country`:                   "it gives a text, not true, false or a number",
		`vars.missing`:                   "it gives nothing, not true, false or a number",
		`int(vars.country) > 1`:          "France",
		`vars.list[7] == "a"`:            "out of range",
		`1 % (usage.outputTokens - 3)`:   "divide by zero",
		`answer matches vars.n + "("`:    "missing closing )",
		`vars.list contains "a"`:         "expected a text, found a list",
		`(vars.missing ?? nil) and true`: "expected true or false, found nothing",
		`vars.list matches "a"`:          "takes two texts",
		`sum(vars.country) > 1`:          "takes a list of numbers",
		`sum(vars.list) > 1`:             "invalid operation: string + int",
	} {
		p, err := Compile(text, env{}, Grade)
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		if got, err := p.Run(sample()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v (%v), want %q", text, got, err, want)
		}
	}
}

// A comparison with infinity, NaN or a number that wrapped around has a result, which would judge nothing.
func TestACalculationWithoutAFiniteResultIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`1.0 / 0.0 > 3`, `1 / (usage.outputTokens - 3) > 3`, `-1 / 0 < 3`, `0 / 0 != 1`, `not (0 / 0 > 1)`, `1 / (1 / 0.0) == 0`,
		`1e308 * 10 > 3`, `1e308 + 1e308 > 3`, `-1e308 - 1e308 < 3`, `10 ** 400 > 3`, `0 ^ -1 > 3`, `(-8) ** 0.5 != 3`,
		`float("Inf") > 3`, `float("nan") != 3`, `int(1e300) < 3`, `int(-1e300) < 3`,
		`9223372036854775807 + 1 < 3`, `-9223372036854775807 - 2 > 3`, `4611686018427387904 * 2 < 3`,
		`sum([1e308, 1e308]) > 3`, `sum([9223372036854775807, 1]) < 3`, `sum(candidates, 1 / 0) > 3`, `mean([1e308, 1e308]) > 3`,
		`median([1e308, 1e308]) > 3`, `mean([]) < 3`, `median(filter([1], # > 1)) < 3`, `mean(map([0], 1 / #)) > 3`,
		`reduce(1..400, #acc * 10, 1.0) > 3`, `any([0], 1 / # > 3)`, `let x = 1 / 0; x > 3`, `max(1, 1 / 0) > 3`, `1 % 0 < 3`,
		`{"a": 1 / 0}.a > 3`, `[1 / 0][0] > 3`, `string(1 / 0) == "+Inf"`, `1 / 0 in [1]`, `(1 / 0 > 3) ? 1 : 1`,
		`fromJSON("1e400") > 3`, `abs(-1 / 0) > 3`,
	} {
		p, err := Compile(text, env{}, Grade)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := p.Run(sample()); err == nil {
			t.Errorf("%s gives %v, want an error", text, got)
		}
	}
}

// A map of samples makes its names known: for columns, and for what is inside `vars` only when it runs.
func TestColumnsAreKnownNames(t *testing.T) {
	t.Parallel()
	known := map[string]any{"country": "", "population": "", "vars": map[string]any{}}
	p, err := Compile(`int(population) > 5 and country != vars["first name"]`, known, Truth)
	expect.OK(t, err)
	got, err := p.Run(map[string]any{"country": "France", "population": "68", "vars": map[string]any{"first name": "x"}})
	if got != true || err != nil {
		t.Errorf("%v, %v, want true", got, err)
	}
	if _, err := Compile(`populaton > 5`, known, Truth); err == nil || err.(*SyntaxError).Hint != "did you mean `population`?" {
		t.Errorf("%#v, want a hint of `population`", err)
	}
	if _, err := Compile(`$env["populaton"] == ""`, known, Truth); err == nil {
		t.Error("got no error for a typo in $env, want one")
	}
	if _, err := Compile(`country > 5`, known, Truth); err == nil {
		t.Error("got no error for a text that is compared with a number, want one")
	}
}

func TestReadsListsTheNamesThatAreUsed(t *testing.T) {
	t.Parallel()
	p, err := Compile(
		`let x = usage.outputTokens; x > 1 and vars.country == vars["the list"] and len(candidates) > 0 and `+
			`vars?.maybe == nil and (vars.other ?? "") == "" and any(candidates, .text in vars)`,
		env{}, Grade,
	)
	expect.OK(t, err)
	var got []string
	for _, r := range p.Reads() {
		s := r.String()
		if r.Optional {
			s += "?"
		}
		got = append(got, s)
		if last := r.Path[len(r.Path)-1]; !strings.Contains(p.Text()[r.Offset:r.Offset+len(last)+1], last) {
			t.Errorf("%s: got the text %q at its place, want its name", s, p.Text()[r.Offset:])
		}
	}
	want := []string{"usage.outputTokens", "vars.country", "vars.the list", "candidates", "vars.maybe?", "vars.other?", "candidates", "vars"}
	expect.Same(t, "reads", got, want)
	if v, ok := p.Reads()[0].Value(sample()); v != 3 || !ok {
		t.Errorf("outputTokens: got %v, want 3", v)
	}
	if v, ok := p.Reads()[2].Value(sample()); ok {
		t.Errorf("the missing variable: got %v, want none", v)
	}
}

func TestUsesKnowsWhatIsRead(t *testing.T) {
	t.Parallel()
	p, err := Compile(`let x = 1; x > 1 and vars.country == ""`, env{}, Grade)
	expect.OK(t, err)
	for path, want := range map[string]bool{"vars": true, "vars country": true, "answer": false, "x": false} {
		expect.Same(t, fmt.Sprintf("uses %s", path), p.Uses(strings.Fields(path)...), want)
	}
}

func TestResultsAreGradedFromZeroToOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		result any
		want   float64
		bad    bool
	}{
		{true, 1, false},
		{false, 0, false},
		{0.5, 0.5, false},
		{1 + 1e-12, 1, false},
		{-1e-12, 0, false},
		{1.1, 0, true},
		{-0.1, 0, true},
		{math.NaN(), 0, true},
		{math.Inf(1), 0, true},
	} {
		if got, err := Graded(c.result); got != c.want || (err != nil) != c.bad {
			t.Errorf("%v: %v, %v, want %v, and an error: %t", c.result, got, err, c.want, c.bad)
		}
	}
}

func TestAProgramRunsConcurrently(t *testing.T) {
	t.Parallel()
	p, err := Compile(`sum(1..usage.outputTokens) == 6 and answer matches "P"`, env{}, Truth)
	expect.OK(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				if got, err := p.Run(sample()); got != true || err != nil {
					t.Errorf("%v, %v, want true", got, err)
				}
			}
		})
	}
	all.Wait()
}

// Open samples let other names through, which then are there or not.
func TestOpenSamplesLetOtherNamesThrough(t *testing.T) {
	t.Parallel()
	p, err := Compile(`known + other`, Open{"known": 0.0}, Number)
	expect.OK(t, err)
	if got, err := p.Run(map[string]any{"known": 0.25, "other": 0.5}); got != 0.75 || err != nil {
		t.Errorf("%v, %v, want 0.75", got, err)
	}
	if got, err := p.Run(map[string]any{"known": 0.25}); err == nil {
		t.Errorf("got %v without the other, want an error", got)
	}
}

// A name that is no identifier is written as an index of $env.
func TestNamesOfOtherCharactersAreIndexes(t *testing.T) {
	t.Parallel()
	samples := map[string]any{"rouge-1": 0.0}
	p, err := Compile(`$env["rouge-1"] / 2`, samples, Number)
	expect.OK(t, err)
	if got, err := p.Run(map[string]any{"rouge-1": 1.0}); got != 0.5 || err != nil || p.Reads()[0].Path[0] != "rouge-1" {
		t.Errorf("%v, %v, want 0.5 of rouge-1", got, err)
	}
	var e *SyntaxError
	if _, err = Compile(`rouge1 / 2`, samples, Number); !errors.As(err, &e) || e.Hint != "did you mean `$env[\"rouge-1\"]`?" {
		t.Errorf("%+v, want a hint of `rouge-1`", err)
	}
}

// A local variable hides a name of the environment from its declaration on, and nothing else of that name.
func TestLetHidesANameOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`let answer = "x"; answer == "x"`:                                       true,
		`let answer = upper(answer); answer startsWith "PARIS"`:                 true,
		`let vars = vars.country; vars == "France"`:                             true,
		`len(candidates) == 2 and (let candidates = [1]; len(candidates) == 1)`: true,
		`let answer = 1; count(candidates, answer == 1) == 2`:                   true,
		`let x = 3; x + len(candidates)`:                                        5.0,
		`let usage = {outputTokens: 7}; usage.outputTokens`:                     7.0,
	} {
		p, err := Compile(text, env{}, Grade)
		if err != nil {
			p, err = Compile(text, env{}, Number)
		}
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		if got, err := p.Run(sample()); err != nil || got != want {
			t.Errorf("%s: %v (%v), want %v", text, got, err, want)
		}
	}
	p, err := Compile(`let answer = vars.country; answer == "x"`, env{}, Truth)
	expect.OK(t, err)
	if p.Uses("answer") || !p.Uses("vars", "country") {
		t.Errorf("it reads %v, want vars.country alone", p.Reads())
	}
	for text, want := range map[string]string{
		`let answer = 1; let answer = 2; answer`: "cannot redeclare variable let answer",
		`let len = 1; len`:                       "cannot redeclare builtin len",
	} {
		if _, err := Compile(text, env{}, Grade); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
