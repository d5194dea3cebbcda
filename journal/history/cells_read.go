package history

import (
	"cmp"
	"database/sql"
	"errors"
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// inCells adds the points of a case from runs with buckets, newest first.
func (s *Store) inCells(found []trendPoint, q *Query, named string, isNamed bool) ([]trendPoint, error) {
	if version, err := versionOf(s.db); err != nil || version < withBuckets {
		return found, err
	}
	metric, err := s.wordOf(named)
	if err != nil {
		return nil, err
	}
	err = s.runsWith(q, func(p trendPoint, cells []storedSums) bool {
		var c trendRow
		for i := range cells {
			c.add(&cells[i], metric, isNamed)
		}
		if c.point(&p.Point, q.Metric, isNamed); p.N > 0 {
			found = append(found, p)
		}
		return q.Limit <= 0 || len(found) < 2*q.Limit // both kinds of runs may have up to q.Limit
	})
	slices.SortStableFunc(found, func(a, b trendPoint) int {
		return cmp.Or(cmp.Compare(b.started, a.started), cmp.Compare(b.Run, a.Run))
	})
	if q.Limit > 0 {
		found = found[:min(len(found), q.Limit)]
	}
	return found, err
}

// wordOf returns the number of a word, 0 for an unknown one.
func (s *Store) wordOf(text string) (id int64, err error) {
	if err = s.db.QueryRow("SELECT id FROM word WHERE text = ?", text).Scan(&id); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, err
}

// bucketsOf returns the SQL query for the buckets that may contain a case, newest run first.
func bucketsOf(q *Query) (statement string, args []any) {
	const word = "(SELECT id FROM word WHERE text = ?)"
	return "SELECT r.id, r.startedAt, r.emulator, r.started, c.data FROM run r CROSS JOIN cells c ON c.run = r.n AND c.suite = " + word +
			" AND c.arm = " + word + " AND c.bucket = ? % r.buckets WHERE r.shard = '' AND r.reason <> 'waiting' AND r.buckets > 0 " +
			"ORDER BY r.started DESC, r.id DESC",
		[]any{q.Suite, q.Arm, hashOf(q.Case)}
}

// runsWith yields the runs with a case, newest first, with the cells of that name, usually one.
func (s *Store) runsWith(q *Query, yield func(trendPoint, []storedSums) bool) error {
	statement, args := bucketsOf(q)
	ctx, cancel := bounded()
	defer cancel()
	rows, err := s.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	var last trendPoint
	var cells []storedSums
	for rows.Next() {
		var p trendPoint
		var data []byte
		if err := rows.Scan(&p.Run, &p.StartedAt, &p.Emulator, &p.started, &data); err != nil {
			return err
		}
		if p.Run != last.Run {
			if len(cells) > 0 && !yield(last, cells) {
				return nil
			}
			last, cells = p, cells[:0]
		}
		err := cellsIn(data, func(c *storedSums) {
			if string(c.caseName) == q.Case {
				one := *c
				one.metrics = slices.Clone(c.metrics)
				cells = append(cells, one)
			}
		})
		if err != nil {
			return err
		}
	}
	if len(cells) > 0 {
		yield(last, cells)
	}
	return rows.Err()
}

// add adds a cell of a case. For a single case, the units are trials.
func (c *trendRow) add(one *storedSums, metric int64, named bool) {
	if named {
		for _, m := range one.metrics {
			if m.name == metric {
				c.value.Total += m.Total
				c.value.N += m.N
			}
		}
		return
	}
	c.Add(&one.Sums)
	c.value, c.units = eval.Sum{Total: float64(c.Counts.Pass), N: c.Counts.Judged()}, c.Counts.Ran()
}

func (s *Store) casesInCells(names []string, suite, arm string, limit int) ([]string, error) {
	if version, err := versionOf(s.db); err != nil || version < withBuckets {
		return names, err
	}
	ctx, cancel := bounded()
	defer cancel()
	rows, err := s.db.QueryContext(
		ctx, `SELECT r.n, c.data FROM (SELECT n, started, id FROM run ORDER BY started DESC, id DESC LIMIT ?) r
CROSS JOIN cells c ON c.run = r.n AND c.suite = (SELECT id FROM word WHERE text = ?)
	AND c.arm = (SELECT id FROM word WHERE text = ?) ORDER BY r.started, r.id`, sqlLimit(limit), suite, arm,
	)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	l := caseList{names: names, listed: map[string]bool{}, run: -1}
	for _, name := range names {
		l.listed[name] = true
	}
	for rows.Next() {
		var run int64
		var data []byte
		if err := rows.Scan(&run, &data); err != nil {
			return nil, err
		}
		if err := l.add(run, data); err != nil {
			return nil, err
		}
	}
	l.settle()
	return l.names, rows.Err()
}

// caseList lists cases in the order of their first appearance.
type caseList struct {
	names  []string
	listed map[string]bool
	run    int64
	fresh  []placedCase // of the current run, whose buckets are not in the order of its cases
}

type placedCase struct {
	name  string
	place int
}

func (l *caseList) add(run int64, data []byte) error {
	if run != l.run {
		l.settle()
		l.run = run
	}
	return cellsIn(data, func(c *storedSums) {
		if !l.listed[string(c.caseName)] {
			name := string(c.caseName)
			l.listed[name] = true
			l.fresh = append(l.fresh, placedCase{name, c.place})
		}
	})
}

func (l *caseList) settle() {
	slices.SortFunc(l.fresh, func(a, b placedCase) int { return cmp.Compare(a.place, b.place) })
	for _, one := range l.fresh {
		l.names = append(l.names, one.name)
	}
	l.fresh = l.fresh[:0]
}
