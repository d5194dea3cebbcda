package jsondiff

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func decoded(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(text, err)
	}
	return v
}

func TestCompareFindsEachDifference(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rules          Rules
		want, got      string
		equal, unequal int
		places         []string
	}{
		"equal":             {Rules{}, `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, 2, 0, nil},
		"other spelling":    {Rules{}, `[1.0, 10000000000000000000001]`, `[1, 10000000000000000000001.0]`, 2, 0, nil},
		"a digit":           {Rules{}, `10000000000000000000001`, `10000000000000000000002`, 0, 1, []string{""}},
		"within":            {Rules{Tolerance: 0.01}, `[0.3]`, `[0.31]`, 1, 0, nil},
		"a key too many":    {Rules{}, `{}`, `{"a":{"b":1,"c":2}}`, 0, 2, []string{"a"}},
		"a key too few":     {Rules{}, `{"a":1,"b":2}`, `{"a":1}`, 1, 1, []string{"b"}},
		"ignored":           {Rules{Ignore: Pointers{{"*", "id"}}}, `[{"id":1,"a":1}]`, `[{"id":2,"a":1}]`, 1, 0, nil},
		"another type":      {Rules{}, `{"a":[]}`, `{"a":{}}`, 0, 1, []string{"a"}},
		"order":             {Rules{}, `[1,2]`, `[2,1]`, 0, 2, []string{"0", "1"}},
		"any order":         {Rules{Unordered: true}, `[1,[2,3]]`, `[[3,2],1]`, 3, 0, nil},
		"any order, a miss": {Rules{Unordered: true}, `[{"k":1,"v":1},{"k":2,"v":2}]`, `[{"k":2,"v":3},{"k":1,"v":1}]`, 3, 1, []string{"1/v"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := test.rules.Compare(decoded(t, test.want), decoded(t, test.got), 100)
			var places []string
			for _, one := range d.Differences {
				places = append(places, strings.Join(one.Path, "/"))
			}
			if d.Equal != test.equal || d.Unequal != test.unequal || fmt.Sprint(places) != fmt.Sprint(test.places) {
				t.Errorf("%s and %s: %d fields equal, %d not, at %q, want %d, %d, %q",
					test.want, test.got, d.Equal, d.Unequal, places, test.equal, test.unequal, test.places)
			}
			expect.Same(t, "differences in all", d.Total, len(d.Differences))
		})
	}
}

// A side without a value differs from null, and arrays come out as they went in.
func TestAMissingMemberDiffersFromNull(t *testing.T) {
	t.Parallel()
	d, _ := Rules{}.Compare(decoded(t, `{"a":null,"b":[1]}`), decoded(t, `{"c":null,"b":{}}`), 100)
	got := fmt.Sprint(d.Differences)
	for _, want := range []string{"{[a] <nil> {}}", "{[c] {} <nil>}", "{[b] [1] map[]}"} {
		expect.Contains(t, "the differences", got, want)
	}
}

func TestCompareIsBounded(t *testing.T) {
	t.Parallel()
	long := "[" + strings.Repeat("0,", 200) + "1]"
	if d, fields := (Rules{}).Compare(decoded(t, long), decoded(t, long), 200); d != nil || fields != 201 {
		t.Errorf("%d fields and the diff %v, want 201 and none", fields, d)
	}
	d, _ := Rules{}.Compare(decoded(t, long), decoded(t, strings.ReplaceAll(long, "0", "2")), 1000)
	if d.Total != 200 || len(d.Differences) != MaxDifferences {
		t.Errorf("%d differences, %d kept, want 200 and %d", d.Total, len(d.Differences), MaxDifferences)
	}
}
