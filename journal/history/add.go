package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/journal"
)

// Add adds a run in one transaction. It replaces an earlier version of the run.
func (s *Store) Add(doc *journal.Document) error { return s.take(doc, true) }

func (s *Store) take(doc *journal.Document, cases bool) error {
	tx, err := s.db.Begin()
	if err != nil {
		return s.explain(err)
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after Commit
	if err := s.add(tx, doc, cases); err != nil {
		return s.explain(err)
	}
	return s.explain(tx.Commit())
}

func (s *Store) add(tx *sql.Tx, doc *journal.Document, cases bool) error {
	dir, err := s.kept(doc.Dir)
	if err != nil {
		return err
	}
	id := cmp.Or(doc.Run.ID, dir) // evalrun writes no run files without an id
	nths, earlier, err := remove(tx, id)
	if err != nil {
		return err
	}
	n, err := insertRun(tx, doc, id, dir, earlier)
	if err != nil {
		return err
	}
	a, err := newAdder(tx, n, bucketsFor(doc.Len()))
	if err != nil {
		return err
	}
	a.nths = nths
	err = a.cells(doc, cases)
	if err == nil && cases {
		err = a.nights(tx, doc)
	}
	return errors.Join(err, a.close())
}

// kept returns the form in which a run directory is stored: relative to the folder of the history if it is
// below that, so that both can be moved.
func (s *Store) kept(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(filepath.Dir(s.path), dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), nil
	}
	return dir, nil
}

func (s *Store) placed(dir string) string {
	if native := filepath.FromSlash(dir); filepath.IsLocal(native) {
		return filepath.Join(filepath.Dir(s.path), native)
	}
	return dir
}

// remove deletes a run, and returns which nights it was, and its last verdict before it waited.
func remove(tx *sql.Tx, id string) (nths map[[2]int64]int, verdict string, err error) {
	var n int64
	ctx, cancel := bounded()
	defer cancel()
	err = tx.QueryRowContext(ctx, "SELECT n, iif(reason = ?, earlier, verdict) FROM run WHERE id = ?", eval.EndWaiting, id).Scan(&n, &verdict)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", nil
	}
	if err == nil {
		nths, err = nthsOf(ctx, tx, n)
	}
	if err != nil {
		return nil, "", err
	}
	for _, table := range perRun() {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE run = ?", n); err != nil { //nolint:gosec // constant names
			return nil, "", err
		}
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM run WHERE n = ?", n)
	return nths, verdict, err
}

func nthsOf(ctx context.Context, tx *sql.Tx, run int64) (map[[2]int64]int, error) {
	rows, err := tx.QueryContext(ctx, "SELECT suite, arm, nth FROM night WHERE run = ?", run)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	out := map[[2]int64]int{}
	for rows.Next() {
		var key [2]int64
		var nth int
		if err := rows.Scan(&key[0], &key[1], &nth); err != nil {
			return nil, err
		}
		out[key] = nth
	}
	return out, rows.Err()
}

