package promptfoo

import (
	"embed"
	"slices"
	"strings"
)

//go:embed shims
var shimFiles embed.FS

// File names of the shims.
const (
	shimAssertJS   = "assert.mjs"
	shimAssertPy   = "assert.py"
	shimProviderJS = "provider.mjs"
	shimProviderPy = "provider.py"
	shimExec       = "exec.py"
)

// shims are the shims of a suite. They run the author's code unchanged.
type shims struct{ used []string }

func newShims() *shims { return &shims{} }

func (s *shims) use(name string) string {
	if !slices.Contains(s.used, name) {
		s.used = append(s.used, name)
	}
	return "shims/" + name
}

func (s *shims) addTo(files map[string][]byte) error {
	for _, name := range s.used {
		data, err := shimFiles.ReadFile("shims/" + name)
		if err != nil {
			return err
		}
		files["shims/"+name] = data
	}
	return nil
}

// programs lists the programs that the shims need.
func (s *shims) programs() (out []string) {
	for _, name := range s.used {
		program := python
		if strings.HasSuffix(name, ".mjs") {
			program = javaScript
		}
		if !slices.Contains(out, program) {
			out = append(out, program)
		}
	}
	slices.Sort(out)
	return out
}
