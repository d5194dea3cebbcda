package history

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// application identifies the file as a history of evalrun: "evlr".
const application = 0x65766c72

// migrations lead from each version of the file to the next. PRAGMA user_version counts the applied ones. A
// released migration never changes; changes are new migrations.
//
// The tables cell and score have the runs that were added before version 4; later ones have many cells per
// row.
//
// The rows of a run are contiguous and in the order of the plan, so that a new run is appended to each
// table. Reading one case is one lookup per run. Recurring texts are in the table word.
var migrations = []string{
	`
CREATE TABLE run (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  dir TEXT NOT NULL,                  -- relative to the folder of the history when it is below that
  startedAt TEXT NOT NULL,
  started INTEGER NOT NULL,           -- the same in microseconds, to sort by
  finishedAt TEXT NOT NULL,
  reason TEXT NOT NULL,               -- '' when the run was killed
  emulator INTEGER NOT NULL,
  shard TEXT NOT NULL,                -- I/N, '' for a whole run
  planned INTEGER NOT NULL,           -- trials
  labels TEXT NOT NULL                -- JSON
);
CREATE INDEX run_started ON run (started, id);
CREATE TABLE part (                   -- the suites of a run
  run INTEGER NOT NULL, place INTEGER NOT NULL, suite TEXT NOT NULL, file TEXT NOT NULL, hash TEXT NOT NULL,
  PRIMARY KEY (run, place)
) WITHOUT ROWID;
CREATE TABLE model (
  run INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, apiVersion TEXT NOT NULL, version TEXT NOT NULL,
  PRIMARY KEY (run, place)
) WITHOUT ROWID;
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE cell (                   -- one case on one arm
  run INTEGER NOT NULL, suite INTEGER NOT NULL, arm INTEGER NOT NULL, kase INTEGER NOT NULL,
  pass INTEGER NOT NULL, fail INTEGER NOT NULL, error INTEGER NOT NULL, skip INTEGER NOT NULL,
  latency REAL NOT NULL,              -- added up over pass and fail, in milliseconds
  prompt INTEGER NOT NULL, output INTEGER NOT NULL, tokens INTEGER NOT NULL,
  metered INTEGER NOT NULL,           -- trials that tell tokens
  PRIMARY KEY (run, suite, arm, kase)
) WITHOUT ROWID;
CREATE TABLE score (                  -- a named metric of one case on one arm
  run INTEGER NOT NULL, suite INTEGER NOT NULL, arm INTEGER NOT NULL, kase INTEGER NOT NULL, metric INTEGER NOT NULL,
  sum REAL NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (run, suite, arm, kase, metric)
) WITHOUT ROWID;
CREATE TABLE total (                  -- the cells of an arm added up
  run INTEGER NOT NULL, suite INTEGER NOT NULL, arm INTEGER NOT NULL,
  pass INTEGER NOT NULL, fail INTEGER NOT NULL, error INTEGER NOT NULL, skip INTEGER NOT NULL,
  latency REAL NOT NULL, prompt INTEGER NOT NULL, output INTEGER NOT NULL, tokens INTEGER NOT NULL, metered INTEGER NOT NULL,
  rates REAL NOT NULL,                -- the cases' pass rates added up
  judged INTEGER NOT NULL,            -- cases with a pass or a fail
  asked INTEGER NOT NULL,             -- cases with a trial that was asked
  PRIMARY KEY (run, suite, arm)
) WITHOUT ROWID;
CREATE TABLE mean (                   -- the means by case of an arm's metric added up
  run INTEGER NOT NULL, suite INTEGER NOT NULL, arm INTEGER NOT NULL, metric INTEGER NOT NULL,
  sum REAL NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (run, suite, arm, metric)
) WITHOUT ROWID;
`,
	// base was the run with which the suite was compared, until the table look.
	"ALTER TABLE part ADD COLUMN base TEXT NOT NULL DEFAULT ''",
	// The name of the run, and the commit and branch that git had checked out; '' for none, and for runs
	// from before this version.
	"ALTER TABLE run ADD COLUMN name TEXT NOT NULL DEFAULT ''; ALTER TABLE run ADD COLUMN revision TEXT NOT NULL " +
		"DEFAULT ''; ALTER TABLE run ADD COLUMN branch TEXT NOT NULL DEFAULT ''",
	// The cells of a run, in buckets by a hash of their cases; buckets is 0 for runs from before this
	// version. See cells.go.
	`ALTER TABLE run ADD COLUMN buckets INTEGER NOT NULL DEFAULT 0;
CREATE TABLE cells (
  run INTEGER NOT NULL, suite INTEGER NOT NULL, arm INTEGER NOT NULL, bucket INTEGER NOT NULL, part INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (run, suite, arm, bucket, part)
);
`,
	// The comparisons of arms with baselines; none for runs from before this version. answers is the run that got the
	// answers.
	`CREATE TABLE look (
  run INTEGER NOT NULL, suite TEXT NOT NULL, arm TEXT NOT NULL, candidate TEXT NOT NULL, base TEXT NOT NULL,
  nth INTEGER NOT NULL, answers TEXT NOT NULL,
  PRIMARY KEY (run, suite, arm)
) WITHOUT ROWID;
CREATE INDEX look_candidate ON look (candidate, base);
`,
	// The trials of programs by integrity; 0 for runs from before this version.
	"ALTER TABLE run ADD COLUMN clean INTEGER NOT NULL DEFAULT 0; ALTER TABLE run ADD COLUMN open INTEGER NOT NULL " +
		"DEFAULT 0; ALTER TABLE run ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0",
	// What the alarm over nights reads. part says why a run is only a part of its suites, '' when it is whole; a run from before
	// this version has no night, nor has one whose answers did not come from a service. See night.go.
	`ALTER TABLE run ADD COLUMN verdict TEXT NOT NULL DEFAULT ''; -- in a word; '' where no gate was applied
CREATE TABLE night (
  run INTEGER NOT NULL, suite INTEGER NOT NULL, arm INTEGER NOT NULL, part TEXT NOT NULL, tool TEXT NOT NULL, model TEXT NOT NULL,
  rules TEXT NOT NULL, -- JSON: the suite's own about drift
  versions TEXT NOT NULL, -- JSON: of the model, as the answers say
  nth INTEGER NOT NULL, -- among the whole runs of the arm when it was added: with fewer rows than that the history shrank
  planned INTEGER NOT NULL, missing INTEGER NOT NULL, cached INTEGER NOT NULL, -- trials
  data BLOB NOT NULL,
  PRIMARY KEY (run, suite, arm)
);
CREATE TABLE kase (key BLOB PRIMARY KEY, name TEXT NOT NULL, tags TEXT NOT NULL) WITHOUT ROWID;
`,
	// The calls of a run that wait for the answers of its batches, and the verdict that the run had before it waited.
	"ALTER TABLE run ADD COLUMN calls INTEGER NOT NULL DEFAULT 0; ALTER TABLE run ADD COLUMN batches INTEGER NOT NULL " +
		"DEFAULT 0; ALTER TABLE run ADD COLUMN earlier TEXT NOT NULL DEFAULT ''",
}

