package reports

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// How much of a run the table shows; the rest is counted.
const (
	defaultWidth = 100
	maxRows      = 40 // cases
	maxAccounts  = 10 // failures and errors told in full
	minCell      = 7  // columns of an arm
)

// Table writes the run for people: cases as rows and arms as columns where they fit, failing
// cases first, then the failures in words, then a line per arm.
func Table(w io.Writer, d *journal.Document, o Options) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	t := tableReport{d: d, o: o}
	t.heading()
	t.suites()
	if err := t.accounts(); err != nil {
		return err
	}
	t.arms()
	t.closing()
	_, err := w.Write(trimLines(t.out.Bytes()))
	return err
}

// trimLines takes the spaces at the ends of lines away.
func trimLines(b []byte) []byte {
	lines := bytes.Split(b, []byte("\n"))
	for i := range lines {
		lines[i] = bytes.TrimRight(lines[i], " ")
	}
	return bytes.Join(lines, []byte("\n"))
}

type tableReport struct {
	d   *journal.Document
	o   Options
	out bytes.Buffer
}

func (t *tableReport) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if plain := ansi.ReplaceAllString(text, ""); displaywidth.String(plain) > t.o.Width {
		text = displaywidth.TruncateString(plain, t.o.Width, "...")
	}
	t.out.WriteString(text + "\n")
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

// colours of outcomes.
var colors = map[eval.Outcome]string{eval.Pass: "32", eval.Fail: "31", eval.Err: "35", eval.Skip: "33"}

func (t *tableReport) paint(outcome eval.Outcome, s string) string {
	if !t.o.Color || s == "" {
		return s
	}
	return "\x1b[" + colors[outcome] + "m" + s + "\x1b[0m"
}

func (t *tableReport) heading() {
	var names []string
	for _, s := range t.d.Run.Suites {
		names = append(names, s.Name)
	}
	t.line("%s", diag.CleanLine(strings.Join(names, ", ")))
	if t.d.Run.Emulator {
		t.wrapped("", "against evalrun's emulator: no model was asked, the answers come from a script")
	}
	if t.d.Run.Cache {
		t.wrapped("", "with --cache: answers of earlier runs may be among these")
	}
	if dir := t.d.Run.Replay; dir != "" {
		t.wrapped("", "replayed: no model was asked, the answers come from "+dir)
	}
	if id := t.d.Run.RescoredFrom; id != "" {
		t.wrapped("", "rescored: nothing was asked for, the answers are those of the run "+id)
	}
	switch {
	case t.d.Running:
		t.line("the run still goes on: %d of %d trials so far", t.d.Summary.Counts.Total(), t.d.Run.Plan.Trials)
	case t.d.End == nil:
		t.line("the run was killed: it has %d of %d trials", t.d.Summary.Counts.Total(), t.d.Run.Plan.Trials)
	case t.d.End.Reason != eval.EndCompleted:
		t.wrapped("", incomplete(t.d.End))
	}
	if shard := t.d.Run.Plan.Shard; shard != nil {
		t.wrapped("", fmt.Sprintf("shard %d of %d: %d of %d trials; the gate is applied when all are merged", shard.Index, shard.Of, t.d.Run.Plan.Trials, shard.Trials))
	}
	for _, damage := range t.d.Damaged {
		t.line("damaged: %s", damage)
	}
	t.out.WriteString("\n")
}

// incomplete says why a run ended early.
func incomplete(end *eval.End) string {
	what := map[eval.EndReason]string{
		eval.EndInterrupted: "the run was interrupted",
		eval.EndBudget:      "the run stopped: its budget is spent",
		eval.EndMaxFailures: "the run stopped after too many failures",
		eval.EndStopped:     "the run stopped",
	}[end.Reason]
	if what == "" {
		what = "the run ended: " + string(end.Reason)
	}
	if end.Message != "" {
		what += ": " + end.Message
	}
	return what
}

// grid makes a table in the style of the report.
func (t *tableReport) grid() *tablewriter.Table {
	return tablewriter.NewTable(&t.out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.Off, Bottom: tw.Off},
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.On},
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAlignment(tw.AlignLeft), tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithTrimSpace(tw.Off),
	)
}

func (t *tableReport) render(g *tablewriter.Table, header []string, rows [][]string) {
	g.Header(header)
	for _, r := range rows {
		if err := g.Append(r); err != nil { // rows of strings always fit
			panic(err)
		}
	}
	if err := g.Render(); err != nil { // it goes into a buffer
		panic(err)
	}
}

// order gives the rows of a suite as they are shown: failing, erring, skipped, passing.
func (t *tableReport) order(suite string) (rows []journal.Row, left eval.Counts) {
	for _, wanted := range []eval.Outcome{eval.Fail, eval.Err, eval.Skip, eval.Pass} {
		for row := range t.d.Rows() {
			if row.Suite != suite || journal.Fold(row.Counts) != wanted || wanted == eval.Skip && row.Stopped() {
				continue
			}
			if len(rows) < maxRows {
				rows = append(rows, row)
			} else {
				left.Add(wanted)
			}
		}
	}
	return rows, left
}

