package main

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/diag"
)

// open shows the HTML report of a run, and writes it first if needed. Without a browser, a notice has its path.
func (a *app) open(r *evalrun.Result) error {
	path := ""
	for _, line := range r.Reports {
		if file, isHTML := strings.CutPrefix(line, "html: "); isHTML {
			path = file
		}
	}
	if path == "" {
		var err error
		if path, err = a.runs.html(r.Name, a.screen()); err != nil {
			return err
		}
	}
	err := errors.New("CI is set")
	if a.getenv("CI") == "" {
		err = a.browse(fileURL(path))
	}
	if err != nil {
		fmt.Fprintf(a.err, "no browser could be opened (%s): open %s yourself\n", diag.CleanLine(err.Error()), diag.CleanLine(path))
	}
	return nil
}

func fileURL(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
