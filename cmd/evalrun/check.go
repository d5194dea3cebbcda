package main

import (
	"errors"
	"io"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/reports"
)

type checkedSuites struct {
	files    []string
	problems diag.List
	trials   int // of all suites
}

// Bad reports whether there is a problem that prevents a run.
func (c *checkedSuites) Bad() bool { return c.problems.HasErrors() }

// checkSuites checks suites together with the flags for running them. The error belongs to no file.
func checkSuites(f session.Options) (*checkedSuites, error) {
	c := &checkedSuites{files: f.Suites}
	err := c.check(f)
	if err != nil {
		c.problems.Errorf(diag.Pos{}, "", "%s", err)
	}
	return c, err
}

func (c *checkedSuites) check(f session.Options) error {
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
	if plan := j.Plan(); j.SelectsNothing(plan) && plan.Shard() == nil {
		return j.Nothing("")
	}
	return nil
}

// Write writes the problems in the format json, for editors, or github, for annotations.
func (c *checkedSuites) Write(w io.Writer, format string) error {
	if format == "github" {
		return reports.DiagnosticsGitHub(w, &c.problems)
	}
	return reports.DiagnosticsJSON(w, c.files, &c.problems)
}
