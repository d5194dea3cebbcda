package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// columns are values of a row as expressions see them.
func columns() map[string]any {
	return map[string]any{
		"text": "Größe", "empty": "", "number": "42", "list": []any{"a", "b"}, "blank": []any{}, "nothing": nil,
		"dict": map[string]any{"k": "v", "deep": map[string]any{"l": []any{1.0, 2.0}}}, "n": 3.0, "yes": true,
	}
}

func run(t *testing.T, text string, want resultType) (any, error) {
	t.Helper()
	p, err := Compile(text, Open{}, want) // what the names are is known when it runs
	if err != nil {
		t.Fatalf("%s: %v, want no error", text, err)
	}
	return p.Run(columns())
}

func TestOperatorsWorkOnAllTypes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`text == "Größe" and len(text) == 5`:                true,
		`upper(text) == "GRÖSSE" or upper(text) == "GRÖßE"`: true,
		`int(number) + 1`:                              43.0,
		`float(number) / 4`:                            10.5,
		`n * 2 - 1`:                                    5.0,
		`n == 3 and n == 3.0 and 3 == 3.0`:             true,
		`7 / 2`:                                        3.5,
		`7 % 4`:                                        3.0,
		`2 ** 10`:                                      1024.0,
		`list[0] == "a" and list[-1] == "b"`:           true,
		`"a" in list and not ("z" in list)`:            true,
		`len(blank) == 0 and all(blank, false)`:        true,
		`blank == []`:                                  true,
		`dict.k == "v" and dict["k"] == "v"`:           true,
		`dict.deep.l[1]`:                               2.0,
		`"k" in dict and not ("z" in dict)`:            true,
		`count(list, # == "a")`:                        1.0,
		`yes ? 0.25 : 0.75`:                            0.25,
		`text matches "^Gr.+e$"`:                       true,
		`text startsWith "Grö" and text endsWith "ße"`: true,
		`split("a,b,c", ",")[2] == "c"`:                true,
		`trim("  x\n") == "x"`:                         true,
		`max([1, 5, 3]) - min([1, 5, 3])`:              4.0,
		`round(2.5) + floor(1.9) + ceil(1.1)`:          6.0,
		`"\u00e9" == "é" and "日本" + "語" == "日本語"`:      true,
		`not yes or yes && true`:                       true,
	} {
		got, err := run(t, text, Grade)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// Nothing is equal to nothing alone, has no members except by ?., and never counts as a value.
func TestNothingEqualsNothingAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`nothing == nil`:                             true,
		`nothing == ""`:                              false,
		`nothing == 0`:                               false,
		`nothing == false`:                           false,
		`(nothing ?? "other") == "other"`:            true,
		`(empty ?? "other") == ""`:                   true,
		`(dict.missing ?? 1) + 1`:                    2.0,
		`nothing?.anything?.more == nil`:             true,
		`dict?.deep?.missing == nil`:                 true,
		`(dict["missing"] ?? "x") == "x"`:            true,
		`nothing in [nil] and not (nothing in list)`: true,
	} {
		got, err := run(t, text, Grade)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{
		`nothing`, `nothing.member == ""`, `nothing + 1`, `nothing > 0`, `not nothing`, `nothing and true`, `nothing ? 1 : 0`,
		`len(nothing) == 0`, `nothing matches "x"`, `all(nothing, true)`, `int(nothing) == 0`, `dict.missing.more == ""`,
	} {
		if got, err := run(t, text, Grade); err == nil {
			t.Errorf("%s gives %v, want an error", text, got)
		} else if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "interface {}") {
			t.Errorf("%s: got %q, want no word that only programmers read", text, err)
		}
	}
}

// What is wanted is checked when it is compiled where the types are known, and otherwise when it runs.
func TestTheWantedTypeIsChecked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want resultType
		ok   bool
	}{
		{"yes", Truth, true},
		{"yes", Grade, true},
		{"yes", Number, false},
		{"n", Truth, false},
		{"n", Grade, true},
		{"n", Number, true},
		{"text", Truth, false},
		{"number", Number, false},
		{"list", Grade, false},
		{"dict", Grade, false},
		{"nothing", Grade, false},
		{`dict.k`, Truth, false},
		{`list[0]`, Number, false},
	} {
		if got, err := run(t, test.text, test.want); (err == nil) != test.ok {
			t.Errorf("%s as %s: got %v, %v, want an error: %v", test.text, test.want, got, err, !test.ok)
		}
	}
}

// An expression has no clock, no chance and no methods: the same values give the same result.
func TestWhatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`now() > date("2020-01-01")`, `date("2020-01-01").Year() > 1`, `duration("1h") > duration("1m")`, `timezone("UTC") == nil`,
		`text.String() == ""`, `env("HOME") == ""`, `$env == 1`, `repeat("a", 9) == ""`,
	} {
		if _, err := Compile(text, columns(), Truth); err == nil {
			t.Errorf("%s: got no error, want one", text)
		}
	}
}

// The budget is of one evaluation: a program that was stopped runs again on smaller values.
func TestAProgramRunsAgainAfterItWasStopped(t *testing.T) {
	t.Parallel()
	p, err := Compile(`len(filter(1..int(number), # % 2 == 0)) > 1`, map[string]any{"number": ""}, Truth)
	expect.OK(t, err)
	for range 3 {
		if got, err := p.Run(map[string]any{"number": "100000000"}); err == nil {
			t.Fatalf("a hundred million steps give %v, want an error", got)
		}
		if got, err := p.Run(map[string]any{"number": "10"}); got != true || err != nil {
			t.Errorf("ten steps after that: got %v, %v, want true", got, err)
		}
	}
}

// Problems are found at their place, counted in bytes, behind characters of any width.
func TestErrorsAreAtTheirByte(t *testing.T) {
	t.Parallel()
	for _, before := range []string{
		"", `text == "" or `, `"日本" == text or `, `"👍🏽" == text or `, "\n\n  ", `"e` + "\u0301" + `" == text or `,
	} {
		text := before + "txt == \"\""
		_, err := Compile(text, map[string]any{"text": ""}, Truth)
		var e *SyntaxError
		if !errors.As(err, &e) || e.Offset != len(before) || e.Hint != "did you mean `text`?" {
			t.Errorf("%q: got %+v, want the mistake at byte %d", text, e, len(before))
		}
	}
}

// What a function cannot do with a value of a row says what it takes.
func TestFunctionsSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`text matches n`:                 "`matches` takes two texts",
		`text matches "(" + text`:        "`matches` takes a regular expression: missing closing ): `(Größe`",
		`len(text..n) > 1`:               "`..` takes two whole numbers",
		`replace(list, "a", "b") == "x"`: "`replace` takes texts",
		`join(text, ",") == "x"`:         "`join` takes a list of texts",
		`join(list, n) == "x"`:           "`join` joins by a text",
	} {
		p, err := Compile(text, Open{}, Grade)
		if err == nil {
			_, err = p.Run(columns())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
