package promptfoo

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

var update = flag.Bool("update", false, "write the counts into the page about imports")

// The page about imports has the number of types that become scorers, and names the others.
func TestThePageCountsTypes(t *testing.T) {
	t.Parallel()
	const page = "../../docs/how-to/import-promptfoo.md"
	lists := published(t)
	types := slices.Sorted(slices.Values(slices.Concat(lists["types"], lists["special"])))
	var unscored []string
	for _, name := range types {
		if assertionKinds()[name].lost != "" {
			unscored = append(unscored, "`"+name+"`")
		}
	}
	const begin = "| types of checks | "
	want := fmt.Sprintf("%s%d of the %d of promptfoo 0.121.20 become scorers |\n| types that are always `unscored` | %s |",
		begin, len(types)-len(unscored), len(types), strings.Join(unscored, ", "))
	data, err := os.ReadFile(page)
	expect.OK(t, err)
	before, rest, _ := strings.Cut(string(data), begin)
	_, after, found := strings.Cut(rest, "\n\n## Where outcomes differ")
	if !found {
		t.Fatal("got no paragraph about types, want one before `Where outcomes differ`")
	}
	if after = "\n\n## Where outcomes differ" + after; *update {
		expect.OK(t, os.WriteFile(page, []byte(before+want+after), 0o600))
		return
	}
	expect.Same(t, "page; update it with -update", string(data), before+want+after)
}