// insertRun inserts the run itself and returns its number. earlier is the verdict that it had before.
func insertRun(tx *sql.Tx, doc *journal.Document, id, dir, earlier string) (int64, error) {
	run, end := &doc.Run, eval.End{}
	if doc.End != nil {
		end = *doc.End
	}
	labels, err := wirejson.Marshal(run.Labels)
	if err != nil {
		return 0, err
	}
	shard := ""
	if of := run.Plan.Shard; of != nil {
		shard = fmt.Sprintf("%d/%d", of.Index, of.Of)
	}
	trusted, waiting, verdict := doc.Summary.Integrity, journal.Waiting{}, ""
	if w := doc.Waits(); w != nil {
		waiting = *w
	}
	if doc.Decision != nil {
		verdict = doc.Decision.Verdict
	}
	result, err := tx.Exec(
		`INSERT INTO run (id, dir, startedAt, started, finishedAt, reason, emulator, shard, planned, labels,
name, revision, branch, buckets, clean, open, tainted, verdict, calls, batches, earlier)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		id, dir, run.StartedAt, micros(run.StartedAt), end.FinishedAt, string(end.Reason), run.Emulator, shard,
		run.Plan.Trials, string(labels), run.Name, run.Commit, run.Branch, bucketsFor(doc.Len()),
		trusted.Clean, trusted.Open, trusted.Tainted, verdict,
		waiting.Calls, waiting.Batches, earlier,
	)
	if err != nil {
		return 0, err
	}
	n, err := result.LastInsertId()
	if err != nil {
		return 0, err
	}
	return n, parts(tx, doc, n)
}

func parts(tx *sql.Tx, doc *journal.Document, n int64) error {
	run := &doc.Run
	for i := range run.Suites {
		one := &run.Suites[i]
		const insert = "INSERT INTO part (run, place, suite, file, hash) VALUES (?,?,?,?,?)"
		if _, err := tx.Exec(insert, n, i, one.Name, one.File, one.Hash); err != nil {
			return err
		}
		if err := looks(tx, doc, one, n); err != nil {
			return err
		}
	}
	for i := range run.Models {
		m := &run.Models[i]
		const insert = "INSERT INTO model (run, place, name, apiVersion, version) VALUES (?,?,?,?,?)"
		if _, err := tx.Exec(insert, n, i, m.ID(), m.APIVersion, m.Version); err != nil {
			return err
		}
	}
	return nil
}

// micros converts a time of a run file to a number for sorting, 0 if it is invalid.
func micros(at string) int64 {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return 0
	}
	return t.UnixMicro()
}

type adder struct {
	run         int64
	words       *words
	cell        *cellBatch
	total, mean *bulkInsert
	totals      map[[2]int64]*total
	order       [][2]int64       // suites and arms in the order of the cells
	nths        map[[2]int64]int // of the nights that the run replaces
}

type total struct {
	journal.Sums
	rates eval.Sum // pass rates of the cases with one
	ran   int      // cases with a trial that ran
	means journal.MetricSums
}

func newAdder(tx *sql.Tx, run int64, buckets int) (*adder, error) {
	a := &adder{run: run, totals: map[[2]int64]*total{}}
	var errs [4]error
	a.words, errs[0] = newWords(tx)
	a.cell, errs[1] = newCellBatch(tx, run, buckets)
	a.total, errs[2] = newBatch(
		tx, "total", 3, "run", "suite", "arm", "pass", "fail", "error", "skip", "latency", "prompt", "output", "tokens",
		"metered", "rates", "judged", "asked",
	)
	a.mean, errs[3] = newBatch(tx, "mean", 4, "run", "suite", "arm", "metric", "sum", "n")
	return a, errors.Join(errs[:]...)
}

// cells adds up the cells of a document. each says to insert the cells too.
func (a *adder) cells(doc *journal.Document, each bool) error {
	for c := range doc.CaseSums() {
		if err := a.learn(c); err != nil {
			return err
		}
		key := [2]int64{a.words.ids[c.Suite], a.words.ids[c.Arm]}
		t, ok := a.totals[key]
		if !ok {
			t = &total{}
			a.totals[key] = t
			a.order = append(a.order, key)
		}
		t.add(c)
		if !each {
			continue
		}
		if err := a.cell.add(key[0], key[1], c, a.words.ids); err != nil {
			return err
		}
	}
	return a.sums()
}

// learn numbers the words of a cell. Many cells share few words.
func (a *adder) learn(c *journal.CaseSums) error {
	err := a.words.know(c.Suite)
	if err == nil {
		err = a.words.know(c.Arm)
	}
	for i := 0; i < len(c.Metrics) && err == nil; i++ {
		err = a.words.know(c.Metrics[i].Name)
	}
	return err
}

func (t *total) add(c *journal.CaseSums) {
	t.Add(&c.Sums)
	if judged := c.Rated.Judged(); judged > 0 {
		t.rates.Add(float64(c.Rated.Pass) / float64(judged))
	}
	if c.Counts.Ran() > 0 {
		t.ran++
	}
	if c.Rated.Total() == 0 {
		return
	}
	for _, m := range c.Metrics {
		mean, _ := m.Mean()
		t.means.Add(m.Name, mean)
	}
}

func (a *adder) sums() error {
	for _, key := range a.order {
		t := a.totals[key]
		err := a.total.add(a.run, key[0], key[1], t.Counts.Pass, t.Counts.Fail, t.Counts.Error, t.Counts.Skip,
			t.LatencyMs, t.Tokens.Prompt, t.Tokens.Output, t.Tokens.Total, t.Metered, t.rates.Total, t.rates.N, t.ran)
		if err != nil {
			return err
		}
		for _, m := range t.means {
			if err := a.mean.add(a.run, key[0], key[1], a.words.ids[m.Name], m.Total, m.N); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *adder) close() error {
	return errors.Join(a.cell.close(), a.total.close(), a.mean.close(), a.words.close())
}
