package main

import "testing"

func TestDepthIsTheLongestWay(t *testing.T) {
	t.Parallel()
	all := []*pkg{
		{ImportPath: "a"}, {ImportPath: "b", Imports: []string{"a"}}, {ImportPath: "c"}, {ImportPath: "d", Imports: []string{"c", "b"}},
	}
	if got := depth(all); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

func TestKeysAreCountedAtEveryDepth(t *testing.T) {
	t.Parallel()
	schema := map[string]any{"$defs": map[string]any{"x": map[string]any{"properties": map[string]any{"a": nil, "b": map[string]any{
		"anyOf": []any{map[string]any{"properties": map[string]any{"c": nil}}},
	}}}}}
	if got := keys(schema); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

func TestProgramsAsideAreNotCounted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		module: true, module + "/eval": true, module + "/internal/testing/arch": false, module + "/test/house": false,
		module + "/docs": false, module + "/evaltest": true, "github.com/google/go-cmp/cmp": false,
	} {
		if got := ours(path); got != want {
			t.Errorf("%s: got %t, want %t", path, got, want)
		}
	}
}
