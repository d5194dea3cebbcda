package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/runs"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

func (a *app) commentCommand() *cobra.Command {
	o := runs.Commenting{Getenv: a.getenv}
	cmd := &cobra.Command{
		Use: "comment RUN", Short: "Show a run in its pull request or merge request, or as an issue",
		Long: "Writes the markdown report of a run as a comment of the pull request (GitHub) or merge request (GitLab) of\n" +
			"this job. The next run of the same suites edits the same comment. With --issue it opens an issue when a run\n" +
			"fails, updates it while runs fail, and closes it when one passes.\n" +
			"The token is GITHUB_TOKEN, or EVALRUN_GITLAB_TOKEN.",
		Example: "  evalrun comment run --link \"HTML report=$URL\"\n  evalrun comment run --issue",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Issue && o.Number != 0 {
				return eval.BadInput("--issue and --number do not go together: leave out --number, since an issue is found by its suites")
			}
			done, err := a.runs.Comment(cmd.Context(), args[0], o)
			switch {
			case err != nil:
				return err
			case done.Did == "":
				_, err = fmt.Fprintln(a.out, cmp.Or(done.Page, "no issue is open, and none is needed"))
			default:
				_, err = fmt.Fprintf(a.out, "%s %s\n", done.Did, diag.CleanLine(cmp.Or(done.Page, "the note")))
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.Issue, "issue", false, "keep an issue open while the suites fail, instead of a comment")
	fs.IntVar(&o.Number, "number", 0, "comment on the pull or merge request `N` (default that of the job)")
	fs.StringArrayVar(&o.Links, "link", nil, "add a link to the head of the report: `TEXT=URL` (repeatable)")
	cmd.ValidArgsFunction = flags.CompleteRuns
	return cmd
}