// suites draws a table per suite.
func (t *tableReport) suites() {
	for _, s := range t.d.Summary.Suites {
		if len(t.d.Summary.Suites) > 1 {
			t.line("%s", diag.CleanLine(s.Name))
		}
		rows, left := t.order(s.Name)
		if !t.matrix(rows, s.Arms) {
			t.list(rows, s.Arms)
		}
		if n := left.Total(); n > 0 {
			t.line(" ... and %s more: %d failed, %d could not be judged, %d skipped, %d passed",
				diag.Count(n, "case"), left.Fail, left.Error, left.Skip, left.Pass)
		}
		t.out.WriteString("\n")
	}
	if len(t.d.Summary.Suites) == 0 {
		t.line("no trials")
	}
}

// matrix draws the arms as columns; false when they do not fit, or when there is one only and a
// reason to tell beside it.
func (t *tableReport) matrix(rows []journal.Row, arms []journal.Arm) bool {
	if len(arms) == 1 && arms[0].Counts.Pass < arms[0].Counts.Total() {
		return false
	}
	widest, room := 4, t.o.Width-2
	for _, r := range rows {
		widest = max(widest, displaywidth.String(diag.CleanLine(r.Case)))
	}
	header := []string{"case"}
	columns := make([][]string, len(arms))
	for i := range arms {
		header = append(header, diag.CleanLine(arms[i].Name))
		var width int
		columns[i], width = t.column(rows, arms[i].Name)
		room -= width + 2
	}
	caseWidth := min(widest, room)
	if caseWidth < min(widest, 16) {
		return false
	}
	var body [][]string
	for at, r := range rows {
		cells := []string{displaywidth.TruncateString(diag.CleanLine(r.Case), caseWidth, "...")}
		for i := range arms {
			cells = append(cells, columns[i][at])
		}
		body = append(body, cells)
	}
	t.render(t.grid(), header, body)
	return true
}

// column is what an arm's column says of each row, and how wide that is.
func (t *tableReport) column(rows []journal.Row, arm string) (cells []string, width int) {
	width = max(displaywidth.String(diag.CleanLine(arm)), minCell)
	for _, r := range rows {
		cell, ok := r.On(arm)
		if !ok {
			cells = append(cells, "")
			continue
		}
		text := word(cell, width)
		width = max(width, displaywidth.String(text))
		cells = append(cells, t.paint(journal.Fold(cell.Counts), text))
	}
	return cells, width
}

// word is a cell: the outcome and, of several repeats, how many passed.
func word(cell journal.Row, width int) string {
	outcome := journal.Fold(cell.Counts)
	text := string(outcome)
	if outcome != eval.Pass && outcome != eval.Skip {
		text = strings.ToUpper(text)
	}
	if cell.Counts.Total() > 1 {
		text += fmt.Sprintf(" %d/%d", cell.Counts.Pass, cell.Counts.Total())
	}
	if cell.Quarantined() {
		return text + " (quarantine)"
	}
	if kinds := cell.ErrorKinds(); outcome == eval.Err && len(kinds) == 1 {
		if long := text + " " + diag.CleanLine(string(kinds[0])); displaywidth.String(long) <= width {
			text = long
		}
	}
	return text
}

// list draws one line per case and arm, with the reason in what room there is.
func (t *tableReport) list(rows []journal.Row, arms []journal.Arm) {
	var body []listLine
	widths := [3]int{4, 3, 7}
	for _, r := range rows {
		for i := range arms {
			cell, ok := r.On(arms[i].Name)
			if !ok {
				continue
			}
			line := listLine{[3]string{diag.CleanLine(r.Case), diag.CleanLine(arms[i].Name), word(cell, 16)}, t.firstReason(cell), journal.Fold(cell.Counts)}
			for c := range widths {
				widths[c] = max(widths[c], displaywidth.String(line.cells[c]))
			}
			body = append(body, line)
		}
	}
	several := len(arms) > 1
	room := t.o.Width - widths[2] - 8
	if several {
		widths[1] = min(widths[1], max(8, room*2/5))
		room -= widths[1] + 2
	}
	widths[0] = min(widths[0], max(12, room/2))
	reason := room - widths[0]
	var shown [][]string
	for _, line := range body {
		shown = append(shown, pick([]string{
			displaywidth.TruncateString(line.cells[0], widths[0], "..."), displaywidth.TruncateString(line.cells[1], widths[1], "..."),
			t.paint(line.outcome, line.cells[2]), displaywidth.TruncateString(line.reason, max(0, reason), "..."),
		}, several, reason >= 12))
	}
	t.render(t.grid(), pick([]string{"case", "arm", "outcome", "reason"}, several, reason >= 12), shown)
}

// listLine is a case on an arm: case, arm, outcome in words.
type listLine struct {
	cells   [3]string
	reason  string
	outcome eval.Outcome
}

