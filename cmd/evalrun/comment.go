package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

func (a *app) commentCommand() *cobra.Command {
	o := commenting{Getenv: a.getenv}
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
			done, err := a.runs.comment(cmd.Context(), args[0], o)
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
	cmd.ValidArgsFunction = completeRuns
	return cmd
}

type commenting struct {
	Issue  bool     // an issue of the project instead of a comment
	Number int      // of the pull or merge request; 0 is the job's own
	Links  []string // further links, each as TEXT=URL
	Getenv func(string) string
}

// comment posts a run as a comment on a pull or merge request, or as an issue.
func (f folder) comment(ctx context.Context, name string, o commenting) (posted, error) {
	links, err := linksOf(o.Links)
	if err != nil {
		return posted{}, err
	}
	at, err := find(o.Getenv)
	if err != nil {
		return posted{}, err
	}
	doc, err := f.open(name)
	if err != nil {
		return posted{}, err
	}
	defer doc.Close() //nolint:errcheck // only read
	if doc.Running {
		return posted{}, eval.BadInput("the run %s is still in progress; comment on it when it finishes", name)
	}
	body := func() (string, error) {
		var b strings.Builder
		err := reports.Markdown(&b, doc, reports.Options{Links: links})
		return b.String(), err
	}
	marker := reports.Marker(&doc.Run)
	if o.Issue && doc.Waits() != nil {
		return posted{Page: "the run waits for its batches: the issue stays as it is until they are answered"}, nil
	}
	if o.Issue {
		text, err := body()
		if err != nil {
			return posted{}, err
		}
		return at.Issue(ctx, marker, "evalrun: "+titleOf(doc), text, doc.Gate().Exit != eval.CodeOK)
	}
	exit := doc.Gate().Exit
	done, err := at.Comment(ctx, o.Number, marker, func(old string) (string, error) {
		looks := countOn(&doc.Run, old)
		gate.ApplyIn(f.Dir, doc)
		text, err := body()
		return strings.Replace(text, marker+"\n", marker+"\n"+looks, 1), err
	})
	if now := doc.Gate().Exit; err == nil && now != exit {
		err = eval.WithCode(now, errors.New("by the looks that the comment counts, the gate of the run does not hold: see the comment"))
	}
	return done, err
}

// The comment of a pull request counts looks for machines without a history: one entry for each candidate with its baseline.
const (
	looksBefore = "<!-- evalrun looks:"
	maxCounted  = 100
)

// countedLook is what a comment knows of a candidate: its last look, and the answers that it was at.
var countedLook = regexp.MustCompile(` ([0-9a-f]{16})=([0-9]{1,6}):([0-9a-f]{16})`)

// countOn raises the looks of a run to what an earlier comment has counted, and returns the line for the new comment, "" when
// there is nothing to count. Posting the same answers again is not another look.
func countOn(run *eval.Run, old string) (line string) {
	_, rest, _ := strings.Cut(old, looksBefore)
	before, _, _ := strings.Cut(rest, "-->")
	type entry struct {
		nth int
		of  string
	}
	known, order := map[string]entry{}, []string{}
	note := func(key string, e entry) {
		order = append(slices.DeleteFunc(order, func(k string) bool { return k == key }), key)
		known[key] = e
	}
	for _, m := range countedLook.FindAllStringSubmatch(before, -1) {
		nth, _ := strconv.Atoi(m[2])
		note(m[1], entry{nth, m[3]})
	}
	answers := shortHash(run.AnswersOf())
	for i := range run.Suites {
		one := &run.Suites[i]
		for k := range one.Looks {
			l := &one.Looks[k]
			key := shortHash(one.Name, l.Candidate, l.Base)
			last := known[key]
			if last.of != answers {
				last.nth++
			}
			l.Nth = max(l.Nth, last.nth)
			note(key, entry{l.Nth, answers})
		}
	}
	for _, key := range order[max(0, len(order)-maxCounted):] {
		line += fmt.Sprintf(" %s=%d:%s", key, known[key].nth, known[key].of)
	}
	if line == "" {
		return ""
	}
	return looksBefore + line + " -->\n"
}

func shortHash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

func titleOf(doc *journal.Document) string {
	const most = 3
	var names []string
	for i := range doc.Run.Suites {
		if i == most {
			return strings.Join(names, ", ") + " and more"
		}
		names = append(names, doc.Run.Suites[i].Name)
	}
	return strings.Join(names, ", ")
}

func linksOf(texts []string) (all []reports.Link, err error) {
	for _, text := range texts {
		words, address, ok := strings.Cut(text, "=")
		u, err := url.Parse(address)
		if !ok || words == "" || err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, eval.BadInput("invalid --link %q: a link is TEXT=URL with an http or https address", text)
		}
		all = append(all, reports.Link{Text: words, URL: address})
	}
	return all, nil
}
