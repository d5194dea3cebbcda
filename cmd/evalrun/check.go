package main

import (
	"errors"
	"io"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/reports"
)

// Checked is the result of checking suites.
type Checked struct {
	files    []string
	problems diag.List
	trials   int // of all suites
}

// Bad reports whether there is a problem that prevents a run.
func (c *Checked) Bad() bool { return c.problems.HasErrors() }

// Problems returns a Checked with problems that another package found.
func Problems(found *diag.List) *Checked { return &Checked{problems: *found} }

// Check checks suites together with the flags for running them. The result has all problems. An error that
// belongs to no file is returned as well.
func Check(f session.Options) (*Checked, error) {
	c := &Checked{files: f.Suites}
	err := c.check(f)
	if err != nil {
		c.problems.Errorf(diag.Pos{}, "", "%s", err)
	}
	return c, err
}

func (c *Checked) check(f session.Options) error {
	l, err := session.Load(f)
	if err != nil {
		return err
	}
	c.problems.Merge(l.Diags)
	for _, s := range l.Suites {
		c.trials += s.Planned()
	}
	if c.Bad() {
		return nil
	}
	j, err := l.Settle()
	var other *session.BadFiles // a problem in another file, such as a price list
	if errors.As(err, &other) {
		c.problems.Merge(other.Diags)
		return nil
	}
	if err != nil || !f.Narrows() {
		return err
	}
	if plan := j.Plan(); plan.Size() == 0 && plan.Shard() == nil {
		return j.Nothing("")
	}
	return nil
}

// Write writes the problems in the format json, for editors, or github, for annotations.
func (c *Checked) Write(w io.Writer, format string) error {
	if format == "github" {
		return reports.DiagnosticsGitHub(w, &c.problems)
	}
	return reports.DiagnosticsJSON(w, c.files, &c.problems)
}
