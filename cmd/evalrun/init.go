package main

import (
	_ "embed" // the first suite
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/internal/harness"
)

//go:embed init.yaml
var firstSuite []byte

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use: "init [FILE]", Short: "Write a commented first suite", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := "suite.yaml"
			if len(args) == 1 {
				path = args[0]
			}
			return a.init(path)
		},
	}
}

func (a *app) init(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return harness.Exitf(harness.ExitBadInput, "%s exists already; name another file: evalrun init FILE", path)
	}
	if err != nil {
		return harness.Exitf(harness.ExitBadInput, "the suite cannot be written: %w", err)
	}
	if _, err := f.Write(firstSuite); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "wrote %s\ntry it:    evalrun run %s --emulator\nfor real:  export EVALRUN_API_KEY=...; evalrun run %s --base-url https://...\n", path, path, path)
	return err
}
