package promptfoo

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// keyKinds are rows of the page, each with what the path of a key has.
var keyKinds = [][2]string{
	{"`assert`", ".assert"},
	{"`vars`", ".vars"},
	{"`options`", ".options"},
	{"`providers`, `targets`", "providers"},
	{"`prompts`", "prompts"},
	{"other keys of `tests`, `defaultTest`, `scenarios`", "tests"},
	{"other top-level keys", ""},
}

func keyKind(path string) int {
	path = strings.NewReplacer("targets", "providers", "defaultTest", "tests", "scenarios", "tests").Replace(path)
	for i, kind := range keyKinds {
		inside := strings.HasPrefix(kind[1], ".")
		if inside && strings.Contains(path+".", kind[1]) || !inside && strings.HasPrefix(path, kind[1]) {
			return i
		}
	}
	return len(keyKinds) - 1
}

// The page about imports counts what became of the keys of all configurations that scripts import.
func TestThePageCountsKeys(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("../../cmd/evalrun/testdata/script/import_promptfoo*.txtar")
	expect.OK(t, err)
	var counts [7][statusIgnored + 1]int
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
				counts[keyKind(line.path)][line.fate.status]++
				keys++
			}
		}
	}
	var b strings.Builder
	for i, kind := range keyKinds {
		n := counts[i]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", kind[0], n[statusOK], n[statusDiffers], n[statusTODO], n[statusIgnored])
	}
	head := fmt.Sprintf("The %d configurations of evalrun's own tests, many of them odd on purpose, have %d keys:\n\n", configs, keys)
	onPage(t, "### Counts\n\n", "\n## Where outcomes differ", head+
		"| keys | imported | with a difference | not expressible | ignored by promptfoo |\n|---|---|---|---|---|\n"+b.String())
}
