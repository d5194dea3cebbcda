package reports_test

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// cells are the lines of a CSV report, read as RFC 4180 says; the first is the header.
func cells(t *testing.T, d *journal.Document) [][]string {
	t.Helper()
	file := written(t, "csv", d, reports.Options{})
	body, ok := strings.CutPrefix(file, "\ufeff")
	if !ok || !utf8.ValidString(body) || !strings.HasSuffix(body, "\r\n") {
		t.Fatalf("%.100q, want UTF-8 that ends a line", file)
	}
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	expect.OK(t, err)
	for _, row := range rows {
		for _, c := range row {
			if len(utf16.Encode([]rune(c))) > 32_767 {
				t.Fatalf("got a cell of %d, want at most 32,767", len(c))
			}
			if isFormula(c) || strings.ContainsFunc(strings.ReplaceAll(c, "\n", ""), unsafe) {
				t.Fatalf("got the cell %q, want one that is no formula", c)
			}
		}
	}
	return rows
}

// isFormula reports whether a spreadsheet may take a cell for a formula.
func isFormula(c string) bool {
	trimmed := strings.TrimSpace(c)
	return trimmed != "" && strings.ContainsAny(trimmed[:1], "=+-@") || strings.HasPrefix(c, "\t")
}

func TestCSVHasARowForEachTrial(t *testing.T) {
	t.Parallel()
	rows := cells(t, testrun.Every(t))
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	if len(rows) != 16 {
		t.Fatalf("got %v, want 16", len(rows))
	}
	for at, want := range map[int]map[string]string{
		1: {
			"suite": "fixture", "case": "passes", "arm": "pro/ask", "outcome": "pass", "reason": "", "answer": "Paris", "totalTokens": "7",
			"latencyMs": "120", "metric exact": "1", "emulator": "true", "firstTokenMs": "",
		},
		3: {"case": "fails", "outcome": "fail", "reason": `exact (equals): expected "Paris", got "Lyon"`, "metric exact": "0", "errorKind": ""},
		8: {
			"case": "errs", "outcome": "error", "errorKind": "status", "errorStatus": "503", "answer": "", "totalTokens": "",
			"metric exact": "",
		},
		11: {"case": "blocked", "blocked": "SAFETY"},
		12: {"outcome": "skip", "latencyMs": "", "reason": "the budget of 3 calls is spent"},
	} {
		for name, text := range want {
			expect.Same(t, fmt.Sprintf("line %d, %s", at, name), column(rows[at], name), text)
		}
	}
	huge := column(rows[15], "answer")
	if !strings.HasPrefix(huge, "A long answer. A") || !strings.HasSuffix(huge, "... 267273 more characters") {
		t.Errorf("got %d bytes that end in %s, want them cut with their number", len(huge), huge[max(0, len(huge)-60):])
	}
}

func TestSpreadsheetCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+x": "'+x", "-5": "'-5", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": `\x0d=1`, "\n=1": "'\n=1",
		"  =1": "'  =1", "＝1": "'＝1", "- a\n- b": "'- a\n- b",
		"plain": "plain", "5": "5", "a=b": "a=b", "'x": "'x", `"q", x`: `"q", x`, "a\r\nb": "a\nb", "": "", "e\u0301": "e\u0301",
		"שלום": "שלום",
	} {
		rows := cells(t, runOf(t, in, "b", "a/b"))
		expect.Same(t, fmt.Sprintf("%q", in), rows[1][slices.Index(rows[0], "answer")], want)
	}
	long := strings.Repeat("𝄞", 40_000) // two units each
	rows := cells(t, runOf(t, long, "b", "a/b"))
	if got := rows[1][slices.Index(rows[0], "answer")]; len(utf16.Encode([]rune(got))) < 32_700 ||
		!strings.HasSuffix(got, " more characters") {
		t.Errorf("got %v, %v, want at least 32,700 with the number of the others", len(got), got[len(got)-30:])
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"=cmd|' /C calc'!A0", "a\r\nb", "\"", "\x00", "\ufeff=1", ",;\t", strings.Repeat("é", 33_000)} {
		f.Add(s, "b")
	}
	for group := range slices.Chunk(hostile.Strings(), 40) { // files each
		f.Add(strings.Join(group, " "), group[0])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if rows := cells(t, runOf(t, a, b, b)); len(rows) != 5 {
			t.Fatalf("got %v, want 5", len(rows))
		}
	})
}
