package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
)

func kindNames() []string { return scorers.Builtin().Names() }

func writeKinds(w io.Writer) error {
	p := term.Printer{W: w}
	for _, k := range scorers.Builtin() {
		p.Printf("%-13s %s\n              %s\n", k.Name, k.Summary, strings.ReplaceAll(k.Example, "\n", "\n              "))
	}
	return p.Err
}

type kindDescription struct {
	Kind    string   `json:"kind"`
	Summary string   `json:"summary"`
	Doc     string   `json:"doc"`
	Limits  string   `json:"limits"`
	Example string   `json:"example"` // YAML, one entry of a list of scorers
	Options []string `json:"options"` // further keys of the entry
}

// describeKinds describes the named scorer kinds, or all of them if names is empty.
func describeKinds(names []string) ([]kindDescription, error) {
	if len(names) == 0 {
		names = kindNames()
	}
	var out []kindDescription
	for _, name := range names {
		k, err := kind(name)
		if err != nil {
			return nil, err
		}
		out = append(out, kindDescription{k.Name, k.Summary, k.Doc, k.Limits, k.Example, append([]string{}, k.Options...)})
	}
	return out, nil
}

func kind(name string) (*scorers.Kind, error) {
	table := scorers.Builtin()
	k := table.Lookup(name)
	if k == nil {
		hint := cmp.Or(diag.DidYouMean(name, table.Names()), "`evalrun scorers` lists the kinds")
		return nil, eval.BadInput("there is no scorer kind %q; %s", name, hint)
	}
	return k, nil
}

// explainKind writes the documentation, limits and an example of a scorer kind.
func explainKind(w io.Writer, name string) error {
	k, err := kind(name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(
		w, "%s: %s\n\n%s\n\nKnown limits:\n%s\n\nscorers:\n  %s\n", k.Name, k.Summary, fill(k.Doc, 80), fill(k.Limits, 80),
		strings.ReplaceAll(k.Example, "\n", "\n  "),
	)
	return err
}

func fill(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		indent := ""
		if strings.HasPrefix(line, "- ") {
			indent = "  "
		}
		out = append(out, strings.Join(diag.Wrap(line, width-len(indent)), "\n"+indent))
	}
	return strings.Join(out, "\n")
}
