package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// Every folder with a package, of any module, is on the page that explains the packages. It may be there as part of the folder above, such
// as `clients/…`.
func TestPackagesAreOnThePage(t *testing.T) {
	t.Parallel()
	const root = "../.."
	page, err := os.ReadFile(root + "/docs/contributing/architecture.md")
	expect.OK(t, err)
	named := func(name string) bool { return strings.Contains(string(page), "`"+name+"`") }
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
		top, _, _ := strings.Cut(room, "/")
		if !named(room) && (top == "internal" || !named(top+"/…")) {
			t.Errorf("got a page without `%s`, want it in the table of packages", room)
		}
		return nil
	}))
}
