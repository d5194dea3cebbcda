package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A shell is offered names with the prefix, each once, none that it could not take, and not too many.
func TestAShellIsOfferedEachNameOnce(t *testing.T) {
	t.Parallel()
	names := []string{"alpha", "beta", "alpha", "al\x1b[2Jpha", "alp\nha", "also"}
	expect.Same(t, "with a prefix", offered("al", slices.Values(names)), []string{"alpha", "also"})
	expect.Same(t, "without", offered("", slices.Values(names)), []string{"alpha", "beta", "also"})
	count := 0
	many := offered("", func(yield func(string) bool) {
		for ; yield(fmt.Sprint(count)); count++ {
		}
	})
	expect.Same(t, "of endless names", [2]int{len(many), count}, [2]int{maxOffered, maxOffered - 1})
}
