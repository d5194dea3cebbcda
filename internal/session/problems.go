package session

import (
	"io"

	"github.com/evalrun/evalrun/diag"
)

// Files collects the problems of the YAML files that a command reads: suites, an emulator's script, a price list.
type Files struct {
	Diags   diag.List
	sources map[string][]byte // contents by file name, to quote lines in messages
}

// Keep remembers the content of a file, so that WriteProblems can quote its lines.
func (f *Files) Keep(file string, src []byte) {
	if f.sources == nil {
		f.sources = map[string][]byte{}
	}
	f.sources[file] = src
}

// WriteProblems writes problems and warnings with their source lines.
func (f *Files) WriteProblems(w io.Writer, color bool) error {
	r := diag.Renderer{
		Source: func(file string) []byte { return f.sources[file] },
		Color:  color,
	}
	return r.Render(w, &f.Diags)
}

// BadFiles is the error of files with problems. A caller shows the problems with WriteProblems.
type BadFiles struct{ *Files }

func (b *BadFiles) Error() string { return b.Diags.Err().Error() }
