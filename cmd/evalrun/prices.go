package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

//go:embed prices.yaml
var pricesFile []byte

func (a *app) pricesCommand() *cobra.Command {
	json := false
	cmd := &cobra.Command{
		Use: "prices", Short: "List prices of current models, with the pages that say so", Args: cobra.NoArgs,
		Long: "Lists what vendors charge per million tokens, with the page and the day of each figure. Prices change: compare\n" +
			"them with the page before you rely on them. `evalrun help limits#prices` describes price lists.",
		Example: "  evalrun prices --json > prices.json\n  evalrun run suite.yaml --prices prices.json",
		RunE: func(*cobra.Command, []string) error {
			list := suite.LoadPrices("prices.yaml", pricesFile, &diag.List{})
			if json {
				return a.screen().JSON(list)
			}
			return a.writePrices(list)
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.JSON(&json)
	fs.Lookup("json").Usage = "print the price list as JSON, a file for --prices"
	return cmd
}

func (a *app) writePrices(list *eval.PriceList) error {
	tw := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	p := term.Printer{W: tw}
	p.Printf("MODEL\tINPUT\tCACHED\tWRITTEN\tOUTPUT\n")
	row := func(name string, price *eval.Price) {
		p.Printf("%s\t%s\t%s\t%s\t%s\n", name, figure(&price.Input), figure(price.Cached), figure(price.CacheWrite), figure(&price.Output))
	}
	type page struct{ source, date string }
	pages := map[page]bool{}
	for _, name := range slices.Sorted(maps.Keys(list.Models)) {
		one := list.Models[name]
		row(name, &one)
		if one.Above != nil {
			row("  above "+strconv.Itoa(one.Above.Tokens), &one.Above.Price)
		}
		pages[page{one.Source, one.Date}] = true
	}
	if err := cmp.Or(p.Err, tw.Flush()); err != nil {
		return err
	}
	notes := fmt.Sprintf("\n%s per million tokens, times %g in batches; above: for calls with longer prompts\n", list.Currency, *list.Batch)
	for _, of := range slices.SortedFunc(maps.Keys(pages), func(x, y page) int { return strings.Compare(x.source, y.source) }) {
		notes += fmt.Sprintf("%s on %s\n", of.source, of.date)
	}
	return writeWrapped(a.out, notes+"prices change: compare them with these pages before you rely on them\n", a.outWidth)
}

// figure shows a price, "-" where the list has none and that of input counts.
func figure(price *float64) string {
	if price == nil {
		return "-"
	}
	return strconv.FormatFloat(*price, 'f', -1, 64)
}
