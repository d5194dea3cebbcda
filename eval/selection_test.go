package eval

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

func TestGlobMatchesWholeTexts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob, text string
		want       bool
	}{
		{"pro", "pro", true},
		{"pro", "pro2", false},
		{"pro*", "pro", true},
		{"pro*", "pro-warm/direct", true},
		{"*/direct", "a/b/direct", true},
		{"*", "", true},
		{"", "", true},
		{"", "x", false},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false},
		{"*a", "aa", true},
		{"a*a", "a", false},
		{"[x]", "[x]", true},
		{"?", "x", false},
		{"**", "anything", true},
		{"*France*", "the France of", true},
	} {
		expect.Same(t, test.glob+" on "+test.text, Pattern(test.glob).Match(test.text), test.want)
	}
	if !(Patterns{}).Match("x") || !(Patterns{"a", "x"}).Match("x") || (Patterns{"a"}).Match("x") {
		t.Error("got no match of an empty list or of the second glob, or one of neither; want globs as alternatives")
	}
}

// FuzzGlob holds that a glob matches what the regular expression with .* for each star does.
func FuzzGlob(f *testing.F) {
	for _, pair := range [][2]string{{"a*b*c", "aXbYc"}, {"*a*a", "aa"}, {"**", ""}, {"a*a", "a"}, {"*ab*ab", "ababab"}} {
		f.Add(pair[0], pair[1])
	}
	for _, s := range hostile.Strings() {
		f.Add(s, s)
		f.Add("*"+s+"*", "x"+s)
	}
	f.Fuzz(func(t *testing.T, glob, text string) {
		glob, text = strings.ToValidUTF8(glob, "?"), strings.ToValidUTF8(text, "?")
		want := regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, `.*`) + `$`).MatchString(text)
		expect.Same(t, fmt.Sprintf("%q on %q", glob, text), Pattern(glob).Match(text), want)
	})
}

