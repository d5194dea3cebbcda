package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/text"
)

type planOptions struct {
	evalrun.Options
	count, json, runPrograms bool
}

func (a *app) planCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "plan [SUITE...]", Short: "Show what a run would send, and what it may cost", Args: suites,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.showPlan(ctx, &o) })
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Service(&o.Options)
	fs.Limits(&o.Options)
	fs.BoolVar(&o.Batch, "batch", false, "compare money and time of a run with --batch, and without it")
	fs.Select(&o.Options)
	completeSelection(cmd)
	fs.Untrusted(&o.Options)
	fs.Baseline(&o.Options)
	fs.Race(&o.Options)
	fs.BoolVar(&o.count, "count", false, "let the service count the tokens of the prompts (countTokens calls)")
	fs.RunPrograms(&o.runPrograms)
	fs.JSON(&o.json)
	flags.ConfigSuites(cmd, &o.Options)
	return cmd
}

func (a *app) showPlan(ctx context.Context, o *planOptions) error {
	j, err := a.writtenJob(ctx, &o.Options, o.runPrograms)
	if err != nil {
		return err
	}
	if err := j.CheckBatches(); err != nil {
		return err
	}
	var f *session.Forecast
	plan := j.Plan()
	if o.count {
		opened, err := a.caller().Connect(j)
		if err != nil {
			return err
		}
		defer opened.Close()
		if plan, err = opened.Plan(ctx); err != nil {
			return err
		}
		if f, err = session.NewForecast(ctx, plan, &j.Settings.Limits, j.Settings.Prices, opened.Counter(), j.Batching()); err != nil {
			return eval.Incomplete("the tokens could not be counted: %w", err)
		}
	} else {
		f, err = session.NewForecast(ctx, plan, &j.Settings.Limits, j.Settings.Prices, nil, j.Batching())
		if err != nil {
			return err
		}
	}
	if j.SelectsNothing(plan) {
		return j.Nothing("")
	}
	f.Concurrency = j.AtOnce()
	if lacking := j.UnwrittenNotice(); lacking != "" {
		f.Problems = append(f.Problems, lacking)
	}
	if err := f.Outlooks(plan, a.runs.Dir, j); err != nil {
		return err
	}
	if o.json {
		return a.screen().JSON(f)
	}
	var text strings.Builder
	if err := writeForecast(&text, f); err != nil {
		return err
	}
	return writeWrapped(a.out, text.String(), a.outWidth)
}

// writeWrapped writes lines, and breaks lines that are wider than a terminal between words.
func writeWrapped(w io.Writer, text string, width int) error {
	p := &term.Printer{W: w}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for _, part := range diag.Wrap(strings.TrimLeft(line, " "), width-len(indent)) {
			p.Printf("%s%s\n", indent, part)
		}
	}
	return p.Err
}

// writeOutlook writes what difference the gate of an arm can detect, with how many cases.
func writeOutlook(p *term.Printer, g *session.GateOutlook) {
	margin := ""
	if g.Margin > 0 {
		margin = fmt.Sprintf("margin %g of the pass rate at an error rate of %g, ", g.Margin, g.Alpha)
	}
	if g.Estimand == eval.OfSuite {
		writeSuiteOutlook(p, g, margin)
		return
	}
	p.Printf("%s\n", diag.CleanLine(fmt.Sprintf("gate of %s on %s: %s%s, %s, up to %s",
		g.Suite, g.Arm, margin, diag.Count(g.Units, "independent case"), diag.Count(g.Calls, "call"), unlimited(g.Tokens))))
	if g.Units < g.Reach {
		p.Printf("  it takes %d cases if not one of them flips; with fewer it holds only if some get better\n", g.Reach)
	}
	for _, row := range g.Rows {
		p.Printf(
			"  if %2.0f %% of the answers flip by chance (each passes %s): %d cases are needed for a chance of 80 %%; "+
				"the gate holds in %.0f %% of the runs when nothing changed; a loss of %.3f is reported in %.0f %%",
			100*row.Flips, diag.Percent(row.Passing), row.Needed, 100*row.Holds, row.Smallest, 100*row.Detects,
		)
		if g.StopEarly {
			p.Printf("; about %.0f calls when nothing changed", row.Share*float64(g.Calls))
		}
		p.Printf("\n")
	}
	for _, r := range g.Ratios {
		p.Printf(
			"  %s x %g at most: a case counts %.0f at most; it needs %d cases even if nothing changes\n", r.Metric, r.Limit,
			r.Cap, r.Needed,
		)
	}
}

