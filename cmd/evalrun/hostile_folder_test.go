package main

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/expect"
)

const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

// A history that somebody else prepared runs nothing: it is set aside, and the run and the history go on without it.
func TestAHostileHistoryIsSetAside(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"trigger": "CREATE TRIGGER x AFTER INSERT ON run BEGIN INSERT INTO word (text) " + endless + "; END",
		"view":    "ALTER TABLE run RENAME TO old; CREATE VIEW run AS SELECT * FROM old WHERE (" + endless + ") > 0",
		"pragma":  "CREATE VIEW pragma_user_version AS SELECT 4 AS user_version WHERE (" + endless + ") > 0",
		"index":   "CREATE INDEX x ON run (length(zeroblob(100000000)))",
		"column":  "ALTER TABLE run ADD COLUMN x INTEGER GENERATED ALWAYS AS (length(zeroblob(100000000)))",
		"table":   "CREATE TABLE other (x)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, nil, map[string]string{"suite.yaml": plainSuite})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // it may hang
			defer cancel()
			run := func(args ...string) (code int, said string) {
				cmd := b.command(args...)
				var out strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &out
				expect.OK(t, cmd.Start())
				defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
				_ = cmd.Wait()
				return cmd.ProcessState.ExitCode(), out.String()
			}
			prepare := func() {
				t.Helper()
				db, err := sql.Open("sqlite", b.path(".evalrun/history.db"))
				expect.OK(t, err)
				_, err = db.Exec(change)
				expect.OK(t, err, db.Close())
			}
			b.exits(1, "run", "suite.yaml", "--emulator")
			prepare()
			code, said := run("run", "suite.yaml", "--emulator", "--untrusted")
			expect.Same(t, "exit code of run", code, 1)
			expect.Contains(t, "run", said, "triggers or views that evalrun did not write: it was renamed to history.db.set-aside")
			b.exits(0, "history")
			prepare()
			code, said = run("history")
			expect.Same(t, "exit code of history", code, 2)
			expect.Contains(t, "history", said, "it was renamed to history.db.set-aside; `evalrun history --rebuild`")
			b.exits(0, "history", "--rebuild")
			if _, err := os.Stat(b.path(".evalrun/history.db.set-aside")); err != nil || strings.Contains(b.errs, "set-aside") {
				t.Errorf("after --rebuild: %v, %s, want the old file next to a new history", err, b.errs)
			}
		})
	}
}