// What other shells treat as special is itself.
func TestOnlyTheStarIsSpecial(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[a-z]`, `{a,b}`, `\d`, `a?c`, `!x`, `^a$`, `(a|b)`, `a.c`, `~`, "a\nb", "日本"} {
		if !Pattern(text).Match(text) {
			t.Errorf("%q: got no match with itself, want one", text)
		}
		for _, other := range []string{text + "x", "x" + text, "abc", "b", ""} {
			if Pattern(text).Match(other) {
				t.Errorf("%q: got a match with %q, want none", text, other)
			}
		}
	}
	expect.Same(t, "a backslash before a star", Pattern(`\*`).Match(`\anything`), true)
}

// Matching covers the whole name, and lines and slashes are like any other character.
func TestAStarMatchesAnything(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a/b/c", "a\nb", "a\x00b", "aéb", "a**b", "ab"} {
		last := Pattern(text[len(text)-1:])
		for _, p := range []Pattern{"a*", "*" + last, "a*" + Pattern(text[1:]), Pattern(text) + "*", "*", "a**" + last} {
			if !p.Match(text) {
				t.Errorf("%q: got no match with %q, want one", p, text)
			}
		}
	}
	for p, text := range map[Pattern]string{"a*": "ba", "*a": "ab", "a*b*": "ba", "*aa*aa*": "aaa", "ab*ba": "aba"} {
		if p.Match(text) {
			t.Errorf("%q: got a match with %q, want none", p, text)
		}
	}
}

func TestPatternsAreAlternatives(t *testing.T) {
	t.Parallel()
	expect.Same(t, "patterns", NewPatterns([]string{"a*", "b"}), Patterns{"a*", "b"})
	expect.Same(t, "no patterns", NewPatterns(nil), nil)
	for _, test := range []struct {
		patterns []string
		text     string
		want     bool
	}{
		{nil, "x", true},
		{nil, "", true},
		{[]string{""}, "x", false},
		{[]string{""}, "", true},
		{[]string{"a*", "b"}, "apple", true},
		{[]string{"a*", "b"}, "b", true},
		{[]string{"a*", "b"}, "bb", false},
	} {
		expect.Same(t, fmt.Sprintf("%q on %q", test.patterns, test.text), NewPatterns(test.patterns).Match(test.text), test.want)
	}
}

func TestPlacesHoldWhatTheirTextSays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		holds []int
		lacks []int
	}{
		{"", nil, []int{-1, 0, 1}},
		{"0", []int{0}, []int{1}},
		{"0-3,7,9-11", []int{0, 3, 7, 9, 10, 11}, []int{-1, 4, 6, 8, 12}},
	} {
		var p Places
		expect.OK(t, p.UnmarshalText([]byte(test.text)))
		for _, n := range test.holds {
			if !p.Has(n) {
				t.Errorf("%q: got no %d, want it", test.text, n)
			}
		}
		for _, n := range test.lacks {
			if p.Has(n) {
				t.Errorf("%q: got %d, want it left out", test.text, n)
			}
		}
		if text, _ := p.MarshalText(); string(text) != test.text {
			t.Errorf("got %[2]q, want %[1]q", test.text, text)
		}
	}
	for _, wrong := range []string{
		",", "1,", "x", "3-1", "-1", "1-", "2,1", "1-3,2", "99999999999999999999", "9223372036854775807", " 1", "1-2-3",
	} {
		if err := new(Places).UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q: got no error, want one", wrong)
		}
	}
}

// None at all is something else than all.
func TestNoPlacesDifferFromAllInJSON(t *testing.T) {
	t.Parallel()
	type flags struct {
		Selected *Places `json:"selected,omitempty"`
	}
	for _, test := range []struct {
		flags flags
		want  string
	}{{flags{}, `{}`}, {flags{&Places{}}, `{"selected":""}`}, {flags{&Places{[]placeRange{{1, 2}}}}, `{"selected":"1-2"}`}} {
		data, err := json.Marshal(test.flags)
		if err != nil || string(data) != test.want {
			t.Errorf("%s, %v, want %s", data, err, test.want)
		}
		var back flags
		if err := json.Unmarshal(data, &back); err != nil || (back.Selected == nil) != (test.flags.Selected == nil) {
			t.Errorf("%s is read as %v, %v, want the same", data, back.Selected, err)
		}
	}
}

func FuzzPlaces(f *testing.F) {
	for _, seed := range []string{"", "0-3,7,9-11", "1,2,3", "00-01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p, second Places
		if p.UnmarshalText([]byte(text)) != nil {
			return
		}
		out, _ := p.MarshalText()
		if err := second.UnmarshalText(out); err != nil {
			t.Fatalf("%q is written as %q, which cannot be read: %v, want no error", text, out, err)
		}
		if third, _ := second.MarshalText(); string(third) != string(out) {
			t.Fatalf("%q becomes %q, want the same", out, third)
		}
	})
}

// FuzzShard checks that a shard that is read is one of its parts, and that every trial is in exactly one part.
func FuzzShard(f *testing.F) {
	for _, s := range append(hostile.Strings(), "1/4", "10000/10000", "1/10001", "0/1", "2/1", "+1/+2", "01/2", " 1/2", "1/2/3", "-1/-2") {
		f.Add(s, uint64(12345))
	}
	f.Fuzz(func(t *testing.T, text string, hash uint64) {
		var s, again Shard
		err := s.UnmarshalText([]byte(text))
		if err != nil || text == "" {
			if s != (Shard{}) {
				t.Errorf("got %v, want none", s)
			}
			return
		}
		if s.Index < 1 || s.Index > s.Of || s.Of > maxShards {
			t.Errorf("%q: %+v, want 1 to its number of shards", text, s)
		}
		if err := again.UnmarshalText([]byte(s.String())); err != nil || again != s {
			t.Errorf("%q: %+v %v, want the same", text, again, err)
		}
		n := 0
		for i := range s.Of {
			if (Shard{i + 1, s.Of}).Takes(fmt.Sprintf("%016x", hash)) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("got %d of %d shards with the trial, want one", n, s.Of)
		}
	})
}

// A shard is written into run files as text, as every version has done, and one that is none makes the options unreadable.
func TestAShardIsWrittenAsText(t *testing.T) {
	t.Parallel()
	o := Options{SelectionOptions: SelectionOptions{Shard: Shard{2, 7}}}
	data, err := json.Marshal(o)
	if string(data) != `{"shard":"2/7"}` || err != nil {
		t.Errorf(`got %s, %v, want {"shard":"2/7"}`, data, err)
	}
	if data, err = json.Marshal(Options{}); string(data) != `{}` || err != nil {
		t.Errorf("got %s, %v, want {}", data, err)
	}
	var back Options
	if err := json.Unmarshal([]byte(`{"shard":"2/7"}`), &back); err != nil || back.Shard != o.Shard {
		t.Errorf("read %+v, %v, want the shard", back.Shard, err)
	}
	if err := json.Unmarshal([]byte(`{"shard":"7/2"}`), &back); err == nil || back.Shard != (Shard{}) {
		t.Errorf("read %+v, %v, want no shard and why", back.Shard, err)
	}
}
