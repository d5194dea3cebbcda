// Package testrun has runs for the tests of reports, and compares what reports write with golden files. Tests alone use it.
package testrun

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update tells tests to renew what they compare with: -update.
var Update = flag.Bool("update", false, "renew the golden files")

// Golden compares what a report wrote with a file in testdata; with -update it renews the file.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *Update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (make golden renews it):\n%s", name, d)
	}
}
