package jsondiff

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// apply changes the expected value by the differences and so makes the other one. It fails when a difference says
// something wrong of the expected value.
func apply(t *testing.T, want any, d *Diff) any {
	t.Helper()
	value := want
	for _, one := range d.Differences {
		value = put(t, value, one.Path, one)
	}
	return shortened(value)
}

func put(t *testing.T, v any, path []string, d difference) any {
	t.Helper()
	if len(path) == 0 {
		expect.Same(t, fmt.Sprintf("what the difference expects at %q", d.Path), v, d.Want)
		return d.Got
	}
	switch v := v.(type) {
	case map[string]any:
		old, there := v[path[0]]
		if !there {
			old = Missing{}
		}
		v[path[0]] = put(t, old, path[1:], d)
		return v
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 {
			t.Fatalf("got %q, want a place in a list", path[0])
		}
		for i >= len(v) {
			v = append(v, any(Missing{}))
		}
		v[i] = put(t, v[i], path[1:], d)
		return v
	}
	t.Fatalf("%q: got %v on the way, want an object or a list", d.Path, v)
	return nil
}

// shortened leaves out what was taken away: members anywhere, items at the end of a list.
func shortened(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			if item == (Missing{}) {
				delete(v, key)
				continue
			}
			v[key] = shortened(item)
		}
	case []any:
		for len(v) > 0 && v[len(v)-1] == (Missing{}) {
			v = v[:len(v)-1]
		}
		for i := range v {
			v[i] = shortened(v[i])
		}
		return v
	}
	return v
}

// leaves counts the values that hold no others.
func leaves(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			n += leaves(item)
		}
	case []any:
		for _, item := range v {
			n += leaves(item)
		}
	}
	return max(n, 1)
}

// keys are member names that paths must not mix up.
var keys = []string{"a", "b", "", "0", "a/b", "~", "é", "e\u0301", "*"}

func value(random *rand.Rand, depth int) any {
	switch kind := random.IntN(9); {
	case kind < 2 && depth > 0:
		out := map[string]any{}
		for range random.IntN(4) {
			out[keys[random.IntN(len(keys))]] = value(random, depth-1)
		}
		return out
	case kind < 4 && depth > 0:
		out := []any{}
		for range random.IntN(4) {
			out = append(out, value(random, depth-1))
		}
		return out
	case kind == 4:
		return nil
	case kind == 5:
		return random.IntN(2) == 0
	case kind == 6:
		return []string{"", "x", "null", "0"}[random.IntN(4)]
	}
	return json.Number([]string{"0", "1", "-1", "0.5"}[random.IntN(4)])
}

// copied is the value with maps and lists of its own.
func copied(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	expect.OK(t, err)
	return decoded(t, string(text))
}

func TestTheDifferencesMakeOneValueOfTheOther(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	differing := 0
	for range 3000 {
		want, got := any([]any{value(random, 3)}), any([]any{value(random, 3)})
		d, fields := Rules{}.Compare(want, got, 10_000)
		if d.Total > MaxDifferences {
			continue
		}
		differing += min(d.Total, 1)
		expect.Same(t, fmt.Sprintf("fields of %v", got), fields, leaves(got))
		expect.Same(t, fmt.Sprintf("%v with the differences to %v, %v", want, got, d.Differences), apply(t, copied(t, want), d), got)
	}
	if differing < 1000 {
		t.Errorf("%d pairs of values differ, want more", differing)
	}
}

// Of two values that share what holds a difference, only the difference is reported. No path is the beginning of
// another. Each path has two values that differ in type, in a scalar, or in being there at all.
func TestNoDifferenceIsReportedTwice(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		want, got := value(random, 3), value(random, 3)
		d, _ := Rules{}.Compare(want, got, 10_000)
		for i, one := range d.Differences {
			if cmp.Equal(one.Want, one.Got) {
				t.Errorf("%v and %v: got the same on both sides of %q, want two values", want, got, one.Path)
			}
			_, wantObject := one.Want.(map[string]any)
			_, gotObject := one.Got.(map[string]any)
			if wantObject && gotObject {
				t.Errorf("%v and %v: got objects on both sides of %q, want only members that differ", want, got, one.Path)
			}
			for j, other := range d.Differences {
				if i != j && len(one.Path) <= len(other.Path) && slices.Equal(one.Path, other.Path[:len(one.Path)]) {
					t.Errorf("%v and %v: got %q inside of %q, want neither inside of the other", want, got, other.Path, one.Path)
				}
			}
		}
	}
}

