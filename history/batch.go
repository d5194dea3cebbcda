package history

import (
	"database/sql"
	"errors"
	"strings"
)

// batchRows is how many rows go into one statement: the driver's cost is by statement.
const batchRows = 64

// batch inserts rows into one table, many at a time.
type batch struct {
	tx      *sql.Tx
	head    string // INSERT INTO t (...) VALUES
	tail    string // ON CONFLICT ...
	columns int
	full    *sql.Stmt // inserts batchRows rows
	args    []any
}

// newBatch prepares inserts. Names are those of the columns, keys the first of them that make up the primary key; when a
// row is there already, what is not key is added to it.
func newBatch(tx *sql.Tx, table string, keys int, names ...string) (*batch, error) {
	b := &batch{tx: tx, columns: len(names), head: "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES "}
	var sums []string
	for _, name := range names[keys:] {
		sums = append(sums, name+" = "+name+" + excluded."+name)
	}
	b.tail = " ON CONFLICT (" + strings.Join(names[:keys], ", ") + ") DO UPDATE SET " + strings.Join(sums, ", ")
	var err error
	b.full, err = tx.Prepare(b.statement(batchRows))
	return b, err
}

func (b *batch) statement(rows int) string { return b.head + values(rows, b.columns) + b.tail }

// values writes (?,?),(?,?).
func values(rows, columns int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", columns), ",") + ")"
	return strings.TrimSuffix(strings.Repeat(row+",", rows), ",")
}

// add inserts a row, now or later.
func (b *batch) add(row ...any) error {
	b.args = append(b.args, row...)
	if len(b.args) < batchRows*b.columns {
		return nil
	}
	_, err := b.full.Exec(b.args...)
	b.args = b.args[:0]
	return err
}

// close inserts what is left.
func (b *batch) close() error {
	var err error
	if rows := len(b.args) / b.columns; rows > 0 {
		_, err = b.tx.Exec(b.statement(rows), b.args...) //nolint:gosec // names of ours and question marks
	}
	return errors.Join(err, b.full.Close())
}

// words gives texts their numbers in the table word.
type words struct {
	tx    *sql.Tx
	find  *sql.Stmt // of batchRows texts
	known map[string]int64
}

func newWords(tx *sql.Tx) (*words, error) {
	find, err := tx.Prepare("SELECT id, text FROM word WHERE text IN " + values(1, batchRows)) //nolint:gosec // question marks
	return &words{tx, find, map[string]int64{}}, err
}

func (w *words) close() error { return w.find.Close() }

// forget lets go of what is known when it is much: a run may have a million cases.
func (w *words) forget() {
	if len(w.known) > 100*batchRows {
		clear(w.known)
	}
}

// learn looks up texts, at most batchRows of them, and adds those that are new.
func (w *words) learn(texts []string) error {
	var unknown []any
	for _, text := range texts {
		if _, ok := w.known[text]; !ok {
			unknown = append(unknown, text)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	if err := w.look(unknown); err != nil {
		return err
	}
	var fresh []any
	for _, text := range unknown {
		if _, ok := w.known[text.(string)]; !ok {
			fresh = append(fresh, text)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	insert := "INSERT INTO word (text) VALUES " + values(len(fresh), 1) + " ON CONFLICT DO NOTHING" //nolint:gosec // question marks
	if _, err := w.tx.Exec(insert, fresh...); err != nil {                                          //nolint:gosec // question marks
		return err
	}
	return w.look(fresh)
}

// look reads the numbers of texts.
func (w *words) look(texts []any) error {
	args := make([]any, batchRows)
	for i := range args {
		args[i] = texts[min(i, len(texts)-1)]
	}
	rows, err := w.find.Query(args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		w.known[text] = id
	}
	return rows.Err()
}
