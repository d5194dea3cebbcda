package journal

import (
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A run took what its sessions took, however long it lay there between them.
func TestOnlySessionsCountAsTimeWorked(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)
	at := func(d time.Duration) string { return begin.Add(d).Format(time.RFC3339Nano) }
	answer := func(d time.Duration) *eval.Result {
		r := result(0, eval.Pass)
		r.Timing = &eval.Timing{StartedAt: begin.Add(d), LatencyMs: 500}
		return r
	}
	end := func(d time.Duration) *eval.End {
		return &eval.End{Reason: eval.EndCompleted, FinishedAt: at(d)}
	}
	resume := func(d time.Duration) *Resumed { return &Resumed{At: at(d)} }
	for name, c := range map[string]struct {
		lines []any
		want  time.Duration
	}{
		"nothing yet":   {nil, 0},
		"one session":   {[]any{answer(time.Second), end(2 * time.Second)}, 2 * time.Second},
		"still goes on": {[]any{answer(time.Second)}, 1500 * time.Millisecond},
		"resumed":       {[]any{end(time.Second), resume(time.Hour), end(time.Hour + 2*time.Second)}, 3 * time.Second},
		"killed": {
			[]any{answer(2 * time.Second), answer(time.Second), resume(time.Hour), end(time.Hour + time.Second)},
			3500 * time.Millisecond,
		},
		"killed, no answer": {[]any{resume(time.Hour), end(time.Hour + time.Second)}, time.Second},
		"killed twice": {
			[]any{answer(0), resume(time.Hour), answer(time.Hour), resume(2 * time.Hour), end(2*time.Hour + time.Second)},
			2 * time.Second,
		},
		"recorded answers": {
			[]any{answer(-time.Hour), resume(time.Hour), answer(0), resume(2 * time.Hour), end(2*time.Hour + time.Second)},
			time.Second,
		},
		"no times": {[]any{&eval.End{Reason: eval.EndCompleted}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w, err := Create(dir, &eval.Run{ID: "r", StartedAt: at(0)}, nil)
			expect.OK(t, err)
			for _, line := range c.lines {
				switch line := line.(type) {
				case *eval.Result:
					err = w.Append(line)
				case *eval.End:
					err = w.write("end", line)
				case *Resumed:
					err = w.Resumed(line)
				}
				expect.OK(t, err)
			}
			expect.OK(t, w.Close())
			if got := followed(t, dir).Worked(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
