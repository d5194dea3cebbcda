package harness

import (
	"io/fs"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/layers"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// earlier loads an earlier version of a suite out of the repository in whose folder it stands.
func earlier(dir, base, ref string, opts suite.Options) (*suite.Suite, error) {
	version := layers.Git{Dir: dir, Ref: ref}
	if err := version.Check(); err != nil {
		return nil, exit.BadInput("--interleave: %w", err)
	}
	return loadEarlier(version, base, ref, opts)
}

// loadEarlier loads an earlier version of a suite. Its mistakes are one error: nobody can repair them any more.
func loadEarlier(files fs.FS, base, ref string, opts suite.Options) (*suite.Suite, error) {
	opts.Expected = layers.None{} // its answers are judged by the suite itself
	var diags diag.List
	s := suite.Load(files, base, base+"@"+ref, scorers.Builtin(), opts, &diags)
	if diags.HasErrors() {
		return nil, exit.BadInput("--interleave: the version %s of %s cannot be used: %w", ref, base, diags.Err())
	}
	return s, nil
}
