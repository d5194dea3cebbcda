package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Below the base every link counts. Elsewhere a link counts if it leads out of its own folder, or is the file itself.
func TestLinkFindsTheFirstLinkOnTheWay(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	expect.OK(t, err)
	expect.OK(t, os.MkdirAll(filepath.Join(root, "real/base/sub"), 0o755), os.MkdirAll(filepath.Join(root, "other"), 0o755))
	for link, to := range map[string]string{
		"system": "real", "real/base/in": "sub", "real/base/out": "../../other", "real/base/gone": "nowhere", "other/away": "../real",
	} {
		expect.OK(t, os.Symlink(to, filepath.Join(root, link)))
	}
	base := filepath.Join(root, "real/base")
	for name, want := range map[string]string{
		"sub/x": "", "sub/../x": "", "": "", "x/y/z": "", "/": "",
		"in": "real/base/in", "in/x": "real/base/in", "out/../x": "real/base/out", "gone": "real/base/gone", "./out": "real/base/out",
		"../../other/x": "", "../../other/away/x": "other/away",
		"ROOT/real/base/in/x": "real/base/in", "ROOT/system/base/sub": "", "ROOT/system/base/out/x": "system/base/out",
		"ROOT/other/away/base": "other/away", "ROOT/system": "system",
	} {
		got := Link(base, strings.Replace(name, "ROOT", root, 1))
		if rel, err := filepath.Rel(root, got); err == nil && got != "" {
			got = filepath.ToSlash(rel)
		}
		expect.Same(t, name, got, want)
	}
}
