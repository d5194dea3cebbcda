// Command evalrun-fleet runs suites on several machines: one process plans, counts, writes and judges, and
// workers make the calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// version is set by the linker in releases.
var version = "development"

func main() { os.Exit(code(os.Args[1:])) }

// code runs a command line and returns its exit code.
func code(args []string) (code int) {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is a write error, and must not kill the process
	log.SetOutput(io.Discard)      // net/http would log unexpected data from services
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "evalrun-fleet: this is a bug in evalrun, not in what you did: %v\n", p)
			if os.Getenv("EVALRUN_DEBUG") != "" {
				fmt.Fprintf(os.Stderr, "%s\n", debug.Stack())
			}
			code = eval.CodeIncomplete
		}
	}()
	root := command()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	explain(err)
	return eval.CodeOf(err)
}

// errSaid is wrapped by errors that were printed already.
var errSaid = errors.New("")

// explain prints an error.
func explain(err error) {
	if err == nil || errors.Is(err, errSaid) {
		return
	}
	var b strings.Builder
	_ = evalrun.WriteError(&b, err, false) // a builder never fails
	text := b.String()
	if strings.Count(text, "\n") <= 1 {
		text = "evalrun-fleet: " + diag.CleanLine(strings.TrimSpace(text)) + "\n"
	}
	fmt.Fprint(os.Stderr, text)
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use: "evalrun-fleet", Short: "Run suites with workers on several machines", Version: version,
		Long:         "One process holds a million trials, so you probably do not need this: docs/how-to/fleet.md says when.",
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("evalrun-fleet {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		var conflict flags.Conflict
		if errors.As(err, &conflict) {
			err = conflict
		}
		return eval.BadInput("%w", err)
	})
	var global flags.Global
	global.Add(root)
	root.AddCommand(serveCommand(&global), workCommand())
	return root
}

// catch starts to catch signals.
func catch() <-chan os.Signal {
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(caught, syscall.SIGHUP)
	}
	return caught
}
