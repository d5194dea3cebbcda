package history

import (
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// RunRecord is a run in the history.
type RunRecord struct {
	ID         string            `json:"id"`
	Name       string            `json:"name,omitempty"`
	Dir        string            `json:"dir"` // absolute; may no longer exist
	StartedAt  string            `json:"startedAt"`
	FinishedAt string            `json:"finishedAt,omitempty"`
	Reason     eval.EndReason    `json:"reason"` // "" if the run was killed or is in progress
	Emulator   bool              `json:"emulator"`
	Shard      string            `json:"shard,omitempty"`   // I/N for a shard
	Verdict    string            `json:"verdict,omitempty"` // in a word; "" where none is known
	Planned    int               `json:"planned"`           // trials of its plan
	Suites     []SuiteRecord     `json:"suites"`
	Models     []ModelRecord     `json:"models"`
	Labels     map[string]string `json:"labels"`
	Commit     string            `json:"commit,omitempty"`
	Branch     string            `json:"branch,omitempty"`
	Arms       []ArmRecord       `json:"arms"` // that match the filter
	// Integrity counts the trials of programs; nil without one.
	Integrity *journal.IntegrityCounts `json:"integrity,omitempty"`
	// Waiting is set while the run waits for its batches; Earlier is the verdict that it had before that, "" for none.
	Waiting *journal.Waiting `json:"waiting,omitempty"`
	Earlier string           `json:"-"`

	number int64
}

// SuiteRecord identifies a suite of a run by its name, its file and the hash that the run recorded.
type SuiteRecord struct {
	Name string `json:"name"`
	File string `json:"file"`
	Hash string `json:"hash"`
}

// ModelRecord is a model that a run used, with the version of its interface.
type ModelRecord struct {
	Name       string `json:"name"`
	APIVersion string `json:"apiVersion"`
	Version    string `json:"version"` // "" if unknown
}

// ArmRecord has the numbers of an arm in one run.
type ArmRecord struct {
	Suite string `json:"suite"`
	Arm   string `json:"arm"`
	eval.Counts
	Tokens journal.Tokens `json:"tokens"`
	// Scored counts the cases with a pass or a fail. Rates is the sum of their pass rates.
	Scored int     `json:"judged"`
	Rates  float64 `json:"-"`
	// PassRate is Rates/Scored, nil if no case was scored.
	PassRate *float64 `json:"passRate"`
}

// Counts returns the sum over the run's arms.
func (r *RunRecord) Counts() eval.Counts {
	var c eval.Counts
	for i := range r.Arms {
		c = c.Plus(r.Arms[i].Counts)
	}
	return c
}

// Tokens returns the sum over the run's arms.
func (r *RunRecord) Tokens() int {
	n := 0
	for i := range r.Arms {
		n += r.Arms[i].Tokens.Total
	}
	return n
}

// PassRate is the pass rate over all cases, as in the JSON report; false if no case was scored.
func (r *RunRecord) PassRate() (float64, bool) {
	rates, n := 0.0, 0
	for i := range r.Arms {
		rates += r.Arms[i].Rates
		n += r.Arms[i].Scored
	}
	if n == 0 {
		return 0, false
	}
	return rates / float64(n), true
}

// RunFilter selects runs that have a matching arm of a matching suite. Without patterns everything matches.
type RunFilter struct {
	Suites, Arms eval.Patterns
	Limit        int // of the newest runs; 0 means all
	// Choose selects from the runs, which are sorted by age and have no parts yet. Optional: all.
	Choose func([]RunRecord) []RunRecord
}

// Runs lists runs, the newest last.
func (s *Store) Runs(f RunFilter) ([]RunRecord, error) {
	all, err := s.heads()
	if err != nil {
		return nil, s.explain(err)
	}
	if f.Choose != nil {
		slices.Reverse(all)
		all = f.Choose(all)
		slices.Reverse(all)
	}
	var out []RunRecord
	for i := range all {
		run := &all[i]
		if err := s.fill(run, f); err != nil {
			return nil, s.explain(err)
		}
		if len(f.Suites)+len(f.Arms) > 0 && len(run.Arms) == 0 {
			continue
		}
		if out = append(out, *run); f.Limit > 0 && len(out) == f.Limit {
			break
		}
	}
	slices.Reverse(out)
	return out, nil
}

// heads reads the runs without their parts, the newest first.
func (s *Store) heads() ([]RunRecord, error) {
	names, trusted := "name, revision, branch", "clean, open, tainted"
	version, err := versionOf(s.db)
	if err != nil {
		return nil, err
	}
	if version < withNames { // a history opened for reading may have an older version
		names = "'', '', ''"
	}
	if version < withIntegrity {
		trusted = "0, 0, 0"
	}
	verdict := "verdict"
	if version < withNights {
		verdict = "''"
	}
	waiting := "calls, batches, earlier"
	if version < withWaiting {
		waiting = "0, 0, ''"
	}
	return collect(s, func(rows *sql.Rows, r *RunRecord) error {
		var labels string
		var of journal.IntegrityCounts
		var waiting journal.Waiting
		err := rows.Scan(
			&r.number, &r.ID, &r.Dir, &r.StartedAt, &r.FinishedAt, &r.Reason, &r.Emulator, &r.Shard, &r.Planned, &labels,
			&r.Name, &r.Commit, &r.Branch, &of.Clean, &of.Open, &of.Tainted,
			&r.Verdict, &waiting.Calls, &waiting.Batches, &r.Earlier,
		)
		if err != nil {
			return err
		}
		if of != (journal.IntegrityCounts{}) {
			r.Integrity = &of
		}
		if r.Reason == eval.EndWaiting {
			r.Waiting = &waiting
		}
		r.Dir = s.placed(r.Dir)
		return json.Unmarshal([]byte(labels), &r.Labels)
	}, "SELECT n, id, dir, startedAt, finishedAt, reason, emulator, shard, planned, labels, "+names+", "+trusted+", "+verdict+", "+waiting+
		" FROM run ORDER BY started DESC, id DESC")
}

func (s *Store) fill(run *RunRecord, f RunFilter) (err error) {
	run.Suites, err = collect(s, func(rows *sql.Rows, one *SuiteRecord) error { return rows.Scan(&one.Name, &one.File, &one.Hash) },
		"SELECT suite, file, hash FROM part WHERE run = ? ORDER BY place", run.number)
	if err != nil {
		return err
	}
	run.Models, err = collect(s, func(rows *sql.Rows, m *ModelRecord) error { return rows.Scan(&m.Name, &m.APIVersion, &m.Version) },
		"SELECT name, apiVersion, version FROM model WHERE run = ? ORDER BY place", run.number)
	if err != nil {
		return err
	}
	arms, err := collect(s, func(rows *sql.Rows, a *ArmRecord) error {
		err := rows.Scan(
			&a.Suite, &a.Arm, &a.Pass, &a.Fail, &a.Error, &a.Skip, &a.Tokens.Prompt, &a.Tokens.Output, &a.Tokens.Total, &a.Rates,
			&a.Scored,
		)
		if a.Scored > 0 {
			a.PassRate = new(a.Rates / float64(a.Scored))
		}
		return err
	}, `SELECT s.text, a.text, t.pass, t.fail, t.error, t.skip, t.prompt, t.output, t.tokens, t.rates, t.judged
FROM total t JOIN word s ON s.id = t.suite JOIN word a ON a.id = t.arm WHERE t.run = ? ORDER BY t.suite, t.arm`, run.number)
	run.Arms = slices.DeleteFunc(arms, func(a ArmRecord) bool { return !f.Suites.Match(a.Suite) || !f.Arms.Match(a.Arm) })
	return err
}

// Metrics lists the named metrics of an arm in the newest runs, by name. limit 0 means all runs.
func (s *Store) Metrics(suite, arm string, limit int) ([]string, error) {
	names, err := s.texts(`SELECT DISTINCT w.text FROM (SELECT n FROM run ORDER BY started DESC, id DESC LIMIT ?) r
CROSS JOIN mean m ON m.run = r.n AND m.suite = (SELECT id FROM word WHERE text = ?) AND m.arm = (SELECT id FROM word WHERE text = ?)
CROSS JOIN word w ON w.id = m.metric ORDER BY w.text`, sqlLimit(limit), suite, arm)
	return names, s.explain(err)
}

// Cases lists the cases of an arm in the newest runs, in order of appearance. limit 0 is all runs.
func (s *Store) Cases(suite, arm string, limit int) ([]string, error) {
	names, err := s.texts(
		`SELECT w.text FROM word w WHERE w.id IN (SELECT c.kase FROM (SELECT n FROM run ORDER BY started DESC, id DESC LIMIT ?) r
CROSS JOIN cell c ON c.run = r.n AND c.suite = (SELECT id FROM word WHERE text = ?) 
	AND c.arm = (SELECT id FROM word WHERE text = ?)) ORDER BY w.id`,
		sqlLimit(limit),
		suite,
		arm,
	)
	if err == nil {
		names, err = s.casesInCells(names, suite, arm, limit)
	}
	return names, s.explain(err)
}

// sqlLimit converts a limit for SQLite, where a negative one means none.
func sqlLimit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

func (s *Store) texts(query string, args ...any) ([]string, error) {
	return collect(s, func(rows *sql.Rows, text *string) error { return rows.Scan(text) }, query, args...)
}

// collect reads all rows, so that the only connection is free again. The list is never nil.
func collect[T any](s *Store, scan func(*sql.Rows, *T) error, query string, args ...any) ([]T, error) {
	ctx, cancel := bounded()
	defer cancel()
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	out := []T{}
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}
