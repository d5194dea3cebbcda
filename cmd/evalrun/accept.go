package main

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

type acceptOptions struct {
	evalrun.Options
	yes      bool
	showOnly bool
}

func (a *app) acceptCommand() *cobra.Command {
	var o acceptOptions
	cmd := &cobra.Command{
		Use: "accept RUN [CASE]", Short: "Review answers of a run, and make them the expected ones",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exactly(1)(cmd, args)
			}
			return atMost(2)(cmd, args)
		},
		Long: "Shows each answer that a snapshot scorer finds new or changed, next to the expected one. If you say yes,\n" +
			"it writes the answer into the folder `expected` next to the suite, for you to commit. It calls no model.\n" +
			"In continuous integration (CI is set) it accepts nothing.",
		Example: "  evalrun accept latest\n  evalrun accept latest 'fran*' --arm 'pro/*'\n  evalrun accept latest --dry-run",
		RunE: func(_ *cobra.Command, args []string) error {
			o.Cases = append(o.Cases, args[1:]...)
			return a.accept(args[0], o)
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.BoolVarP(&o.yes, "yes", "y", false, "accept all without a question, except answers that contradict each other")
	fs.BoolVarP(&o.showOnly, "dry-run", "n", false, "show what would change and write nothing; exit 1 if something would")
	fs.Cases(&o.Cases)
	fs.Arms(&o.Arms)
	fs.StringArrayVar(
		&o.Suites, "suite", nil,
		"accept the answers for the suite `FILE` (default the run's suites as they are now; repeatable)",
	)
	fs.Untrusted(&o.Options)
	fs.AllowEnv(&o.Options)
	cmd.MarkFlagsMutuallyExclusive("yes", "dry-run")
	cmd.ValidArgsFunction = completeCases
	flags.Config(cmd, &o.Options)
	return cmd
}

func (a *app) accept(run string, o acceptOptions) error {
	if err := acceptedByPerson(a.getenv); err != nil {
		return err
	}
	o.Rescore = run
	l, err := a.loaded(loadAccepting(a.settings(&o.Options)))
	if err != nil {
		return err
	}
	found, err := newAcceptance(l)
	if err != nil {
		return err
	}
	if found.Changed > 0 {
		fmt.Fprintf(
			a.err, "%s left out: the suites ask something else now than %s did\n", diag.Count(found.Changed, "trial"),
			diag.CleanLine(run),
		)
	}
	if len(found.Proposals) == 0 {
		_, err := fmt.Fprintln(a.out, nothingToAccept(found))
		return err
	}
	if !o.yes && !o.showOnly && !term.Interactive(a.in) {
		return eval.BadInput(
			"%s to review, and there is no terminal to ask on: --dry-run shows them, --yes accepts all",
			diag.Count(len(found.Proposals), "new or changed answer"),
		)
	}
	r := review{app: a, acceptOptions: o, lines: bufio.NewScanner(a.in)}
	for i, p := range found.Proposals {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		if err := r.look(p); err != nil {
			return err
		}
		if r.quit {
			break
		}
	}
	return r.end(run, len(found.Proposals))
}

func nothingToAccept(found *acceptance) string {
	if found.Compared == 0 {
		return "nothing to accept: no answer with a text is for a `snapshot:` scorer"
	}
	return fmt.Sprintf("nothing to accept: %s compared, what is expected stays", diag.Count(found.Compared, "answer"))
}

// review goes through the proposals with the user.
type review struct {
	*app
	acceptOptions
	lines     *bufio.Scanner
	quit      bool
	written   []string // the folders of expected answers
	accepted  int
	conflicts int // that could not be settled without asking
}

// look shows a proposal and does what the user answers.
func (r *review) look(p *proposal) error {
	if len(p.Offers) > 1 {
		return r.settle(p)
	}
	offer := p.Offers[0]
	r.sources(offer.From)
	r.show(p, offer)
	switch {
	case r.showOnly:
		return nil
	case r.yes:
		return r.write(p, offer)
	}
	switch r.ask("accept it? [y]es, [n]o, [a]ll, [q]uit: ", "y", "n", "a", "q") {
	case "a":
		r.yes = true
		return r.write(p, offer)
	case "y":
		return r.write(p, offer)
	}
	return nil
}

// maxSources is how many cases of arms are named that gave an answer.
const maxSources = 10