// withNames is the version from which runs have a name, commit and branch.
const withNames = 3

// withBuckets is the version from which many cells share a row.
const withBuckets = 4

// withLooks is the version from which comparisons are counted by candidate.
const withLooks = 5

// withIntegrity is the version from which runs count the integrity of their trials.
const withIntegrity = 6

// withNights is the version from which runs are kept as nights.
const withNights = 7

// withWaiting is the version from which runs say what they wait for.
const withWaiting = 8

// perRun lists the tables with rows of a run, except run itself.
func perRun() []string {
	return []string{"part", "model", "cell", "score", "total", "mean", "cells", "look", "night"}
}

// foreign says why evalrun must not write to a file. The text follows the name of the file.
type foreign string

func (f foreign) Error() string { return string(f) }

func migrate(db *sql.DB) error {
	version, err := admit(db)
	if err != nil || version == len(migrations) {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after Commit
	if version, err = versionOf(tx); err != nil {
		return err
	}
	for ; version < len(migrations); version++ {
		if _, err := tx.Exec(migrations[version]); err != nil {
			return err
		}
	}
	_, err = tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, len(migrations)))
	if err != nil {
		return err
	}
	return tx.Commit()
}

// admit is versionOf for a file that was just opened. The author of the file may be somebody else, so its schema must be
// the one that evalrun writes: a trigger or view could run for ever.
func admit(db *sql.DB) (int, error) {
	version, err := versionOf(db)
	if err != nil || version == 0 {
		return version, err
	}
	is, err := schemaOf(db)
	if err == nil && fmt.Sprintf("%x", sha256.Sum256([]byte(is))) != schemas[version-1] {
		err = ErrStrange
	}
	return version, err
}

// schemas are the sums of the schemas of all versions, the first one first: making them takes longer than to read a history.
var schemas = []string{
	"8870712958750667cdda8186c833e51645053c98881bfd618095f318699727e2",
	"ffb88a4c3af935f579736ff9d688cd1ee4e5b7c07a3ec43e5887b695abd88a2b",
	"9808ef3cf6b0b0902aba36ed4b6d3dc0e9f61bbdb04a27a590fd4093cadbc458",
	"cfac2564e4f74599c8777d40eb0dc7a2ebec042db6ac3884066be52384334016",
	"95c851aa29ea2adedf2f1b1d015d420a07c271bf1e4b6ebcd546dab992a3b7cf",
	"22d6b140163d80dd94834010b93592042bd68981de1bb0e39599db54efda9437",
	"c92ee0f1de02a721f4b2f20bb52b65163b1dc9f42367875399061c0c27d671d0",
	"2ddfc5af7d2fa68b7afecbe8ee67dcf18137d1d42a06eb986f73cc7c6d6499ca",
}

// sqlComment matches comments, which the schema keeps and earlier versions worded differently.
var sqlComment = regexp.MustCompile(`--[^\n]*`)

// schemaOf describes the tables, indexes, triggers and views of a file.
func schemaOf(db *sql.DB) (string, error) {
	const most = 100 // more than evalrun ever wrote
	ctx, cancel := bounded()
	defer cancel()
	rows, err := db.QueryContext(ctx, "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name LIMIT ?", most)
	if err != nil {
		return "", err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	var b strings.Builder
	for rows.Next() {
		var kind, name, table, text string
		if err := rows.Scan(&kind, &name, &table, &text); err != nil {
			return "", err
		}
		text = strings.Join(strings.Fields(sqlComment.ReplaceAllString(text, "")), " ")
		fmt.Fprintf(&b, "%q %q %q %q\n", kind, name, table, text)
	}
	return b.String(), rows.Err()
}

type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// versionOf returns the version of the file, 0 for an empty one. It names nothing that the file could define.
func versionOf(db rower) (int, error) {
	var app, version, tables int
	ctx, cancel := bounded()
	defer cancel()
	err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app)
	if err == nil {
		err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	}
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	}
	switch {
	case err != nil:
		return 0, err
	case app == 0 && version == 0 && tables == 0:
		return 0, nil
	case app != application || version < 1:
		return 0, foreign("is not a history of evalrun")
	case version > len(migrations):
		return 0, foreign(fmt.Sprintf("has version %d; this evalrun reads up to %d", version, len(migrations)))
	}
	return version, nil
}
