package main

import (
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

var schemas = []string{"suite", "part", "project", "prices", "script"}

// schemaText returns the JSON Schema for a kind of file.
func schemaText(what string) ([]byte, error) {
	if !slices.Contains(schemas, what) {
		return nil, eval.BadInput("there is no schema of %q; %s", what, diag.DidYouMean(what, schemas))
	}
	return schemaPage(what), nil
}

// schemaPage requires a name of Schemas.
func schemaPage(what string) []byte {
	switch what {
	case "part":
		return yaml.Document("A part that suites of evalrun include", suite.PartShape, suiteShapes())
	case "project":
		return yaml.Document("A project file of evalrun", session.Shape, nil)
	case "prices":
		return yaml.Document("A price list of evalrun", suite.PricesShape, nil)
	case "script":
		return yaml.Document("A script for evalrun's emulator", emulator.Shape, nil)
	}
	return yaml.Document("A suite of evalrun", suite.Shape, suiteShapes())
}

// suiteShapes are the definitions that the schema of suites refers to.
func suiteShapes() map[string]yaml.Shape {
	out := scorers.Builtin().Shapes()
	out["scorers"] = suite.ScorersShape
	return out
}
