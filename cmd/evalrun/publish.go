package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/site"
)

func (a *app) publishCommand() *cobra.Command {
	var o site.PublishOptions
	cmd := &cobra.Command{
		Use: "publish RUN... --out DIR", Short: "Write runs as a static site, for pages hosting",
		Long: "Writes the pages of runs, their trends, and comparisons of runs of the same suite into DIR, as files that need\n" +
			"no server. It says on standard error what content the site shows. DIR is empty, not there yet, or the\n" +
			"site of an earlier publish, which it replaces. The first line on standard output is the path of the first page.",
		Example: "  evalrun publish latest --out public\n  evalrun publish branch:main latest --out public --margin 0.05\n" +
			"  evalrun publish artifacts --out public --no-content",
		RunE: func(_ *cobra.Command, args []string) error { return a.publish(args, o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Out, "out", "", "write the site into `DIR` (required)")
	fs.BoolVar(&o.NoContent, "no-content", false, "leave prompts and answers out, but not hashes, lengths and scores")
	fs.Float64Var(&o.Margin, "margin", 0, "give comparisons a verdict: a rate may be lower by `M`, such as 0.05")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		return completeRuns(cmd, nil, text)
	}
	return cmd
}

func (a *app) publish(named []string, o site.PublishOptions) error {
	if len(named) == 0 {
		return eval.BadInput("publish takes the runs to show: evalrun publish latest --out public")
	}
	o.Runs = named
	published, err := site.Write(a.runs.Dir, o)
	if err != nil {
		return err
	}
	for _, notice := range publishNotices(published) {
		fmt.Fprintf(a.err, "%s\n", diag.CleanLine(notice))
	}
	_, err = fmt.Fprintln(a.out, diag.CleanLine(published.Index))
	return err
}

// publishNotices say what was published, and which prompts and answers readers can see.
func publishNotices(s *site.Site) []string {
	out := []string{fmt.Sprintf("published %s and %s", counted(s.Runs, "run"), counted(s.Comparisons, "comparison"))}
	if s.LeftOut > 0 {
		out[0] += fmt.Sprintf("; %s left out, of runs that are further apart", counted(s.LeftOut, "comparison"))
	}
	if len(s.Foreign) > 0 {
		out = append(out, fmt.Sprintf("left where it was, because evalrun publish did not write it: %s", someOf(s.Foreign)))
	}
	const names = "names of suites, cases, arms, models and branches, outcomes, scores and settings"
	if len(s.WithContent) == 0 {
		return append(out, "no content: readers of the site see "+names+", and no prompts or answers")
	}
	var of []string
	for _, one := range []struct {
		n    int
		noun string
	}{
		{s.Content.Prompts, "prompt"}, {s.Content.Answers, "answer"}, {s.Content.Replies, "judge reply"}, {s.Content.Images, "image"},
	} {
		if one.n > 0 {
			of = append(of, counted(one.n, one.noun))
		}
	}
	return append(out, fmt.Sprintf(
		"content: readers of the site see %s of %s (%s), and %s; --no-content leaves prompts and answers out",
		cmp.Or(strings.Join(of, ", "), "texts"), counted(len(s.WithContent), "run"), someOf(s.WithContent), names,
	))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func someOf(ids []string) string {
	const most = 3
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}