func TestAValueEqualsItself(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		v := value(random, 4)
		for _, r := range []Rules{{}, {Unordered: true}, {Tolerance: 0.1}, {Tolerance: 0.1, Unordered: true}} {
			d, fields := r.Compare(v, copied(t, v), 100_000)
			if diff := cmp.Diff(&Diff{Equal: leaves(v)}, d); diff != "" || fields != leaves(v) {
				t.Errorf("%+v: %v, %d fields (-want +got):\n%s", r, v, fields, diff)
			}
		}
	}
}

func TestTheOtherWayTheSameFieldsDiffer(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	type count struct{ Total, Equal, Unequal int }
	for range 2000 {
		a, b := value(random, 3), value(random, 3)
		there, _ := Rules{}.Compare(a, b, 10_000)
		back, _ := Rules{}.Compare(b, a, 10_000)
		expect.Same(t, fmt.Sprintf("%v and %v the other way", a, b),
			count{back.Total, back.Equal, back.Unequal}, count{there.Total, there.Equal, there.Unequal})
	}
}

func shuffled(random *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = shuffled(random, item)
		}
	case []any:
		for i := range v {
			v[i] = shuffled(random, v[i])
		}
		random.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
	}
	return v
}

func TestUnorderedDoesNotCareForOrderAtAnyDepth(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 10))
	for range 1000 {
		v := value(random, 4)
		other := shuffled(random, copied(t, v))
		d, _ := Rules{Unordered: true}.Compare(v, other, 100_000)
		expect.Same(t, fmt.Sprintf("%v and %v", v, other), d, &Diff{Equal: leaves(v)})
	}
}

func TestUnorderedPairsItemsSoThatTheFewestDiffer(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 12))
	list := func() []any {
		out := []any{}
		for range random.IntN(6) {
			out = append(out, json.Number(strconv.Itoa(random.IntN(4))))
		}
		return out
	}
	for range 500 {
		want, got := list(), list()
		got = append(got, want...)[:len(want)]
		d, _ := Rules{Unordered: true}.Compare(want, got, 1000)
		if least := fewestPairs(want, got); d.Total != least {
			t.Errorf("%v and %v: %d differences, want %d", want, got, d.Total, least)
		}
	}
}

// fewestPairs is how many items of lists of the same length have no equal one in the other.
func fewestPairs(want, got []any) int {
	rest := slices.Clone(got)
	for _, w := range want {
		if i := slices.Index(rest, w); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return len(rest)
}

func TestPointersMatchWholePaths(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pointers Pointers
		path     []string
		want     bool
	}{
		"the path":                   {Pointers{{"a", "b"}}, []string{"a", "b"}, true},
		"a part of it":               {Pointers{{"a"}}, []string{"a", "b"}, false},
		"more than it":               {Pointers{{"a", "b"}}, []string{"a"}, false},
		"a star for one segment":     {Pointers{{"*", "b"}}, []string{"0", "b"}, true},
		"a star for no two":          {Pointers{{"*"}}, []string{"0", "b"}, false},
		"one of several":             {Pointers{{"x"}, {"a"}}, []string{"a"}, true},
		"the whole value":            {Pointers{{}}, nil, true},
		"a segment with a slash":     {Pointers{{"a/b"}}, []string{"a", "b"}, false},
		"a segment of a star's text": {Pointers{{"*"}}, []string{"*"}, true},
		"no pointer":                 {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect.Same(t, fmt.Sprintf("%q match %q", test.pointers, test.path), test.pointers.Match(test.path), test.want)
		})
	}
}

func TestNumbersAreEqualByValue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tolerance float64
		a, b      json.Number
		want      bool
	}{
		{0, "1", "1.0", true},
		{0, "1e2", "100", true},
		{0, "1E+2", "100.00", true},
		{0, "-0", "0", true},
		{0, "0.1", "0.10", true},
		{0, "9007199254740993", "9007199254740992", false},
		{0, "0.1", "0.1000000000000000055511151231257827", false},
		{0, "123456789012345678901234567890", "123456789012345678901234567891", false},
		{0, "1", "1.0000000000000001", false},
		{0, "1e2", "2e2", false},
		{0, "1e400", "2e400", false},
		{0, "1e400", "1e400", true},
		{0.1, "1", "1.1", true},
		{0.1, "1", "1.11", false},
		{0.1, "-0.05", "0.05", true},
		{0.01, "0.3", "0.31", true},
		{0.5, "1e400", "2e400", false},
	} {
		within := Within(test.tolerance)
		if there, back := within(test.a, test.b), within(test.b, test.a); there != test.want || back != test.want {
			t.Errorf("%s and %s within %v: %v, the other way %v, want %v", test.a, test.b, test.tolerance, there, back, test.want)
		}
	}
}

