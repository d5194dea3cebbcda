package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/text"
)

type proxyOptions struct {
	evalrun.Options
	models []string
	json   bool
}

func (a *app) proxyCommand() *cobra.Command {
	var o proxyOptions
	cmd := &cobra.Command{
		Use: "proxy -- PROGRAM [ARG...]", Short: "Count and limit the calls of models that a program makes", Args: cobra.ArbitraryArgs,
		Long: "Runs a program as it is, with the address of a proxy in OPENAI_BASE_URL, ANTHROPIC_BASE_URL and\n" +
			"GOOGLE_GEMINI_BASE_URL and a token in place of the key. Calls go on to the services of the project file, or to\n" +
			"the vendors. At the end it prints the account on standard error, and exits with the program's status.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return eval.BadInput("the program comes after `--`, and flags before it: evalrun proxy -- PROGRAM ARGS")
			}
			return a.proxy(cmd.Context(), &o, args)
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Services(&o.Options)
	fs.Limits(&o.Options)
	fs.Ledger(&o.Options)
	fs.StringSliceVar(&o.models, "models", nil, "let it call the `NAMES`: services of the project file, or vendors (default those with a key)")
	fs.Recording(&o.Options)
	fs.JSON(&o.json)
	fs.Lookup("json").Usage = "print the account as JSON, on standard error"
	flags.Config(cmd, &o.Options)
	return cmd
}

func (a *app) proxy(ctx context.Context, o *proxyOptions, words []string) error {
	path, err := exec.LookPath(words[0])
	if err != nil {
		return notStarted(words[0], err)
	}
	signals, release := a.signals()
	defer release()
	l, err := a.loaded(session.LoadProxy(a.settings(&o.Options), o.models))
	if err != nil {
		return err
	}
	j, err := l.Settle()
	if err != nil {
		return err
	}
	s, err := a.caller().Connect(j)
	if err != nil {
		return err
	}
	defer s.Close()
	proxied, err := s.Proxy(ctx)
	if err != nil {
		return err
	}
	program := exec.Command(path, words[1:]...) //nolint:gosec // it is the user's own command
	program.Args[0], program.Env = words[0], proxied.Environ()
	program.Stdin, program.Stdout, program.Stderr = a.in, asItComes(a.out), asItComes(a.err)
	if err := program.Start(); err != nil {
		return notStarted(words[0], err)
	}
	proxied.WhenOver(func() { _ = program.Process.Signal(syscall.SIGTERM) })
	ended := awaitProgram(program, signals)
	account, err := proxied.Close()
	if o.json {
		err = errors.Join(term.Screen{Writer: a.err}.JSON(account), err)
	} else {
		a.writeAccount(account, words[0])
	}
	if code := files.StatusOf(ended); err == nil || code != eval.CodeOK {
		a.explain(err)
		return exitWith(code)
	}
	return err
}

// notStarted says in words and by the status that shells have for it why a program does not run.
func notStarted(name string, err error) error {
	var search *exec.Error
	var start *os.PathError
	why := err
	if errors.As(err, &search) {
		why = search.Err
	} else if errors.As(err, &start) {
		why = start.Err
	}
	return eval.WithCode(files.StatusOf(err), fmt.Errorf("the program %q cannot be started: %w", name, why))
}

// asItComes is a stream for a program, whose every byte arrives.
func asItComes(w io.Writer) io.Writer {
	if v, ok := w.(*term.Visible); ok {
		return v.W
	}
	return w
}

// awaitProgram waits for the end of a program, and passes signals on that the terminal does not send to it itself.
func awaitProgram(program *exec.Cmd, signals <-chan os.Signal) error {
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	for {
		select {
		case err := <-ended:
			return err
		case one := <-signals:
			if one == syscall.SIGTERM || !term.Foreground() {
				_ = program.Process.Signal(one) // it may have ended
			}
		}
	}
}

func (a *app) writeAccount(all *session.Account, name string) {
	if len(all.Models) > 1 {
		for i := range all.Models {
			one := &all.Models[i]
			fmt.Fprintf(a.err, "evalrun: %s of %s: %s\n", diag.CleanLine(one.Model), one.Service, accountLine(one))
		}
	}
	fmt.Fprintf(a.err, "evalrun: %s\n", accountLine(all))
	switch {
	case len(all.Unread) > 0:
		fmt.Fprintf(a.err, "evalrun: warning: the program `%s` made no call through evalrun's proxy: does it read %s?\n",
			diag.CleanLine(name), strings.Join(all.Unread, ", "))
	case all.Limit != "":
		fmt.Fprintf(a.err, "evalrun: further calls were refused: %s\n", all.Limit)
	case all.Problem != "":
		fmt.Fprintf(a.err, "evalrun: the last call that failed: %s\n", diag.CleanLine(all.Problem))
	}
}

func accountLine(a *session.Account) string {
	line := diag.Count(a.Calls, "call") + of(a.Failed, "failed") + ", " + diag.Count(a.Steps, "step") + ", " +
		diag.Count(a.ToolCalls, "tool call") + of(a.ToolErrors, "failed") + ", "
	if a.Usage.Source == eval.UsageEstimated {
		line += "about "
	}
	line += diag.Count(a.Usage.TotalTokens, "token") + of(a.Usage.CachedTokens, "cached")
	if a.Cost != nil {
		line += ", " + text.Money(*a.Cost) + " " + a.Currency
	}
	return line
}

// of is a part of a number, "" for none.
func of(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d %s)", n, what)
}