// pick leaves out the arm when there is one only, and the reason when there is no room.
func pick(cells []string, arm, reason bool) []string {
	out := []string{cells[0]}
	if arm {
		out = append(out, cells[1])
	}
	out = append(out, cells[2])
	if reason {
		out = append(out, cells[3])
	}
	return out
}

// firstReason is the reason of the first trial in a cell that did not pass.
func (t *tableReport) firstReason(cell journal.Row) string {
	if journal.Fold(cell.Counts) == eval.Pass {
		return ""
	}
	for r, err := range t.d.Read(cell) {
		if err == nil && r.Outcome != eval.Pass {
			return diag.CleanLine(why(r))
		}
	}
	return ""
}

// accounts tells the first failures in words, and errors once per cause.
func (t *tableReport) accounts() error {
	failures, told := 0, 0
	causes := newCauses()
	for row := range t.d.Rows() {
		if row.Counts.Fail+row.Counts.Error == 0 {
			continue
		}
		var failed []*eval.Result // of each arm, once for each reason
		times := map[string]int{}
		for r, err := range t.d.Read(row) {
			if err != nil {
				return err
			}
			switch r.Outcome {
			case eval.Err:
				causes.add(r)
			case eval.Fail:
				key := r.Arm + "\x00" + why(r)
				if times[key]++; times[key] == 1 {
					failed = append(failed, r)
				}
			}
		}
		for _, r := range failed {
			if failures++; told < maxAccounts {
				told++
				t.failure(r, times[r.Arm+"\x00"+why(r)])
			}
		}
	}
	if failures > told {
		t.line("... and %s more; `evalrun show` tells one case in full", diag.Count(failures-told, "failure"))
	}
	if failures > 0 {
		t.out.WriteString("\n")
	}
	t.errors(causes)
	return nil
}

// failure tells of a trial that failed, and of how many repeats for the same reason.
func (t *tableReport) failure(r *eval.Result, times int) {
	which := repeatOf(r)
	if times > 1 {
		which = fmt.Sprintf(" (%d repeats)", times)
	}
	t.line("%s %s on %s%s", t.paint(eval.Fail, "FAIL"), t.label(r), diag.CleanLine(r.Arm), which)
	for _, s := range r.Scores {
		if s.Passed {
			continue
		}
		t.wrapped("     ", scoreName(s)+": "+s.Reason)
		if s.Diff != "" && !strings.Contains(s.Reason, s.Diff) {
			for _, l := range strings.SplitN(s.Diff, "\n", 9)[:min(8, strings.Count(s.Diff, "\n")+1)] {
				t.line("       %s", diag.CleanLine(l))
			}
		}
	}
}

// label names the case of a trial, with its suite where there are several.
func (t *tableReport) label(r *eval.Result) string {
	if len(t.d.Summary.Suites) > 1 {
		return diag.CleanLine(r.Suite + ": " + r.Case)
	}
	return diag.CleanLine(r.Case)
}

func repeatOf(r *eval.Result) string {
	if r.Repeat > 1 {
		return fmt.Sprintf(" (repeat %d)", r.Repeat)
	}
	return ""
}

// wrapped writes a text over up to three lines.
func (t *tableReport) wrapped(indent, text string) {
	width := max(20, t.o.Width-len(indent))
	rest := diag.CleanLine(text)
	for n := 0; rest != ""; n++ {
		if n == 2 || displaywidth.String(rest) <= width {
			t.line("%s%s", indent, rest)
			return
		}
		head := displaywidth.TruncateString(rest, width, "")
		if i := strings.LastIndexByte(head, ' '); i > width/2 {
			head = head[:i]
		}
		t.line("%s%s", indent, head)
		rest = diag.CleanLine(strings.TrimLeft(rest[len(head):], " ")) // it begins a line now
	}
}

// causes groups errors by kind and message.
type causes struct {
	order []string
	count map[string]int
	first map[string]*eval.Result
}

func newCauses() *causes { return &causes{count: map[string]int{}, first: map[string]*eval.Result{}} }

func (c *causes) add(r *eval.Result) {
	key := why(r)
	if c.count[key]++; c.count[key] == 1 {
		if len(c.order) == 1000 { // messages that are all different add up to nothing
			delete(c.count, key)
			return
		}
		c.order = append(c.order, key)
		c.first[key] = &eval.Result{Trial: r.Trial}
	}
}

func (t *tableReport) errors(c *causes) {
	for i, key := range c.order {
		if i == maxAccounts {
			t.line("... and %s more", diag.Count(len(c.order)-i, "cause"))
			break
		}
		first := c.first[key]
		where := fmt.Sprintf("%s on %s%s", t.label(first), diag.CleanLine(first.Arm), repeatOf(first))
		if n := c.count[key]; n > 1 {
			where = fmt.Sprintf("%s, first %s", diag.Count(n, "trial"), where)
		}
		t.line("%s %s", t.paint(eval.Err, "ERROR"), where)
		t.wrapped("     ", key)
	}
	if len(c.order) > 0 {
		t.out.WriteString("\n")
	}
}
