package harness_test

import (
	"io"

	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/runs"
	"github.com/evalrun/evalrun/internal/term"
)

func init() {
	harness.Merge = func(dir rundir.Dir, shards []string, out string, getenv func(string) string) (string, error) {
		merged, err := runs.Folder{Dir: dir}.Merge(shards, runs.Merging{Out: out, Screen: term.Screen{Writer: io.Discard}, Getenv: getenv})
		if err != nil {
			return "", err
		}
		return merged.Name, nil
	}
}
