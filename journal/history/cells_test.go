package history

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

func numbers(c *storedSums) string {
	return fmt.Sprintf("%d %q %v %g %v %d %v", c.place, c.caseName, c.Counts, c.LatencyMs, c.Tokens, c.Metered, c.metrics)
}

func TestCellsComeBack(t *testing.T) {
	t.Parallel()
	words := map[string]int64{"tone": 7, "": 1 << 40}
	all := []journal.CaseSums{
		{},
		{
			Case: "größe \x00",
			Sums: journal.Sums{Counts: eval.Counts{Pass: 1, Fail: 2, Error: 3, Skip: 400}, LatencyMs: 12.25, Metered: 5},
		},
		{
			Case: "b", Sums: journal.Sums{Tokens: journal.Tokens{Prompt: 1 << 33, Output: 2, Total: 3}},
			Metrics: journal.MetricSums{{Name: "tone", Sum: eval.Sum{Total: -0.5, N: 2}}, {Sum: eval.Sum{N: 1}}},
		},
	}
	var data []byte
	for i := range all {
		data = appendCell(data, i, &all[i], words)
	}
	var got []string
	expect.OK(t, cellsIn(data, func(c *storedSums) { got = append(got, numbers(c)) }))
	expect.Same(t, "cells", got, []string{
		`0 "" {0 0 0 0} 0 {0 0 0} 0 []`, `1 "größe \x00" {1 2 3 400} 12.25 {0 0 0} 5 []`,
		`2 "b" {0 0 0 0} 0 {8589934592 2 3} 0 [{7 {-0.5 2}} {1099511627776 {0 1}}]`,
	})
	random := rand.New(rand.NewPCG(19, 2))
	failed := 0
	for range 5000 {
		bad := append([]byte(nil), data[:random.IntN(len(data))]...)
		if len(bad) > 0 {
			bad[random.IntN(len(bad))] = byte(random.IntN(256))
		}
		if err := cellsIn(bad, func(*storedSums) {}); err != nil {
			expect.Same(t, "error", err, errCells, cmpopts.EquateErrors())
			failed++
		}
	}
	if failed == 0 {
		t.Error("got no error for any bytes, want some refused")
	}
}

// queries are queries about the cases of the runs that drawn writes.
func queries(t *testing.T, s *Store) (out []string) {
	t.Helper()
	for _, arm := range []string{"t/p", "t/q", "t/none"} {
		for _, limit := range []int{0, 1, 3} {
			names, err := s.Cases("s", arm, limit)
			expect.OK(t, err)
			out = append(out, fmt.Sprint(arm, limit, names))
			for _, metric := range []string{"", MetricErrors, MetricLatency, MetricTokens, "tone", "none"} {
				for _, caseName := range []string{"case 3", "case 17", "case none"} {
					points := trend(t, s, Query{Suite: "s", Arm: arm, Case: caseName, Metric: metric, Limit: limit})
					written, err := json.Marshal(points)
					expect.OK(t, err)
					out = append(out, fmt.Sprint(arm, limit, metric, caseName, string(written)))
				}
			}
		}
	}
	return out
}

func each(t *testing.T, s *Store) []row {
	t.Helper()
	rows, err := collect(s, func(rows *sql.Rows, r *row) error { return rows.Scan(&r.run, &r.suite, &r.arm, &r.bucket, &r.data) },
		"SELECT run, suite, arm, bucket, data FROM cells ORDER BY run, suite, arm, bucket, part")
	expect.OK(t, err)
	return rows
}

type row struct {
	run, suite, arm, bucket int64
	data                    []byte
}

func execute(t *testing.T, s *Store, statement string, args ...any) {
	t.Helper()
	_, err := s.db.Exec(statement, args...)
	expect.OK(t, err)
}

// asBefore keeps the cells of a run as evalrun did before version 4: each in a row, in the order of the plan.
func asBefore(t *testing.T, s *Store, run int64) {
	t.Helper()
	insert := map[int]func(){}
	for _, r := range each(t, s) {
		if r.run != run {
			continue
		}
		expect.OK(t, cellsIn(r.data, func(read *storedSums) {
			c, caseName, metrics := *read, string(read.caseName), slices.Clone(read.metrics)
			insert[c.place] = func() {
				execute(t, s, "INSERT OR IGNORE INTO word (text) VALUES (?)", caseName)
				const word = "(SELECT id FROM word WHERE text = ?)"
				execute(t, s, "INSERT INTO cell VALUES (?,?,?,"+word+",?,?,?,?,?,?,?,?,?)", r.run, r.suite, r.arm, caseName,
					c.Counts.Pass, c.Counts.Fail, c.Counts.Error, c.Counts.Skip, c.LatencyMs,
					c.Tokens.Prompt, c.Tokens.Output, c.Tokens.Total, c.Metered)
				for _, m := range metrics {
					execute(t, s, "INSERT INTO score VALUES (?,?,?,"+word+",?,?,?)", r.run, r.suite, r.arm, caseName, m.name, m.Total, m.N)
				}
			}
		}))
	}
	for _, place := range slices.Sorted(maps.Keys(insert)) {
		insert[place]()
	}
	execute(t, s, "DELETE FROM cells WHERE run = ?", run)
	execute(t, s, "UPDATE run SET buckets = 0 WHERE n = ?", run)
}

// inParts makes a part of each half of a bucket, as large runs have them.
func inParts(t *testing.T, s *Store) {
	t.Helper()
	rows := each(t, s)
	execute(t, s, "DELETE FROM cells")
	for _, r := range rows {
		var ends []int
		reader := cellReader{data: r.data}
		for c := (storedSums{}); len(reader.data) > 0; {
			reader.cell(&c)
			ends = append(ends, len(r.data)-len(reader.data))
		}
		half := ends[len(ends)/2]
		for part, data := range [][]byte{r.data[:half], r.data[half:]} {
			execute(t, s, "INSERT INTO cells VALUES (?,?,?,?,?,?)", r.run, r.suite, r.arm, r.bucket, part, data)
		}
	}
}

// Queries about single cases have the same answer however the cells of each run are kept.
func TestCellsOfAllVersionsSayTheSame(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, filepath.Join(folder, "history.db"))
	for seed := range uint64(6) {
		expect.OK(t, s.Add(drawn(t, folder, seed)))
	}
	want := queries(t, s)
	inParts(t, s)
	expect.Same(t, "in parts", queries(t, s), want)
	for run := int64(1); run <= 6; run++ {
		asBefore(t, s, run)
		expect.Same(t, fmt.Sprint("up to run ", run, " as before"), queries(t, s), want)
	}
	expect.Same(t, "cells that are many to a row", len(each(t, s)), 0)
}

func TestDamagedCellsAreReportedWithTheirRemedy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, filepath.Join(folder, "history.db"))
	expect.OK(t, s.Add(drawn(t, folder, 1)))
	execute(t, s, "UPDATE cells SET data = x'00ff'")
	_, err := s.Trend(Query{Suite: "s", Arm: "t/p", Case: "case 3"})
	if !errors.Is(err, ErrUnusable) {
		t.Errorf("the trend of a case: got %v, want %v", err, ErrUnusable)
	}
	if _, err = s.Cases("s", "t/p", 0); !errors.Is(err, ErrUnusable) {
		t.Errorf("the cases: got %v, want %v", err, ErrUnusable)
	}
}
