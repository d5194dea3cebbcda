package authoring

import (
	"slices"

	"github.com/evalrun/evalrun/clients/emulator"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/project"
	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// Schemas lists the kinds of files that have a JSON Schema.
var Schemas = []string{"suite", "part", "project", "prices", "script"}

// Schema returns the JSON Schema for a kind of file.
func Schema(what string) ([]byte, error) {
	if !slices.Contains(Schemas, what) {
		return nil, exit.BadInput("there is no schema of %q; %s", what, diag.DidYouMean(what, Schemas))
	}
	return schemaOf(what), nil
}

// schemaOf requires a name of Schemas.
func schemaOf(what string) []byte {
	switch what {
	case "part":
		return shape.Document("A part that suites of evalrun include", suite.PartShape, suiteShapes())
	case "project":
		return shape.Document("A project file of evalrun", project.Shape, nil)
	case "prices":
		return shape.Document("A price list of evalrun", suite.PricesShape, nil)
	case "script":
		return shape.Document("A script for evalrun's emulator", emulator.Shape, nil)
	}
	return shape.Document("A suite of evalrun", suite.Shape, suiteShapes())
}

// suiteShapes are the definitions that the schema of suites refers to.
func suiteShapes() map[string]shape.Shape {
	out := scorers.Builtin().Shapes()
	out["scorers"] = suite.ScorersShape
	return out
}
