package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// Each price has its page and its day, and the list is one for --prices, as it is and as JSON.
func TestPricesHaveTheirSource(t *testing.T) {
	t.Parallel()
	var diags diag.List
	list := suite.LoadPrices("prices.yaml", pricesFile, &diags)
	for name, of := range list.Models {
		if !strings.HasPrefix(of.Source, "https://") || of.Date < "2026-10-07" || !list.KnowsBatch(name) {
			t.Errorf("%s: got the source %q of %q, want the vendor's page and a day", name, of.Source, of.Date)
		}
	}
	data, err := json.Marshal(list)
	expect.OK(t, err)
	expect.Same(t, "read again", suite.LoadPrices("prices.json", data, &diags), list)
	if diags.Len() > 0 {
		t.Errorf("got %v, want a price list without problems", diags)
	}
}

// The table fits a terminal of 60 columns.
func TestPricesFitTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{out: &out, err: &out, outWidth: 60, getenv: func(string) string { return "" }}
	expect.OK(t, a.writePrices(suite.LoadPrices("prices.yaml", pricesFile, &diag.List{})))
	for line := range strings.Lines(out.String()) {
		if text := strings.TrimSpace(line); len(text) > 60 {
			t.Errorf("got %d columns, want at most 60: %s", len(text), text)
		}
	}
	if !strings.Contains(out.String(), "prices change") {
		t.Errorf("got %s, want a warning that prices change", out.String())
	}
}
