package reports

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal/history"
)

// Limits of the history table; JSON shows all.
const (
	maxTrends = 20 // of arms, or of cases on arms
	idWidth   = 26 // of a run id, which begins with the time
)

// History writes an excerpt of the history for people: a line per run, and the trend of each metric.
func History(w io.Writer, e *history.Excerpt, o Options) error {
	h := historyTable{newScreen(nil, o), e}
	h.draw()
	return h.writeTo(w)
}

type historyTable struct {
	screen
	e *history.Excerpt
}

func (h *historyTable) draw() {
	if len(h.e.Runs) == 0 {
		h.out.WriteString("no runs in the history yet\n")
		return
	}
	if len(h.e.Cases) == 0 {
		h.runs()
	}
	groups := trendGroups(h.e.Trends)
	for _, g := range groups[:min(len(groups), maxTrends)] {
		h.group(g)
	}
	h.notes(max(0, len(groups)-maxTrends))
}

// notes adds what the tables do not show; more is the number of trends left out.
func (h *historyTable) notes(more int) {
	var notes []string
	if len(h.e.Trends) == 0 && len(h.e.Cases) > 0 {
		notes = append(notes, "no run has values of "+strings.Join(h.e.Cases, ", "))
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("... and %d more; --suite, --arm and --case choose, and -o json has all", more))
	}
	emulated := 0
	for i := range h.e.Runs {
		if h.e.Runs[i].Emulator {
			emulated++
		}
	}
	if emulated > 0 {
		notes = append(notes, fmt.Sprintf("%s of %d against evalrun's emulator, not a model", diag.Count(emulated, "run"), len(h.e.Runs)))
	}
	for i := range h.e.Runs {
		if run := &h.e.Runs[i]; run.Waiting != nil {
			notes = append(notes, fmt.Sprintf("evalrun resume %s collects %s", text.ShellWord(h.nameOf(run)), run.Waiting))
		}
	}
	for i, note := range notes {
		if i == 0 {
			h.out.WriteString("\n")
		}
		for _, line := range diag.Wrap(diag.CleanLine(note), h.o.Width) {
			h.out.WriteString(line + "\n")
		}
	}
}

func (h *historyTable) nameOf(run *history.RunRecord) string {
	if filepath.Base(run.Dir) == run.ID {
		return run.ID
	}
	if rel, err := filepath.Rel(h.o.Folder, run.Dir); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return run.Dir
}

func (h *historyTable) runs() {
	columns := []gridColumn{
		{Header: "run", Least: idWidth},
		{Header: "when (UTC)", Optional: 8}, // the run's name contains it too
		{Header: "suites", Optional: 1, Least: 8},
		{Header: "verdict"},
		{Header: "trials", Optional: 4, Least: 10},
		{Header: "pass rate", Optional: 2},
		{Header: "errors", Optional: 5},
		{Header: "tokens", Optional: 7},
		{Header: "commit", Optional: 6},
		{Header: "note", Optional: 3},
	}
	var rows [][]string
	for i := range h.e.Runs {
		run := &h.e.Runs[i]
		c := run.Counts()
		trials := fmt.Sprint(c.Total())
		if !h.e.Narrowed && c.Total() < run.Planned {
			trials = fmt.Sprintf("%d of %d", c.Total(), run.Planned)
		}
		rate := "-"
		if p, ok := run.PassRate(); ok {
			rate = diag.Percent(p)
		}
		rows = append(rows, []string{
			diag.CleanLine(run.ID), text.When(run.StartedAt), suitesOf(run), cmp.Or(diag.CleanLine(run.Verdict), "-"), trials, rate,
			fmt.Sprint(c.Error), fmt.Sprint(run.Tokens()), diag.CleanLine(run.Commit[:min(len(run.Commit), 7)]), noteOf(run),
		})
	}
	for at := len(columns) - 1; at >= len(columns)-2; at-- { // no commit, or nothing to note
		if !slices.ContainsFunc(rows, func(r []string) bool { return r[at] != "" }) {
			columns = slices.Delete(columns, at, at+1)
			for i := range rows {
				rows[i] = slices.Delete(rows[i], at, at+1)
			}
		}
	}
	h.grid(columns, rows)
}

