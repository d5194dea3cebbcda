package arch

import (
	"go/types"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// forTests are packages that serve tests or the documentation, which the page of the architecture does not explain.
const forTests = " docs internal/arch internal/expect internal/forgetest internal/hostile internal/testrun "

// Every package of the program is on the page that explains the packages.
func TestPackagesAreOnThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/contributing/architecture.md")
	expect.OK(t, err)
	eachPackage(t, func(p *types.Package) {
		room := roomOf(p.Path())
		if strings.HasPrefix(room, "test/") || strings.HasPrefix(room, "clients/") || strings.Contains(forTests, " "+room+" ") {
			return
		}
		if name := "`" + room + "`"; room != "" && !strings.Contains(string(page), name) {
			t.Errorf("got a page without %s, want it in the table of packages", name)
		}
	})
}
