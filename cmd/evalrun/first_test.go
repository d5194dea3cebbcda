package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
)

func nothing(string) string { return "" }

// A first suite loads, whatever a person writes into its places.
func TestAFirstSuiteLoadsWhateverIsWritten(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]newSuite{
		"defaults":  {},
		"a prompt":  {Prompt: "Summarize {{.ticket}} in {{.ticket}} {{.words}} words: \"short\""},
		"the model": {Model: "models/my-own-model", Name: "own"},
	} {
		path := filepath.Join(t.TempDir(), "suite.yaml")
		if err := first.Write(path, nothing); err != nil {
			t.Errorf("%s: %v, want no error", name, err)
		}
		if err := first.Write(path, nothing); eval.CodeOf(err) != eval.CodeBadInput || !strings.Contains(err.Error(), "exists already") {
			t.Errorf("%s, again: %v, want exit 2", name, err)
		}
	}
}