func suitesOf(run *history.RunRecord) string {
	var names []string
	for i := range run.Arms {
		if name := run.Arms[i].Suite; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 { // no trial ran
		for _, s := range run.Suites {
			names = append(names, s.Name)
		}
	}
	return diag.CleanLine(strings.Join(names, ", "))
}

func noteOf(run *history.RunRecord) string {
	notes := (&eval.Run{Name: run.Name, Branch: run.Branch, Labels: run.Labels}).Marks()
	if run.Emulator {
		notes = append(notes, "emulator")
	}
	if run.Shard != "" {
		notes = append(notes, "shard "+run.Shard)
	}
	if run.Integrity != nil {
		notes = append(notes, overview.IntegrityOf(*run.Integrity))
	}
	switch run.Reason {
	case eval.EndWaiting:
		notes = append(notes, run.Waiting.String())
	case eval.EndCompleted:
		if n := run.Counts().Skip; n > 0 { // in a complete run, trials that did not have to run
			notes = append(notes, fmt.Sprintf("early stop, %d not run", n))
		}
	case "":
		notes = append(notes, "no end")
	default:
		notes = append(notes, string(run.Reason))
	}
	return diag.CleanLine(strings.Join(notes, ", "))
}

type trendGroup struct {
	title  string
	single bool // it is one case
	trends []*history.ArmTrend
}

func trendGroups(trends []history.ArmTrend) []trendGroup {
	var out []trendGroup
	for i := range trends {
		c := &trends[i]
		title := c.Suite + ": " + c.Arm
		if c.Case != "" {
			title = c.Suite + ": " + c.Case + " on " + c.Arm
		}
		if last := len(out) - 1; last >= 0 && out[last].trends[0].Suite == c.Suite && out[last].trends[0].Arm == c.Arm &&
			out[last].trends[0].Case == c.Case {
			out[last].trends = append(out[last].trends, c)
			continue
		}
		out = append(out, trendGroup{title, c.Case != "", []*history.ArmTrend{c}})
	}
	return out
}

// group writes a line per metric and, for a single case, a line per run.
func (h *historyTable) group(g trendGroup) {
	if h.out.Len() > 0 {
		h.out.WriteString("\n")
	}
	h.line("%s", diag.CleanLine(g.title))
	columns := []gridColumn{
		{Header: "metric", Least: 10},
		{Header: "trend"},
		{Header: "scale"},
		{Header: "first", Optional: 2},
		{Header: "last"},
		{Header: "90 % interval", Optional: 1},
	}
	rest := make([][]string, 0, len(g.trends))
	used := 0
	for _, c := range g.trends {
		last := &c.Points[len(c.Points)-1]
		rest = append(rest, []string{
			diag.CleanLine(c.Metric), "", scaleOf(c), trendValue(c.Metric, c.Points[0].Value), trendValue(c.Metric, last.Value),
			boundsOf(c.Metric, last),
		})
	}
	for i := range columns {
		widest := displaywidth.String(columns[i].Header)
		for _, row := range rest {
			widest = max(widest, displaywidth.String(row[i]))
		}
		if i == 0 {
			widest = min(widest, 16)
		}
		if i != 1 {
			used += widest + 2
		}
	}
	room := max(len("trend"), h.o.Width-used-2)
	for i, c := range g.trends {
		rest[i][1] = sparkline(c.Points, room)
	}
	h.grid(columns, rest)
	if g.single {
		h.points(g.trends[0])
	}
}

// points lists the runs with a metric.
func (h *historyTable) points(c *history.ArmTrend) {
	columns := []gridColumn{
		{Header: "run", Least: idWidth},
		{Header: "when (UTC)", Optional: 1},
		{Header: diag.CleanLine(c.Metric), Least: 8},
		{Header: "90 % interval", Optional: 2},
	}
	var rows [][]string
	for i := range c.Points {
		p := &c.Points[i]
		rows = append(rows, []string{diag.CleanLine(p.Run), text.When(p.StartedAt), trendValue(c.Metric, p.Value), boundsOf(c.Metric, p)})
	}
	h.out.WriteString("\n")
	h.grid(columns, rows)
}

func trendValue(metric string, v float64) string {
	switch metric {
	case history.MetricPass, history.MetricErrors:
		return diag.Percent(v)
	case history.MetricLatency:
		if v == 0 { // not measured
			return "-"
		}
		return text.Duration(v)
	case history.MetricTokens:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// boundsOf is the interval of a value and its n; latency and tokens have only n.
func boundsOf(metric string, p *history.Point) string {
	switch {
	case p.Interval == nil:
		return fmt.Sprintf("n=%d", p.N)
	case metric == history.MetricPass || metric == history.MetricErrors:
		return fmt.Sprintf("%.1f-%.1f, n=%d", 100*p.Interval[0], 100*p.Interval[1], p.N)
	}
	return fmt.Sprintf("%.3f-%.3f, n=%d", p.Interval[0], p.Interval[1], p.N)
}

// scaleOf names the values of the lowest and the highest block.
func scaleOf(c *history.ArmTrend) string {
	least, greatest := endsOf(c.Points)
	lo, hi := trendValue(c.Metric, least), trendValue(c.Metric, greatest)
	if lo == hi {
		return lo
	}
	return lo + " to " + hi
}

func endsOf(points []history.Point) (least, greatest float64) {
	least, greatest = points[0].Value, points[0].Value
	for i := range points {
		least, greatest = min(least, points[i].Value), max(greatest, points[i].Value)
	}
	return least, greatest
}

var blocks = []rune("▁▂▃▄▅▆▇█")

// sparkline draws a trend between its minimum and maximum in at most room characters. It averages neighbours when
// there are more points.
func sparkline(points []history.Point, room int) string {
	n := min(len(points), room)
	values := make([]float64, n)
	for i := range values {
		from, to := i*len(points)/n, (i+1)*len(points)/n
		for _, p := range points[from:to] {
			values[i] += p.Value / float64(to-from)
		}
	}
	least, greatest := endsOf(points)
	var b strings.Builder
	for _, v := range values {
		level := len(blocks) / 2
		if greatest > least {
			level = min(len(blocks)-1, int((v-least)/(greatest-least)*float64(len(blocks))))
		}
		b.WriteRune(blocks[level])
	}
	return b.String()
}
