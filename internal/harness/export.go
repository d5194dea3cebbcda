package harness

import (
	"os"

	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/rundir"
)

// Export writes what a comparison needs of a run to one file: a run file without prompts, answers and what may quote them.
func Export(at rundir.Dir, name, out string) error {
	path, err := at.FindBaseline(name)
	if err != nil {
		return exit.BadInput("%w", err)
	}
	d, err := at.Open(path)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // it was only read
	if err := rundir.Usable(d, path); err != nil {
		return err
	}
	if out == standard {
		return d.Export(os.Stdout)
	}
	if err := rundir.Writable(at.Join(out)); err != nil {
		return exit.BadInput("%s cannot be written: %w", out, err)
	}
	if err := rundir.WriteFile(at.Join(out), d.Export); err != nil {
		return exit.Incomplete("%s cannot be written: %w", out, err)
	}
	return nil
}
