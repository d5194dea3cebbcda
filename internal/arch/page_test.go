package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// card is a row of the page that explains the packages: a name, and a purpose.
var card = regexp.MustCompile("(?m)^\\| `([^`|]+)` \\| (.+) \\|$")

// readCards reads the rows of all packages: the place of each in the order of the page, and its purpose.
func readCards(t *testing.T) (place map[string]int, purpose map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/contributing/architecture.md")
	expect.OK(t, err)
	_, rows, _ := strings.Cut(string(page), "\n## Packages\n")
	rows, _, _ = strings.Cut(rows, "\n## ")
	place, purpose = map[string]int{}, map[string]string{}
	for i, row := range card.FindAllStringSubmatch(rows, -1) {
		if _, twice := place[row[1]]; twice {
			t.Errorf("got two rows of `%s`, want one", row[1])
		}
		place[row[1]], purpose[row[1]] = i, row[2]
	}
	return place, purpose
}

// Every folder with a package, of any module, has its row, with a purpose that no other has. Folders of tests and examples may share one,
// such as `examples/…`.
func TestPackagesHaveTheirOwnCards(t *testing.T) {
	t.Parallel()
	_, purpose := readCards(t)
	of := map[string]string{}
	for room, text := range purpose {
		if other, twice := of[text]; twice {
			t.Errorf("got the purpose %q for `%s` and for `%s`, want one for each", text, room, other)
		}
		of[text] = room
	}
	const root = "../.."
	expect.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if base := d.Name(); path != root && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".")) {
			return fs.SkipDir
		}
		if files, err := filepath.Glob(path + "/*.go"); err != nil || len(files) == 0 {
			return err
		}
		room := "evalrun"
		if path != root {
			room = filepath.ToSlash(strings.TrimPrefix(filepath.Clean(path), filepath.Clean(root)+string(filepath.Separator)))
		}
		if purpose[room] == "" && !sharesCard(room, purpose) {
			t.Errorf("got a page without a row of `%s`, want one in the tables of packages", room)
		}
		return nil
	}))
}

// sharesCard reports whether a folder of tests or examples is in the row of a folder above.
func sharesCard(room string, purpose map[string]string) bool {
	top, _, _ := strings.Cut(room, "/")
	for above := room; (top == "test" || top == "examples") && above != "."; above = filepath.Dir(above) {
		if purpose[filepath.ToSlash(above)+"/…"] != "" {
			return true
		}
	}
	return false
}

// The page can be read from its top: a package imports what is explained before it.
func TestPackagesImportWhatIsAboveThem(t *testing.T) {
	t.Parallel()
	place, _ := readCards(t)
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			of, ours := roomOf(p.ImportPath), strings.HasPrefix(imported+"/", module)
			if from := roomOf(imported); ours && place[from] >= place[of] {
				t.Errorf("got the row of `%s`, which imports `%s`, before the row of that, want it after", of, from)
			}
		}
	}
}
