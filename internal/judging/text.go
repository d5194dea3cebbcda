package judging

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/diag"
)

// Text is the report for people.
func (r *AgreementReport) Text() string {
	var p strings.Builder
	for i := range r.Judges {
		writeAgreement(&p, &r.Judges[i])
	}
	for i := range r.People {
		writePeople(&p, &r.People[i])
	}
	for _, a := range r.AllPeople {
		alpha := "not defined, since all say the same"
		if a.Alpha != nil {
			alpha = fmt.Sprintf("%.3f", *a.Alpha)
		}
		fmt.Fprintf(&p, "%s\n", diag.CleanLine(fmt.Sprintf(
			"people in %s: Krippendorff's alpha %s, by %d labels of %s", a.Suite, alpha, a.Labels, diag.Count(a.Answers, "answer"),
		)))
	}
	if r.Divided > 0 {
		fmt.Fprintf(&p, "people are divided on %s: left out\n", diag.Count(r.Divided, "answer"))
	}
	if r.NotInRun > 0 {
		fmt.Fprintf(&p, "%s not of this run: left out\n", diag.Count(r.NotInRun, "labelled answer"))
	}
	if r.Unjudged > 0 {
		fmt.Fprintf(&p, "%s could not be judged, or did not come: left out\n", diag.Count(r.Unjudged, "labelled answer"))
	}
	return p.String()
}

// fewCases is the number of cases below which the report warns that much remains open.
const fewCases = 50

// maxListed bounds what the text lists of a judge.
const maxListed = 20

func writeAgreement(p *strings.Builder, c *agreement) {
	who := "judge"
	if c.Panel {
		who = "panel"
	}
	fmt.Fprintf(p, "%s\n", diag.CleanLine(
		fmt.Sprintf(
			"%s in %s, %s %s: %s of %s", c.Scorer, c.Suite, who, c.Judge, diag.Count(c.Answers, "labelled answer"),
			diag.Count(c.Cases, "case"),
		),
	))
	fmt.Fprintf(p, "  agreement: %s\n", proportion(&c.Agreement))
	writeKappa(p, c.Kappa, c.KappaInterval)
	if c.FalsePass != nil {
		fmt.Fprintf(p, "  passed by the judge, failed by people: %s\n", proportion(c.FalsePass))
		fmt.Fprintf(p, "  failed by the judge, passed by people: %s\n", proportion(c.FalseFail))
	}
	for i := range c.Arms {
		a := &c.Arms[i]
		fmt.Fprintf(p, "  %s\n", diag.CleanLine(fmt.Sprintf(
			"on %s: sensitivity %s, specificity %s", a.Arm, a.Sensitivity.Words(), a.Specificity.Words(),
		)))
	}
	for i, line := range c.Favours {
		if i == maxListed {
			fmt.Fprintf(p, "  warning: and %d more like these\n", len(c.Favours)-i)
			break
		}
		fmt.Fprintf(p, "  warning: %s\n", diag.CleanLine(line))
	}
	writeConfusion(p, c)
	for i, d := range c.Disagreements[:min(maxListed, len(c.Disagreements))] {
		if i == 0 {
			fmt.Fprintf(p, "  they disagree on:\n")
		}
		fmt.Fprintf(p, "    %s\n", diag.CleanLine(fmt.Sprintf(
			"%s on %s, repeat %d: people %s, judge %s", d.Case, d.Arm, d.Repeat, d.People, d.Judge,
		)))
	}
	if more := c.Disagreed - maxListed; more > 0 {
		fmt.Fprintf(p, "    and %d more (-o json has %d)\n", more, len(c.Disagreements))
	}
	if c.Cases < fewCases {
		fmt.Fprintf(p, "  fewer than %d cases leave much open: label more\n", fewCases)
	}
}

func writeKappa(p *strings.Builder, kappa *float64, interval *[2]float64) {
	if kappa == nil {
		fmt.Fprintf(p, "  Cohen's kappa: not defined, since both always say one and the same\n")
		return
	}
	fmt.Fprintf(p, "  Cohen's kappa: %.3f, 90 %% interval %.3f to %.3f\n", *kappa, interval[0], interval[1])
}

func writePeople(p *strings.Builder, a *twoPeople) {
	fmt.Fprintf(p, "%s\n", diag.CleanLine(fmt.Sprintf(
		"people in %s, %s and %s: %s of %s that both labelled", a.Suite, a.One, a.Other, diag.Count(a.Answers, "answer"),
		diag.Count(a.Cases, "case"),
	)))
	fmt.Fprintf(
		p, "  agreement: %s\n",
		proportion(&wilsonShare{a.Agree, a.Answers, new(float64(a.Agree) / float64(a.Answers)), a.Interval}),
	)
	writeKappa(p, a.Kappa, a.KappaInterval)
}

// writeConfusion writes a table with a row for each label and a column for each word of the judge.
func writeConfusion(p *strings.Builder, c *agreement) {
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
		fmt.Fprintf(p, "%s\n", diag.CleanLine(text))
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

func proportion(p *wilsonShare) string {
	if p.Share == nil {
		return "of none, so nothing is known"
	}
	return fmt.Sprintf(
		"%s (%d of %d), 90 %% interval %.1f to %.1f",
		diag.Percent(*p.Share), p.Part, p.Of, 100*p.Interval[0], 100*p.Interval[1],
	)
}
