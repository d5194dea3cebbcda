package main

import (
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/promptfoo"
	"github.com/evalrun/evalrun/reports"
)

// An import suggests -o with formats that there are.
func TestOutputsOfPromptfooBecomeFormats(t *testing.T) {
	t.Parallel()
	for ending, format := range promptfoo.OutputFormats() {
		if !slices.Contains(reports.Names(), format) {
			t.Errorf("%q becomes -o %s, want one of %v", ending, format, reports.Names())
		}
	}
}