// writeSuiteOutlook writes what the repeats of a suite's own cases can show.
func writeSuiteOutlook(p *term.Printer, g *session.GateOutlook, margin string) {
	p.Printf("%s\n", diag.CleanLine(fmt.Sprintf("gate of %s on %s, about these %s: %s%s on both sides, %s, up to %s",
		g.Suite, g.Arm, diag.Count(g.Units, "case"), margin, diag.Count(g.Repeats, "repeat"), diag.Count(g.Calls, "call"), unlimited(g.Tokens))))
	p.Printf("  %s need %s if not one answer flips\n", diag.Count(g.Units, "case"), diag.Count(g.Reach, "repeat"))
	for _, row := range g.Rows {
		needed := "more repeats are needed than a plan can say"
		if row.Needed > 0 {
			needed = diag.Count(row.Needed, "repeat") + " are needed"
		}
		p.Printf("  if %2.0f %% of the pairs of answers flip by chance: %s; the gate holds in %.0f %% of the runs when nothing changed; "+
			"a loss of %.3f is reported in %.0f %%", 100*row.Flips, needed, 100*row.Holds, row.Smallest, 100*row.Detects)
		if g.StopEarly {
			p.Printf("; about %.0f calls when nothing changed", row.Share*float64(g.Calls))
		}
		p.Printf("\n")
	}
}

func writeGates(p *term.Printer, f *session.Forecast) {
	gates, rows := f.Gates, 0
	for i := range gates {
		writeOutlook(p, &gates[i])
		rows += len(gates[i].Rows)
	}
	if rows == 0 {
		return
	}
	if n := gates[0].Comparisons; n > 1 {
		p.Printf("losses are reported after adjusting for %d comparisons of the run\n", n)
	}
	p.Printf("repeats flip independently, and cases of a cluster together\n")
	if len(gates) < 2 {
		return
	}
	for _, row := range f.Whole {
		p.Printf(
			"all %d gates hold together in %.0f %% of the runs when nothing changed, if %.0f %% flip by chance\n", len(gates),
			100*row.Holds, 100*row.Flips,
		)
	}
}

func writeForecast(w io.Writer, f *session.Forecast) error {
	p := &term.Printer{W: w}
	for i := range f.Arms {
		writeArm(p, f, &f.Arms[i])
	}
	writeCalls(p, f)
	writeTokens(p, f)
	if f.Currency != "" {
		currency, trials := diag.CleanLine(f.Currency), float64(max(1, f.Trials))
		p.Printf("cost: from %s to %s %s, by the length of the answers; at most %s\n", text.Money(f.LeastCost),
			text.Money(f.MostCost), currency, text.PerThousand(f.MostCost/trials, currency))
		if b := f.Batch; b != nil {
			p.Printf("cost in batches: from %s to %s %s; at most %s\n", text.Money(b.LeastCost), text.Money(b.MostCost), currency,
				text.PerThousand(b.MostCost/trials, currency))
		}
	}
	writeTime(p, f)
	writeBatches(p, f.Batch)
	writeRaces(p, f)
	writeRules(p, f)
	writeGates(p, f)
	for _, problem := range f.Problems {
		p.Printf("note: %s\n", problem)
	}
	return p.Err
}

