package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/session"
)

type doctorOptions struct {
	evalrun.Options
	json bool
}

func (a *app) doctorCommand() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use: "doctor [SUITE...]", Short: "Check the set-up, and say what to do if it is wrong",
		Long: "Shows the effective settings and where each comes from: a flag, a variable, a suite. It checks whether\n" +
			"there is a key or a login, and whether the service answers and has the models of the suites. It requests the\n" +
			"list of models and nothing that costs. It shows no secret.\n\n" +
			"It exits 0 when all is well, 2 when the configuration is wrong, 4 when the service cannot be used.",
		Example: "  evalrun doctor\n  evalrun doctor suite.yaml --base-url https://service.example",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.doctor(ctx, o) })
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Service(&o.Options)
	fs.Attempts(&o.Options)
	fs.Lookup("attempts").Usage = "try each call at most `N` times (default 1)"
	fs.Lookup("timeout").Usage = "end each attempt after this long, body included (default 10s)"
	fs.Untrusted(&o.Options)
	fs.JSON(&o.json)
	flags.ConfigSuites(cmd, &o.Options)
	return cmd
}

func (a *app) doctor(ctx context.Context, o doctorOptions) error {
	examined := session.Doctor{
		Options: a.settings(&o.Options),
		Version: buildVersion(),
		Width:   a.outWidth,
		Color:   a.color(a.outWidth),
	}
	found := examined.Examine(ctx)
	write := a.writeCheckup
	if o.json {
		write = func(c *session.Checkup) error { return a.screen().JSON(c) }
	}
	if err := write(found); err != nil {
		return err
	}
	return exitWith(found.Exit)
}

func (a *app) writeCheckup(c *session.Checkup) error {
	p := term.Printer{W: a.out}
	for _, s := range c.Settings {
		value := s.Value
		if value == "" {
			value = "-"
		}
		p.Printf("%-14s %s  (%s)\n", s.Name, diag.CleanLine(value), diag.CleanLine(s.From))
	}
	if len(c.Settings) > 0 {
		p.Printf("\n")
	}
	counts := map[session.CheckState]int{}
	for _, check := range c.Checks {
		counts[check.State]++
		a.writeCheck(&p, &check)
	}
	p.Printf(
		"\n%s, %s\n",
		diag.Count(counts[session.Problem], string(session.Problem)),
		diag.Count(counts[session.Warning], string(session.Warning)),
	)
	return p.Err
}

func (a *app) writeCheck(p *term.Printer, check *session.Check) {
	state := string(check.State) + strings.Repeat(" ", 8-len(check.State))
	if a.color(a.outWidth) {
		colors := map[session.CheckState]string{session.OK: "32", session.Warning: "33", session.Problem: "31"}
		state = "\x1b[" + colors[check.State] + "m" + state + "\x1b[0m"
	}
	p.Printf("%s %-10s", state, check.Name)
	a.hanging(p, check.Text)
	if check.Advice != "" {
		p.Printf("%19s", "")
		a.hanging(p, "do: "+check.Advice)
	}
	if check.Page != "" && check.State != session.OK {
		p.Printf("%19sread: evalrun help %s\n", "", check.Page)
	}
}

// hanging writes a text whose first line has begun, its other lines below the first.
func (a *app) hanging(p *term.Printer, text string) {
	for i, line := range diag.Wrap(diag.CleanLine(text), a.outWidth-19) {
		if i > 0 {
			p.Printf("%19s", "")
		}
		p.Printf("%s\n", line)
	}
}
