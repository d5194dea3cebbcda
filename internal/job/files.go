package job

import (
	"io"

	"github.com/evalrun/evalrun/diag"
)

// Files are YAML files that were read: suites, an emulator's script, a price list.
type Files struct {
	Diags   diag.List
	sources map[string][]byte // for the source lines of messages
}

// Keep remembers what a file holds, for the source lines of messages.
func (f *Files) Keep(file string, src []byte) {
	if f.sources == nil {
		f.sources = map[string][]byte{}
	}
	f.sources[file] = src
}

// WriteProblems writes problems and warnings with their source lines.
func (f *Files) WriteProblems(w io.Writer, color bool) error {
	return diag.Renderer{Source: func(file string) []byte { return f.sources[file] }, Color: color}.Render(w, &f.Diags)
}

// BadFiles is the error of files with problems, which Tell shows.
type BadFiles struct{ *Files }

func (m *BadFiles) Error() string { return m.Diags.Err().Error() }
