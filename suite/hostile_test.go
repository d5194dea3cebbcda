package suite_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/suite"
)

// What a hostile file costs is bounded; that 10,000 honest cases load is as important.
func TestHostileFilesAreRefusedCheaply(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"alias bomb":  {aliasBomb(), "aliases expand to more than"},
		"many keys":   {numbered("k%d: v\n", 20_000), "a mapping of 20000 keys"},
		"more keys":   {strings.Repeat("key: value\n", 200_000), "200000 lines and commas"},
		"deep":        {"a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper than 64"},
		"very deep":   {"a: " + strings.Repeat("[", 100_000), "depth"},
		"large":       {"a: " + strings.Repeat("x", 17<<20), "at most 16777216"},
		"control":     {"a: \x01", "control characters"},
		"not UTF-8":   {"a: \xff\xfe\xfd", "UTF-8"},
		"cycle":       {"a: &a [*a]", ""},
		"merge bomb":  {"a: &a {" + strings.Repeat("x, ", 10) + "}\nb: {<<: [" + strings.Repeat("*a, ", 50_000) + "]}", "aliases expand"},
		"just a text": {"hello", "expected a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			_, diags := fromText(test.text, suite.Options{})
			t.Logf("%s", time.Since(started))
			expect.Fails(t, "the suite", diags.Err(), test.want)
		})
	}
}

// aliasBomb is a small text whose aliases expand to ten million values.
func aliasBomb() string {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i, c := range "bcdefgh" {
		prev := string("abcdefgh"[i])
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+prev+",", 10), ","))
	}
	return bomb
}

// numbered repeats a text with the numbers below n in it.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestManyHonestCasesLoad(t *testing.T) {
	t.Parallel()
	s, diags := fromText(
		"version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"{{.q}}\"}]\ncases:\n"+
			numbered("  - name: case %[1]d\n    vars: {q: question %[1]d}\n    scorers:\n      - contains: answer\n", 10_000),
		suite.Options{},
	)
	if err := diags.Err(); err != nil || s.CaseCount() != 10_000 {
		t.Errorf("got %d cases (%v), want 10000", s.CaseCount(), err)
	}
}

func FuzzLoad(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, diags := fromText(text, suite.Options{})
		var b bytes.Buffer
		expect.OK(t, (diag.Renderer{Source: func(string) []byte { return []byte(text) }}).Render(&b, diags))
		if diags.HasErrors() {
			return
		}
		for c := range s.Cases() {
			for _, arm := range c.Arms {
				if _, err := s.Render(c, arm); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// FuzzPrices holds that a valid price list names models, and that their costs are numbers that are not negative.
func FuzzPrices(f *testing.F) {
	for _, s := range append(
		hostile.Strings(), "currency: EUR\nmodels:\n  svc-pro: {input: 0.5, output: 1.5}\n", "currency: 1\nmodels: {m: {input: 1e308, "+
			"output: -0}}", "currency: E\nmodels: {m: {input: .nan, output: .inf}}",
		"currency: E\nmodels: {m: &x {input: 0o7, output: 2147483647}, n: *x}", "currency: E\nmodels: {}", "models: [a]",
	) {
		f.Add([]byte(s))
		f.Add([]byte("currency: \"" + s + "\"\nmodels: {m: {input: " + s + ", output: 1}}"))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var diags diag.List
		p := suite.LoadPrices("prices.yaml", src, &diags)
		if diags.HasErrors() {
			return
		}
		if len(p.Models) == 0 {
			t.Error("got no models, want some")
		}
		for name := range p.Models {
			hasPrice(t, p, name)
		}
		if p.Knows("") || p.Of("\x00", &eval.Usage{PromptTokens: 1, OutputTokens: 1}) != 0 {
			t.Errorf("%+v, want no price of what it does not know", p)
		}
	})
}

func hasPrice(t *testing.T, p *eval.PriceList, model string) {
	t.Helper()
	if !p.Knows(model) || p.Of(model, &eval.Usage{}) != 0 {
		t.Errorf("%s: got no price or one of nothing, want a price that begins at 0", model)
	}
	cost := p.Of(model, &eval.Usage{PromptTokens: math.MaxInt32, OutputTokens: math.MaxInt32, CachedTokens: 7})
	if !(cost >= 0) || math.IsInf(cost, 0) {
		t.Errorf("%s: %+v: got the cost %v, want a finite one", model, p.Models[model], cost)
	}
}
