package main

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/judgecheck"
)

// judgeCheckOptions are the flags of `evalrun judge-check`.
type judgeCheckOptions struct {
	labels string
	format string
}

func (a *app) judgeCheckCommand() *cobra.Command {
	var o judgeCheckOptions
	cmd := &cobra.Command{
		Use: "judge-check RUN --labels FILE", Short: "Measure the judges of a run against labels that people gave",
		Long: "Compares what judges said of answers with what people say: agreement, Cohen's kappa, who said\n" +
			"what how often, and how often the judge passed what people failed. FILE is .csv with a header or\n" +
			".jsonl, with case and label (pass, fail, or a choice) and, where it takes that to name one answer,\n" +
			"suite, arm, repeat and scorer.",
		Example: "  evalrun judge-check latest --labels labels.csv",
		Args:    exactly(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.judgeCheck(args[0], o) },
	}
	cmd.Flags().StringVar(&o.labels, "labels", "", "the file with the labels")
	cmd.Flags().StringVarP(&o.format, "report", "o", "table", "table or json")
	cmd.ValidArgsFunction = completeRuns
	return cmd
}

// judgeCheck is `evalrun judge-check` from top to bottom.
func (a *app) judgeCheck(run string, o judgeCheckOptions) error {
	if o.format != "table" && o.format != "json" {
		return exit.BadInput("-o takes table or json")
	}
	if o.labels == "" {
		return exit.BadInput("say what people think of the answers: --labels FILE")
	}
	doc, err := a.dir.Open(run)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	checks, err := judgecheck.Check(doc, o.labels)
	if err != nil {
		return err
	}
	if o.format == "json" {
		return a.printJSON(checks)
	}
	p := printer{w: a.out}
	if doc.Run.Emulator {
		p.printf("against evalrun's emulator: no model was asked, the answers come from a script\n")
	}
	for i := range checks.Judges {
		writeJudgeCheck(&p, &checks.Judges[i])
	}
	if checks.Untold > 0 {
		p.printf("%s could not be judged, or did not come: left out\n", diag.Count(checks.Untold, "labelled answer"))
	}
	return p.err
}

// fewCases is how many cases leave much open about a judge.
const fewCases = 50

func writeJudgeCheck(p *printer, c *judgecheck.Agreement) {
	p.printf("%s\n", diag.CleanLine(
		fmt.Sprintf(
			"%s in %s, judge %s: %s of %s", c.Scorer, c.Suite, c.Judge, diag.Count(c.Answers, "labelled answer"),
			diag.Count(c.Cases, "case"),
		),
	))
	p.printf("  agreement: %s\n", proportion(&c.Agreement))
	if c.Kappa == nil {
		p.printf("  Cohen's kappa: not defined, since both always say one and the same\n")
	} else {
		p.printf("  Cohen's kappa: %.3f, 90 %% interval %.3f to %.3f\n", *c.Kappa, c.KappaInterval[0], c.KappaInterval[1])
	}
	if c.FalsePass != nil {
		p.printf("  passed by the judge, failed by people: %s\n", proportion(c.FalsePass))
		p.printf("  failed by the judge, passed by people: %s\n", proportion(c.FalseFail))
	}
	writeConfusion(p, c)
	if c.Cases < fewCases {
		p.printf("  fewer than %d cases leave much open: label more\n", fewCases)
	}
}

// writeConfusion draws who said what how often: a row for each word of the people, a column for each of the judge.
func writeConfusion(p *printer, c *judgecheck.Agreement) {
	const corner = "people \\ judge"
	width := displaywidth.String(corner)
	for _, w := range c.Words {
		width = max(width, displaywidth.String(w))
	}
	line := func(head string, cells []string) {
		text := "  " + head + strings.Repeat(" ", width-displaywidth.String(head))
		for i, cell := range cells {
			text += "  " + strings.Repeat(" ", max(0, displaywidth.String(c.Words[i])-len(cell))) + cell
		}
		p.printf("%s\n", diag.CleanLine(text))
	}
	line(corner, c.Words)
	for i, row := range c.Confusion {
		var cells []string
		for _, n := range row {
			cells = append(cells, fmt.Sprint(n))
		}
		line(c.Words[i], cells)
	}
}

func proportion(p *judgecheck.Proportion) string {
	if p.Share == nil {
		return "of none, so nothing is known"
	}
	return fmt.Sprintf("%.1f %% (%d of %d), 90 %% interval %.1f to %.1f", 100**p.Share, p.Part, p.Of, 100*p.Interval[0], 100*p.Interval[1])
}
