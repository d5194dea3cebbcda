package main

import (
	"github.com/spf13/cobra"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema [suite|part|project|prices|script]", Short: "Print the JSON Schema of a file, for editors",
		Args:      atMost(1),
		ValidArgs: schemas,
		Long: "Prints the JSON Schema (draft 2020-12) of a suite, of a part that suites include, of a project file, of a " +
			"price list,\nor of a script for the emulator. An editor with a YAML language server checks and completes a " +
			"file that begins with\n\n" +
			"  # yaml-language-server: $schema=suite.schema.json\n\nwhere the path is relative to the file.",
		RunE: func(_ *cobra.Command, args []string) error {
			schema, err := schemaText(append(args, "suite")[0])
			if err == nil {
				_, err = a.out.Write(schema)
			}
			return err
		},
	}
}