func TestIgnoredPlacesDoNotCount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ignore    Pointers
		unordered bool
		want, got string
		counts    Diff
	}{
		"one that differs":    {Pointers{{"id"}}, false, `{"id":1,"a":1}`, `{"id":2,"a":1}`, Diff{Equal: 1}},
		"one that is missing": {Pointers{{"id"}}, false, `{"id":1,"a":1}`, `{"a":1}`, Diff{Equal: 1}},
		"one too many":        {Pointers{{"id"}}, false, `{"a":1}`, `{"id":{"x":[1,2]},"a":1}`, Diff{Equal: 1}},
		"an empty object":     {Pointers{{"id"}}, false, `{"id":{},"a":1}`, `{"id":{},"a":1}`, Diff{Equal: 1}},
		"in each item": {
			Pointers{{"*", "id"}},
			false, `[{"id":1,"a":1},{"id":2,"a":2}]`, `[{"id":3,"a":1},{"id":4,"a":2}]`,
			Diff{Equal: 2},
		},
		"in each item of any order": {
			Pointers{{"*", "id"}},
			true, `[{"id":1,"a":1},{"id":2,"a":2}]`, `[{"id":3,"a":2},{"id":4,"a":1}]`,
			Diff{Equal: 2},
		},
		"the whole value":        {Pointers{{}}, false, `{"a":1}`, `[2]`, Diff{}},
		"a key of the same name": {Pointers{{"id"}}, false, `{"x":{"id":1}}`, `{"x":{"id":1}}`, Diff{Equal: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := Rules{Ignore: test.ignore, Unordered: test.unordered}.Compare(decoded(t, test.want), decoded(t, test.got), 100)
			expect.Same(t, fmt.Sprintf("%s and %s without %q", test.want, test.got, test.ignore), d, &test.counts)
		})
	}
}

// The values that are compared belong to the caller.
func TestCompareLeavesItsValuesAlone(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(13, 14))
	for range 300 {
		want, got := value(random, 3), value(random, 3)
		wantBefore, gotBefore := copied(t, want), copied(t, got)
		Rules{Unordered: true, Tolerance: 0.5}.Compare(want, got, 1000)
		expect.Same(t, "the values after", []any{want, got}, []any{wantBefore, gotBefore})
	}
}

// Items of large lists are found again without comparing all pairs.
func TestLargeListsInAnotherOrderAreEqual(t *testing.T) {
	t.Parallel()
	var want, got []any
	for i := range 3000 {
		want = append(want, map[string]any{"id": json.Number(strconv.Itoa(i)), "tags": []any{"x", "y"}})
		got = append(got, map[string]any{"id": json.Number(strconv.Itoa(2999 - i)), "tags": []any{"x", "y"}})
	}
	d, fields := Rules{Unordered: true}.Compare(want, got, 100_000)
	if diff := cmp.Diff(&Diff{Equal: 9000}, d); diff != "" || fields != 9000 {
		t.Errorf("%d fields (-want +got):\n%s", fields, diff)
	}
}

// Each item is paired once, however often it occurs.
func TestEqualItemsOfLargeListsAreCountedOnce(t *testing.T) {
	t.Parallel()
	want, got := []any{}, []any{}
	for i := range 60 {
		want = append(want, json.Number(strconv.Itoa(i%3)))
		got = append(got, json.Number(strconv.Itoa(i%2)))
	}
	d, _ := Rules{Unordered: true}.Compare(want, got, 1000)
	if d.Equal != 40 || d.Unequal != 20 || d.Total != 20 {
		t.Errorf("20 each of 0, 1, 2 and 30 each of 0, 1: %d equal, %d not, %d differences, want 40, 20, 20",
			d.Equal, d.Unequal, d.Total)
	}
}
