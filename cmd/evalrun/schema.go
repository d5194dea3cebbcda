package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/clients/emulator"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// schemas are the kinds of files that have a JSON Schema.
var schemas = []string{"suite", "part", "prices", "script"}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema [suite|part|prices|script]", Short: "Print the JSON Schema of a file, for editors", Args: atMost(1), ValidArgs: schemas,
		Long: "Prints the JSON Schema (draft 2020-12) of a suite, of a part that suites include, of a price list, or of a script\n" +
			"for the emulator. An editor with a YAML language server checks and completes a file by it that begins with\n\n" +
			"  # yaml-language-server: $schema=suite.schema.json\n\nwhere the path is relative to the file.",
		RunE: func(_ *cobra.Command, args []string) error {
			what := append(args, "suite")[0]
			if !slices.Contains(schemas, what) {
				return exit.BadInput("there is no schema of %q; %s", what, diag.DidYouMean(what, schemas))
			}
			_, err := a.out.Write(schemaOf(what))
			return err
		},
	}
}

// schemaOf is the JSON Schema of a kind of file.
func schemaOf(what string) []byte {
	switch what {
	case "part":
		return shape.Document("A part that suites of evalrun include", suite.PartShape, suiteShapes())
	case "prices":
		return shape.Document("A price list of evalrun", suite.PricesShape, nil)
	case "script":
		return shape.Document("A script for evalrun's emulator", emulator.Shape, nil)
	}
	return shape.Document("A suite of evalrun", suite.Shape, suiteShapes())
}

// suiteShapes are those that suites refer to.
func suiteShapes() map[string]shape.Shape {
	out := scorers.Builtin().Shapes()
	out["scorers"] = suite.ScorersShape
	return out
}
