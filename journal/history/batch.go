package history

import (
	"database/sql"
	"errors"
	"strings"
)

// batchRows is the number of rows per statement: the driver's cost is mostly per statement.
const batchRows = 64

// bulkInsert inserts rows into one table, many at a time.
type bulkInsert struct {
	tx      *sql.Tx
	head    string // INSERT INTO t (...) VALUES
	tail    string // ON CONFLICT ...
	columns int
	full    *sql.Stmt // inserts batchRows rows
	args    []any
}

// newBatch prepares inserts. names are the columns; the first keys of them are the primary key. For a row
// that exists, the other columns are added to its values.
func newBatch(tx *sql.Tx, table string, keys int, names ...string) (*bulkInsert, error) {
	b := &bulkInsert{tx: tx, columns: len(names), head: "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES "}
	var sums []string
	for _, name := range names[keys:] {
		sums = append(sums, name+" = "+name+" + excluded."+name)
	}
	b.tail = " ON CONFLICT (" + strings.Join(names[:keys], ", ") + ") DO UPDATE SET " + strings.Join(sums, ", ")
	var err error
	b.full, err = tx.Prepare(b.statement(batchRows))
	return b, err
}

func (b *bulkInsert) statement(rows int) string { return b.head + values(rows, b.columns) + b.tail }

func values(rows, columns int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", columns), ",") + ")"
	return strings.TrimSuffix(strings.Repeat(row+",", rows), ",")
}

func (b *bulkInsert) add(row ...any) error {
	b.args = append(b.args, row...)
	if len(b.args) < batchRows*b.columns {
		return nil
	}
	_, err := b.full.Exec(b.args...)
	b.args = b.args[:0]
	return err
}

func (b *bulkInsert) close() error {
	var err error
	if rows := len(b.args) / b.columns; rows > 0 {
		_, err = b.tx.Exec(b.statement(rows), b.args...) //nolint:gosec // constant names and placeholders
	}
	return errors.Join(err, b.full.Close())
}

// words numbers texts in the table word.
type words struct {
	find, insert *sql.Stmt
	ids          map[string]int64
	texts        map[int64]string
}

func newWords(tx *sql.Tx) (*words, error) {
	find, err1 := tx.Prepare("SELECT id FROM word WHERE text = ?")
	insert, err2 := tx.Prepare("INSERT INTO word (text) VALUES (?)")
	return &words{find, insert, map[string]int64{}, map[int64]string{}}, errors.Join(err1, err2)
}

func (w *words) close() error { return errors.Join(w.find.Close(), w.insert.Close()) }

func (w *words) know(text string) error {
	if _, ok := w.ids[text]; ok {
		return nil
	}
	var id int64
	err := w.find.QueryRow(text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		var result sql.Result
		if result, err = w.insert.Exec(text); err == nil {
			id, err = result.LastInsertId()
		}
	}
	if err == nil {
		w.ids[text], w.texts[id] = id, text
	}
	return err
}
