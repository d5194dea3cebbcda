package rundir

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
)

func TestSelectorsMatchTheirRuns(t *testing.T) {
	t.Parallel()
	runs := []*eval.Run{
		{Name: "a", Branch: "main", Commit: "0123", Labels: map[string]string{"nightly": ""}},
		{Name: "b", Branch: "feature/x", Commit: "0145", Labels: map[string]string{"team": "search"}},
		{Name: "c", Branch: "main", Commit: "0123", Labels: map[string]string{"nightly": "", "team": "ads"}},
		{},
	}
	for text, want := range map[string][]int{
		"latest:main": {2}, "latest:feature/x": {1}, "latest:*": {2}, "latest:none": nil,
		"branch:main": {0, 2}, "branch:feature/*": {1}, "branch:*": {0, 1, 2},
		"label:nightly": {0, 2}, "label:team": {1, 2}, "label:team=search": {1}, "label:team=*": {1, 2}, "label:t*": {1, 2},
		"label:nightly=x": nil, "name:b": {1}, "name:*": {0, 1, 2}, "commit:012": {0, 2}, "commit:0": {0, 1, 2}, "commit:9": nil,
	} {
		s, ok := eval.ParseSelector(text)
		got := Choose([]eval.Selector{s}, len(runs), func(i int) *eval.Run { return runs[i] })
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s, a selector: %t (-want +got):\n%s", text, ok, diff)
		}
	}
	for _, text := range []string{"latest", "latest:", "label:", ":x", "Label:x", "c:/runs", "other:x", "20260102-030405.000-a"} {
		if s, ok := eval.ParseSelector(text); ok {
			t.Errorf("%q: got the selector %+v, want none", text, s)
		}
	}
}

// One of each kind has to fit, and each `latest` adds one run.
func TestSeveralSelectorsMustAllFit(t *testing.T) {
	t.Parallel()
	runs := []*eval.Run{
		{Branch: "main", Labels: map[string]string{"a": ""}},
		{Branch: "dev", Labels: map[string]string{"a": ""}},
		{Branch: "main", Labels: map[string]string{"b": ""}},
		{Branch: "main", Labels: map[string]string{"c": ""}},
	}
	for _, test := range []struct {
		texts []string
		want  []int
	}{
		{[]string{"label:a", "label:b"}, []int{0, 1, 2}},
		{[]string{"label:a", "label:b", "branch:main"}, []int{0, 2}},
		{[]string{"latest:main", "latest:dev"}, []int{1, 3}},
		{[]string{"latest:main", "label:a"}, []int{0}},
		{nil, []int{0, 1, 2, 3}},
	} {
		var selectors []eval.Selector
		for _, text := range test.texts {
			s, _ := eval.ParseSelector(text)
			selectors = append(selectors, s)
		}
		got := Choose(selectors, len(runs), func(i int) *eval.Run { return runs[i] })
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.texts, diff)
		}
	}
}
