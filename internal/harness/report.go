package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/atomic"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// Output is a report and where it goes.
type Output struct {
	Format *reports.Format
	Path   string // "" is standard output
}

// Standard reports whether it goes to standard output.
func (o Output) Standard() bool { return o.Path == "" }

// standard stands for standard input or standard output where a file is named.
const standard = regular.Standard

// Outputs reads the values of -o and checks that every path can be written. Without
// one for standard output the table goes there.
func Outputs(values []string) ([]Output, error) {
	var out []Output
	stdout := ""
	for _, v := range values {
		name, path, hasPath := strings.Cut(v, "=")
		if path == standard {
			path, hasPath = "", false
		}
		f := reports.Lookup(name)
		switch {
		case f == nil && strings.Contains(name, "."):
			return nil, exit.BadInput("-o takes a format, and a path after it: -o %s=%s", likely(name), name)
		case f == nil:
			return nil, exit.BadInput("there is no report format %q; %s", name, diag.DidYouMean(name, reports.Names()))
		case hasPath && path == "":
			return nil, exit.BadInput("-o %s names no file after the =", v)
		case !hasPath && stdout != "":
			return nil, exit.BadInput("both %s and %s would go to standard output; give one of them a path: -o %s=FILE", stdout, name, name)
		case !hasPath:
			stdout = name
		default:
			if err := writable(path); err != nil {
				return nil, exit.BadInput("the report %s cannot be written: %w", path, err)
			}
		}
		out = append(out, Output{f, path})
	}
	if stdout == "" {
		out = append(out, Output{reports.Lookup("table"), ""})
	}
	return out, nil
}

// likely is the format that a file's name suggests.
func likely(file string) string {
	if strings.HasSuffix(file, ".xml") {
		return "junit"
	}
	if strings.HasSuffix(file, ".md") {
		return "markdown"
	}
	if ext := strings.TrimPrefix(filepath.Ext(file), "."); reports.Lookup(ext) != nil {
		return ext
	}
	return "json"
}

// writable reports why a file could not be written, without changing it.
func writable(path string) error {
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return errors.New("it is a folder")
		}
		if !info.Mode().IsRegular() {
			return nil
		}
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".evalrun-*")
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no folder %s", filepath.Dir(path))
	}
	if err != nil {
		var pathErr *os.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// OpenRun opens a run by its directory, its file, or its id below .evalrun/runs. Its gate is left to ApplyGate.
func OpenRun(name string) (*journal.Document, error) {
	d, err := journal.Open(runPath(name))
	if errors.Is(err, journal.ErrNoRun) {
		return nil, exit.BadInput("there is no run %s%s", name, latest())
	}
	if err != nil {
		return nil, exit.BadInput("the run cannot be read: %w", err)
	}
	return d, nil
}

// runPath is where a run is that was named by its directory, its file, its id, or `latest`.
func runPath(name string) string {
	if _, err := os.Stat(name); err == nil || strings.ContainsAny(name, `/\`) {
		return name
	}
	if name == "latest" {
		name = latestRun()
	}
	return filepath.Join(runsDir, name)
}

// latest names the newest run below .evalrun/runs, as a hint.
func latest() string {
	if name := latestRun(); name != "" {
		return fmt.Sprintf("; the latest below %s is %s", runsDir, name)
	}
	return fmt.Sprintf("; there is none below %s", runsDir)
}

// latestRun is the id of the newest run below .evalrun/runs, "" when there is none. Ids begin with
// the time.
func latestRun() string {
	if runs := Runs(); len(runs) > 0 {
		return runs[len(runs)-1]
	}
	return ""
}

// Runs lists the ids of the runs below .evalrun/runs, the oldest first.
func Runs() []string {
	entries, err := os.ReadDir(runsDir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(runsDir, e.Name(), journal.FileName)); err == nil {
			out = append(out, e.Name())
		}
	}
	return out
}

// WriteReports writes the reports, files first, so that a reader who has gone away costs
// none of them. It returns the paths written.
func WriteReports(d *journal.Document, outputs []Output, stdout io.Writer, o reports.Options) ([]string, error) {
	var written []string
	var failed []error
	for _, out := range outputs {
		if out.Path == "" {
			continue
		}
		err := writeFile(out.Path, func(w io.Writer) error { return out.Format.Write(w, d, reports.Options{}) })
		if failed = append(failed, seenEnough(err, "the report "+out.Path)); err == nil {
			written = append(written, fmt.Sprintf("%s: %s", out.Format.Name, out.Path))
		}
	}
	for _, out := range outputs {
		if out.Path == "" {
			w := bufio.NewWriter(reports.Guarded(out.Format.Name, stdout))
			failed = append(failed, seenEnough(errors.Join(out.Format.Write(w, d, o), w.Flush()), "the report"))
		}
	}
	return written, errors.Join(failed...)
}

// seenEnough words the error of a report that could not be written, unless it was a reader of a pipe that
// has seen enough. One report that fails costs none of the others.
func seenEnough(err error, what string) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return exit.Incomplete("%s cannot be written: %w", what, err)
}

// writeFile replaces a file as a whole or not at all: a temporary file beside it takes its
// place once it is complete. What is no regular file, such as a pipe, is written to.
func writeFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(file, write), file.Close())
	}
	return atomic.Write(path, 0o644, write)
}

func buffered(file *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(file, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// NearestCase names the case of a run that a slip may have meant, as a hint.
func NearestCase(d *journal.Document, name string) string {
	var names []string
	for row := range d.Rows() {
		names = append(names, row.Case)
	}
	if hint := diag.DidYouMean(name, names); hint != "" {
		return "; " + hint
	}
	return ""
}
