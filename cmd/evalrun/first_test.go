package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
)

func nothing(string) string { return "" }

// A first suite loads, whatever a person writes into its places.
func TestAFirstSuiteLoadsWhateverIsWritten(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]First{
		"defaults":  {},
		"a prompt":  {Prompt: "Summarize {{.ticket}} in {{.ticket}} {{.words}} words: \"short\""},
		"the model": {Model: "models/my-own-model", Name: "own"},
	} {
		path := filepath.Join(t.TempDir(), "suite.yaml")
		if err := first.Write(path, nothing); err != nil {
			t.Errorf("%s: %v, want no error", name, err)
		}
		if err := first.Write(path, nothing); eval.Of(err) != eval.CodeBadInput || !strings.Contains(err.Error(), "exists already") {
			t.Errorf("%s, again: %v, want exit 2", name, err)
		}
	}
}

// What cannot be a line of the suite is refused, and nothing is written.
func TestAFirstSuiteRefusesSeveralLines(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]First{
		"two lines":            {Prompt: "one\ntwo"},
		"a long prompt":        {Prompt: strings.Repeat("x", maxFirstPrompt+1)},
		"a broken template":    {Prompt: "{{.x"},
		"a model of embedding": {Model: "embedding-001"},
		"a model of two lines": {Model: "a\nb"},
	} {
		path := filepath.Join(t.TempDir(), "suite.yaml")
		if err := first.Write(path, nothing); eval.Of(err) != eval.CodeBadInput {
			t.Errorf("%s: %v, want exit 2", name, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: got a suite, want none", name)
		}
	}
}