func writeRaces(p *term.Printer, f *session.Forecast) {
	for _, r := range f.Races {
		p.Printf("race of %s on %s: all of this at most; an arm that cannot be the best leaves, after %d of %d cases at the earliest\n",
			diag.CleanLine(r.Suite), diag.CleanLine(r.Metric), r.Least, r.Cases)
	}
}

// writeRules writes what rules about pass rates and about the best arm can be expected to do.
func writeRules(p *term.Printer, f *session.Forecast) {
	for i := range f.Rates {
		p.Printf("%s\n", diag.CleanLine(f.Rates[i].Words()))
	}
	for i := range f.Best {
		p.Printf("%s\n", diag.CleanLine(f.Best[i].Words()))
	}
}

// writeArm writes the section of an arm, with its suite and API version only where arms differ in them.
func writeArm(p *term.Printer, f *session.Forecast, arm *session.ArmForecast) {
	if differ(f.Arms, func(a *session.ArmForecast) string { return a.Suite }) {
		p.Printf("%s: ", diag.CleanLine(arm.Suite))
	}
	trials := trialsOf(arm)
	if arm.App != "" {
		p.Printf(
			"%s: %s, %s, %d prompt tokens, estimated\n",
			diag.CleanLine(arm.Arm), diag.CleanLine(arm.App), trials, arm.PromptTokens,
		)
		return
	}
	model := arm.Model
	if differ(models(f.Arms), func(a *session.ArmForecast) string { return a.APIVersion }) {
		model = strings.TrimSpace(model + " " + arm.APIVersion)
	}
	if arm.Service != "" {
		model += ", service " + arm.Service
	}
	if arm.Stream {
		model += ", streamed"
	}
	p.Printf(
		"%s: %s, %s, %d prompt tokens, output up to %s\n",
		arm.Arm, model, trials, arm.PromptTokens, unlimited(arm.MaxOutputTokens),
	)
}

// trialsOf is the number of an arm's trials, with the number of calls when a trial may take several.
func trialsOf(arm *session.ArmForecast) string {
	trials := diag.Count(arm.Trials, "trial")
	switch {
	case arm.MostCalls > arm.Calls:
		return fmt.Sprintf("%s of %d to %s", trials, arm.Calls, diag.Count(arm.MostCalls, "call"))
	case arm.Calls > arm.Trials:
		return trials + " of " + diag.Count(arm.Calls, "call")
	}
	return trials
}

// differ reports whether a property is not the same for all arms.
func differ(arms []session.ArmForecast, of func(*session.ArmForecast) string) bool {
	return slices.ContainsFunc(arms, func(a session.ArmForecast) bool { return of(&a) != of(&arms[0]) })
}

func models(arms []session.ArmForecast) []session.ArmForecast {
	return slices.DeleteFunc(slices.Clone(arms), func(a session.ArmForecast) bool { return a.App != "" })
}

func writeCalls(p *term.Printer, f *session.Forecast) {
	p.Printf("trials: %d\n", f.Trials)
	embed, apps := "", ""
	if f.AppCalls > 0 {
		apps = fmt.Sprintf("%d to applications, ", f.AppCalls)
	}
	if f.EmbedCalls > 0 {
		embed = fmt.Sprintf("%d or more to embed, ", f.EmbedCalls)
	}
	if f.JudgeCalls > 0 {
		embed += fmt.Sprintf("up to %d to judge, ", f.JudgeCalls)
	}
	generate := fmt.Sprint(f.GenerateCalls)
	if f.MostGenerateCalls > f.GenerateCalls {
		generate += fmt.Sprintf(" to %d", f.MostGenerateCalls)
	}
	p.Printf(
		"calls: %s%s to generate, %d to count, %sat most %d with every retry\n",
		apps, generate, f.CountCalls, embed, f.MaxAttempts,
	)
}

func writeTokens(p *term.Printer, f *session.Forecast) {
	p.Printf("tokens: %d in prompts (%s)%s\n", f.PromptTokens, counting(f), outputs(f))
	writeReplies(p, f)
	if f.EmbedCalls > 0 {
		p.Printf("embedded: up to %s\n", unlimited(f.EmbedTokens))
	}
	if f.JudgeCalls > 0 {
		p.Printf("judging: up to %s, estimated\n", unlimited(f.JudgeTokens))
	}
}

