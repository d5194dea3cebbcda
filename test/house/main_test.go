package main

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestDepthIsTheLongestWay(t *testing.T) {
	t.Parallel()
	all := []*pkg{
		{ImportPath: "a"}, {ImportPath: "b", Imports: []string{"a"}}, {ImportPath: "c"}, {ImportPath: "d", Imports: []string{"c", "b"}},
	}
	expect.Same(t, "depth(all)", depth(all), 3)
}

func TestKeysAreCountedAtEveryDepth(t *testing.T) {
	t.Parallel()
	schema := map[string]any{"$defs": map[string]any{"x": map[string]any{"properties": map[string]any{"a": nil, "b": map[string]any{
		"anyOf": []any{map[string]any{"properties": map[string]any{"c": nil}}},
	}}}}}
	expect.Same(t, "keys(schema)", keys(schema), 3)
}

func TestProgramsAsideAreNotCounted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		module: true, module + "/eval": true, module + "/internal/testing/arch": false, module + "/test/house": false,
		module + "/docs": false, module + "/evaltest": true, "github.com/google/go-cmp/cmp": false,
	} {
		expect.Same(t, path, ours(path), want)
	}
}
