package promptfoo

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

var update = flag.Bool("update", false, "write the counts into the page about imports")

// The page about imports has the number of types that become scorers, and names the others.
func TestThePageCountsTypes(t *testing.T) {
	t.Parallel()
	lists := published(t)
	types := slices.Sorted(slices.Values(slices.Concat(lists["types"], lists["special"])))
	var unscored []string
	for _, name := range types {
		if assertionKinds()[name].lost != "" {
			unscored = append(unscored, "`"+name+"`")
		}
	}
	const begin = "| types of checks | "
	onPage(t, begin, "\n\n## Where outcomes differ", fmt.Sprintf(
		"%d of the %d of promptfoo 0.121.20 become scorers |\n| types that are always `unscored` | %s |",
		len(types)-len(unscored), len(types), strings.Join(unscored, ", "),
	))
}

var page sync.Mutex // the tests that -update writes by

// onPage wants the page about imports to have a text between two others.
func onPage(t *testing.T, begin, end, want string) {
	t.Helper()
	page.Lock()
	defer page.Unlock()
	const name = "../../docs/how-to/import-promptfoo.md"
	data, err := os.ReadFile(name)
	expect.OK(t, err)
	before, rest, found := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("got nothing between %q and %q, want it on the page", begin, end)
	}
	want = before + begin + want + end + after
	if *update {
		expect.OK(t, os.WriteFile(name, []byte(want), 0o600))
		return
	}
	expect.Same(t, "page; update it with -update", string(data), want)
}
