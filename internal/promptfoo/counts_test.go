package promptfoo

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// The page about imports counts what became of the keys of all configurations that scripts import.
func TestThePageCountsKeys(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("../../cmd/evalrun/testdata/script/import_promptfoo*.txtar")
	expect.OK(t, err)
	var counts [statusIgnored + 1]int
	configs, keys := 0, 0
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		expect.OK(t, err)
		dir := t.TempDir()
		expect.OK(t, txtar.Write(archive, dir))
		for _, file := range archive.Files {
			if filepath.Ext(file.Name) != ".yaml" || strings.HasPrefix(file.Name, "want") {
				continue
			}
			im, err := Read(filepath.Join(dir, file.Name), Options{Root: dir}, &Problems{})
			if err != nil || im == nil {
				continue // not a configuration, or one that is refused
			}
			configs++
			for _, line := range im.fates.lines {
				counts[line.fate.status]++
				keys++
			}
		}
	}
	onPage(t, "### Counts\n\n", "\n\n## Where outcomes differ", fmt.Sprintf(
		"The %d configurations of evalrun's own tests, many of them odd on purpose, have %d keys: %d\n"+
			"imported, %d with a difference, %d not expressible, %d ignored by promptfoo.",
		configs, keys, counts[statusOK], counts[statusDiffers], counts[statusTODO], counts[statusIgnored],
	))
}
