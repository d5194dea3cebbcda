// Package term has what commands need of a terminal: its width, whether a person is there, lines and tables
// that fit, and the progress of a run.
package term

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Screen is standard output.
type Screen struct {
	io.Writer
	Width int // columns, 0 if it is not a terminal
	Color bool
}

// JSON writes a value as one line of JSON.
func (s Screen) JSON(v any) error {
	lines := json.NewEncoder(s)
	lines.SetEscapeHTML(false)
	return lines.Encode(v)
}

// Columns returns the width of a terminal, 0 for anything else.
func Columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		return 80
	}
	return columns
}

// Interactive reports whether a person can answer questions on in.
func Interactive(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Printer keeps the first error of several prints.
type Printer struct {
	W   io.Writer
	Err error
}

// Printf does nothing after an error.
func (p *Printer) Printf(format string, args ...any) {
	if p.Err == nil {
		_, p.Err = fmt.Fprintf(p.W, format, args...)
	}
}