// sources writes where an answer is from.
func (r *review) sources(from []answeredCase) {
	for i := range from {
		if i == maxSources {
			fmt.Fprintf(r.out, "... and %d more\n", len(from)-i)
			return
		}
		fmt.Fprintln(r.out, source(&from[i]))
	}
}

// settle lets the user choose among answers that contradict each other.
func (r *review) settle(p *proposal) error {
	fmt.Fprintf(r.out, "conflict: %d different answers for one file\n", len(p.Offers))
	var choices []string
	for i, offer := range p.Offers {
		if i == maxSources {
			fmt.Fprintf(r.out, "... and %d more\n", len(p.Offers)-i)
			break
		}
		choices = append(choices, strconv.Itoa(i+1))
		fmt.Fprintf(r.out, "%d: %s", i+1, source(&offer.From[0]))
		if more := len(offer.From) - 1; more > 0 {
			fmt.Fprintf(r.out, " and %d more", more)
		}
		fmt.Fprintln(r.out)
		if offer.Expected {
			fmt.Fprintln(r.out, "  as expected")
			continue
		}
		r.show(p, offer)
	}
	if r.showOnly {
		return nil
	}
	if !term.Interactive(r.in) {
		r.conflicts++
		fmt.Fprintln(r.out, "left as it is: --case and --arm choose one of them, or ask on a terminal")
		return nil
	}
	question := "accept which? " + choices[0] + " to " + choices[len(choices)-1] + ", [n]one, [q]uit: "
	switch answer := r.ask(question, append(choices, "n", "q")...); answer {
	case "n", "q":
		return nil
	default:
		i, err := strconv.Atoi(answer)
		if err != nil || p.Offers[i-1].Expected {
			return err
		}
		return r.write(p, p.Offers[i-1])
	}
}

func source(s *answeredCase) string {
	out := diag.CleanLine(fmt.Sprintf("%s / %s on %s", s.Suite, s.Case, s.Arm))
	if s.Different > 1 {
		out += fmt.Sprintf(" (%d repeats gave %d different answers; the most frequent one counts)", s.Answers, s.Different)
	}
	return out
}

// show draws what would change.
func (r *review) show(p *proposal, o *offer) {
	state := "changed"
	if p.Was == nil {
		state = "new"
	}
	fmt.Fprintf(r.out, "%s (%s)\n", diag.CleanLine(p.File), state)
	_ = p.Diff(r.out, o, r.color(r.outWidth)) // a stream that is gone ends the program elsewhere
}

func (r *review) write(p *proposal, o *offer) error {
	if err := p.Accept(o); err != nil {
		return err
	}
	r.accepted++
	if !slices.Contains(r.written, p.Folder) {
		r.written = append(r.written, p.Folder)
	}
	_, err := fmt.Fprintf(r.out, "wrote %s\n", diag.CleanLine(p.File))
	return err
}

// ask repeats the question until the user says one of the words. The end of the input means quit.
func (r *review) ask(question string, words ...string) string {
	for {
		fmt.Fprint(r.out, question)
		if !r.lines.Scan() {
			fmt.Fprintln(r.out)
			r.quit = true
			return "q"
		}
		answer := strings.ToLower(strings.TrimSpace(r.lines.Text()))
		for _, word := range words {
			if answer != "" && strings.HasPrefix(spelled(word), answer) {
				r.quit = word == "q"
				return word
			}
		}
	}
}

func spelled(word string) string {
	whole := map[string]string{"y": "yes", "n": "no", "a": "all", "q": "quit"}
	return cmp.Or(whole[word], word)
}

func (r *review) end(run string, proposed int) error {
	fmt.Fprintln(r.out)
	left := proposed - r.accepted
	if r.showOnly {
		fmt.Fprintf(r.out, "%s could be accepted; nothing was written\n", diag.Count(proposed, "new or changed answer"))
		return exitWith(eval.CodeFailed)
	}
	fmt.Fprintf(r.out, "accepted %s", diag.Count(r.accepted, "answer"))
	if left > 0 {
		fmt.Fprintf(r.out, ", left %d", left)
	}
	fmt.Fprintln(r.out)
	if r.accepted > 0 {
		fmt.Fprintf(
			r.out, "`git diff %s` shows what changed, and `evalrun rescore %s` scores the answers by it\n",
			diag.CleanLine(strings.Join(r.written, " ")), diag.CleanLine(run),
		)
	}
	if r.conflicts > 0 {
		return exitWith(eval.CodeFailed)
	}
	return nil
}