// writeReplies writes what later calls of the same trials are sent in addition to their prompts.
func writeReplies(p *term.Printer, f *session.Forecast) {
	switch {
	case f.ReplyTokens == 0:
	case f.MostGenerateCalls > f.GenerateCalls:
		p.Printf("what later calls are sent again: up to %s more in prompts, without the results of tools\n", unlimited(f.ReplyTokens))
	default:
		p.Printf("replies in later turns of live chats: up to %s more in prompts\n", unlimited(f.ReplyTokens))
	}
}

func counting(f *session.Forecast) string {
	estimated, counted := 0, 0
	for _, a := range models(f.Arms) {
		if a.Estimated {
			estimated++
		} else {
			counted++
		}
	}
	switch {
	case !f.Counted || counted == 0:
		return "estimated: UTF-8 bytes / 4, rounded up, 258 an image"
	case estimated > 0:
		return "counted where the service can, the others estimated"
	case f.AppCalls > 0:
		return "counted by the service, those of applications estimated"
	}
	return "counted by the service"
}

// outputs says how long the answers of models may get together. Of applications that is not known.
func outputs(f *session.Forecast) string {
	switch {
	case f.GenerateCalls == 0:
		return ""
	case f.AppCalls == 0:
		return ", output up to " + unlimited(f.MaxOutputTokens)
	}
	return fmt.Sprintf(", output of models up to %s", unlimited(f.MaxOutputTokens))
}

func writeTime(p *term.Printer, f *session.Forecast) {
	least, most := f.LeastTime.Round(time.Second), f.MostTime.Round(time.Second)
	switch {
	case f.MostTime > f.LeastTime && least == 0:
		p.Printf("time: up to %s at the limits, by %s\n", most, varying(f))
	case f.MostTime > f.LeastTime:
		p.Printf("time: from %s to %s at the limits, by %s\n", least, most, varying(f))
	case f.LeastTime > 0:
		p.Printf("time: at least %s at the limits\n", least)
	default:
		p.Printf("time: no rate is limited; %s at once\n", diag.Count(f.Concurrency, "call"))
	}
}

// writeBatches writes how many batches a run with --batch submits, and how long they may take.
func writeBatches(p *term.Printer, b *session.BatchForecast) {
	if b == nil {
		return
	}
	switch rounds := diag.Count(b.MostRounds, "round"); {
	case b.MostRounds == 1:
		p.Printf("time in batches: within 24 hours\n")
	case b.MostRounds > b.Rounds:
		p.Printf("time in batches: %d to %s, each within 24 hours\n", b.Rounds, rounds)
	default:
		p.Printf("time in batches: %s, each within 24 hours\n", rounds)
	}
	for _, m := range b.Models {
		calls := diag.Count(m.MostCalls, "call")
		switch {
		case m.Calls == 0:
			calls = "up to " + calls
		case m.MostCalls > m.Calls:
			calls = fmt.Sprintf("%d to %s", m.Calls, calls)
		}
		p.Printf("batches of %s: at least %d, for %s\n", diag.CleanLine(m.Model), m.Batches, calls)
	}
	if len(b.SamePrice) > 0 {
		p.Printf("note: the price list has no `batch` for %s, so calls in batches cost the full price\n", strings.Join(b.SamePrice, ", "))
	}
}

// varying says what the time depends on: judges, embeddings and tool loops may take fewer calls or more.
func varying(f *session.Forecast) string {
	if f.JudgeCalls > 0 || f.EmbedCalls > 0 || f.MostGenerateCalls > f.GenerateCalls {
		return "the number of calls and the length of the answers"
	}
	return "the length of the answers"
}

func unlimited(n int) string {
	if n == 0 {
		return "an unknown number of tokens"
	}
	return diag.Count(n, "token")
}
