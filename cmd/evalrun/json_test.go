package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// withoutJSON are commands that have neither a list nor a result for programs.
var withoutJSON = map[string]string{
	"accept": "a person decides about each answer", "comment": "posts Markdown", "publish": "writes a site", "view": "serves",
	"emulate": "serves", "ledger": "serves", "init": "writes a suite",
	"import promptfoo": "writes a suite", "import evals-json": "writes a suite",
	"schema": "prints JSON, and nothing else", "embed": "prints JSON lines, and nothing else",
	"auth login": "opens a browser", "auth logout": "deletes a token",
	"baseline set": "names a run", "baseline export": "writes a file", "man": "writes pages", "help": "shows pages",
	"completion bash": "writes a script", "completion fish": "writes a script", "completion powershell": "writes a script",
	"completion zsh": "writes a script",
}

// Every command with a list or a result takes --json, and -o json for the same.
func TestJSONWorksWhereverThereIsAResult(t *testing.T) {
	t.Parallel()
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "evalrun ")
		if cmd.HasSubCommands() || !cmd.Runnable() {
			return
		}
		json, other := cmd.Flags().Lookup("json"), cmd.Flags().ShorthandLookup("o")
		if _, without := withoutJSON[name]; without {
			seen++
			expect.Same(t, name+": has --json", json != nil, false)
			return
		}
		if json == nil || other == nil {
			t.Errorf("%s: got --json %v and -o %v, want both", name, json != nil, other != nil)
			return
		}
		expect.OK(t, other.Value.Set("json"))
		expect.OK(t, json.Value.Set("true"))
	}
	walk((&app{}).root())
	expect.Same(t, "commands without --json", seen, len(withoutJSON))
}
