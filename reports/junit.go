package reports

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// The elements of a JUnit file, as the strictest of the schemas in use has them. All text is character data or an attribute,
// with control characters as \x01: in a CDATA section they would make the file unreadable.

type junitCase struct {
	XMLName   xml.Name      `xml:"testcase"`
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Skipped   *junitSkipped `xml:"skipped"`
	Error     *junitProblem `xml:"error"`
	Failure   *junitProblem `xml:"failure"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitProperty struct {
	XMLName xml.Name `xml:"property"`
	Name    string   `xml:"name,attr"`
	Value   string   `xml:"value,attr"`
}

// maxJUnitText bounds the text of one case, in code points.
const maxJUnitText = 20_000

// writeJUnit writes a JUnit file. Cases that did not pass are skipped when accepts returns true.
func writeJUnit(w io.Writer, d *journal.Document, _ Options, accepts func(suite, arm string) bool) error {
	j := junit{d: d, gate: overview.NewGateCases(d), failures: overview.NewFailures(d), accepts: accepts, out: bufio.NewWriter(w)}
	j.enc = xml.NewEncoder(j.out)
	j.print(xml.Header + "<testsuites>")
	id := 0
	for s, a := range d.Summary.Arms {
		if a.Cases.Tests == 0 {
			continue
		}
		if err := j.suite(id, s.Name, a); err != nil {
			return err
		}
		id++
	}
	if len(j.gate.Of("", "")) > 0 { // about the run as a whole
		if err := j.suite(id, "", &journal.ArmSummary{}); err != nil {
			return err
		}
		id++
	}
	if id > 0 { // xunit-viewer cannot parse white space where it expects a suite
		j.print("\n")
	}
	j.print("</testsuites>\n")
	return j.out.Flush()
}

type junit struct {
	d    *journal.Document
	gate overview.GateCases
	out  *bufio.Writer
	enc  *xml.Encoder

	failures overview.Failures
	accepts  func(suite, arm string) bool
}

// print writes a piece of XML; write errors surface in Flush.
func (j *junit) print(format string, args ...any) { _, _ = fmt.Fprintf(j.out, format, args...) }

func (j *junit) element(v any) error {
	if c, ok := v.(junitCase); ok {
		v = c.visible()
	}
	if err := j.enc.Encode(v); err != nil {
		return err
	}
	j.print("\n")
	return nil
}

func attr(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(visible(s))) // a strings.Builder never fails
	return b.String()
}

// visible is the case with control characters escaped.
func (c junitCase) visible() junitCase {
	c.Name, c.Classname = visible(c.Name), visible(c.Classname)
	for _, p := range []**junitProblem{&c.Error, &c.Failure} {
		if *p != nil {
			*p = &junitProblem{visible((*p).Message), visible((*p).Type), visible((*p).Text)}
		}
	}
	if c.Skipped != nil {
		c.Skipped = &junitSkipped{Message: visible(c.Skipped.Message), Text: visible(c.Skipped.Text)}
	}
	return c
}

// visible escapes what XML cannot hold or readers do not show: control characters except line breaks and tabs, and
// invalid UTF-8.
func visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// wholeRun names the suite for what is about the run as a whole. No suite with an arm has such a name.
const wholeRun = "run"

func (j *junit) suite(id int, suite string, arm *journal.ArmSummary) error {
	name := cmp.Or(strings.TrimSpace(suite+" "+arm.Name), wholeRun)
	rules := j.gate.Of(suite, arm.Name)
	counts := arm.Cases
	if j.accepts(suite, arm.Name) {
		counts.Skipped, counts.Failures, counts.Errors = counts.Skipped+counts.Failures+counts.Errors, 0, 0
	}
	j.print(
		"\n"+`<testsuite name="%s" package="%s" id="%d" timestamp="%s" hostname="localhost" `,
		attr(name), attr(cmp.Or(suite, wholeRun)), id, timestamp(j.d.Run.StartedAt),
	)
	counts = j.gate.In(counts, rules)
	j.print(
		`tests="%d" failures="%d" errors="%d" skipped="%d" time="%s">`+"\n", counts.Tests,
		counts.Failures, counts.Errors, counts.Skipped, seconds(j.time(suite, arm.Name)),
	)
	j.print("<properties>\n")
	for _, p := range j.properties(suite, arm) {
		p.Value = visible(p.Value)
		if err := j.element(p); err != nil {
			return err
		}
	}
	j.print("</properties>\n")
	if err := j.cases(suite, arm.Name); err != nil {
		return err
	}
	if err := j.rules(rules, name); err != nil {
		return err
	}
	j.print("<system-out></system-out>\n<system-err></system-err>\n</testsuite>")
	return nil
}

func (j *junit) cases(suite, arm string) error {
	for cell := range cellsOn(j.d, suite, arm) {
		if err := j.caseName(cell, suite, arm); err != nil {
			return err
		}
	}
	return nil
}

func cellsOn(d *journal.Document, suite, arm string) iter.Seq[journal.Row] {
	return func(yield func(journal.Row) bool) {
		for row := range d.Rows() {
			if row.Suite != suite {
				continue
			}
			if cell, ok := row.On(arm); ok && !yield(cell) {
				return
			}
		}
	}
}

// rules writes rules as cases that failed, or that could not be scored; a rule about drift that holds is one that passed.
func (j *junit) rules(rules []journal.GateRule, class string) error {
	for i := range rules {
		one := junitCase{Name: overview.GateCase(&rules[i]), Classname: class, Time: seconds(0)}
		lines := verdictLines(j.d, &rules[i])
		if rules[i].RuleName == "" {
			lines = []string{overview.NotGated + ": " + rules[i].Why}
		}
		problem := &junitProblem{lines[0], "gate", shorten(strings.Join(lines, "\n"), maxJUnitText)}
		switch {
		case j.gate.IsSkipped(&rules[i]):
			one.Skipped = &junitSkipped{Message: problem.Message, Text: problem.Text}
		case j.gate.IsError(&rules[i]):
			one.Error = problem
		case !rules[i].Standing.Holds():
			one.Failure = problem
		}
		if err := j.element(one); err != nil {
			return err
		}
	}
	return nil
}

func (j *junit) properties(suite string, arm *journal.ArmSummary) []junitProperty {
	out := append([]junitProperty{{Name: "evalrun.run", Value: j.d.Run.ID}}, j.answering(suite, arm)...)
	if j.d.Partial() {
		out = append(out, junitProperty{Name: "evalrun.partial", Value: "true: not every trial of the plan ran"})
	}
	if rate, ok := arm.PassRate(); ok {
		out = append(out, junitProperty{Name: "evalrun.passRate", Value: fmt.Sprintf("%.4f", rate)})
	}
	if words := overview.IntegrityOf(arm.Integrity); words != "" {
		out = append(out, junitProperty{Name: "evalrun.integrity", Value: words})
	}
	if j.d.Gate() == nil {
		return append(out, junitProperty{Name: "evalrun.verdict", Value: overview.NotGated + ": " + overview.NotApplied})
	}
	out = append(out, junitProperty{Name: "evalrun.exit", Value: fmt.Sprint(j.d.Gate().Exit)})
	for _, rule := range j.d.Gate().Rules {
		if rule.Suite == suite && (rule.Arm == "" || rule.Arm == arm.Name) {
			word := map[bool]string{true: "holds", false: "does not hold"}[rule.Standing.Holds()]
			words := word + ": " + strings.Join(verdictLines(j.d, &rule), "; ")
			out = append(out, junitProperty{Name: "evalrun.gate." + string(rule.RuleName), Value: shorten(words, maxJUnitText)})
		}
	}
	return out
}

// answering are properties that say what answered on an arm: the models' service, or an application.
func (j *junit) answering(suite string, arm *journal.ArmSummary) []junitProperty {
	target, _, _ := strings.Cut(arm.Name, "/")
	if app := appOf(&j.d.Run, suite, target); app != "" {
		return []junitProperty{{Name: "evalrun.application", Value: shorten(app, maxJUnitText)}}
	}
	at := j.d.Run.Service.BaseURL
	if t := j.d.Run.Target(suite, target); t != nil && t.Service != "" {
		at = t.Service + " " + j.d.Run.Services[t.Service].BaseURL
	}
	out := []junitProperty{{Name: "evalrun.service", Value: shorten(at, maxJUnitText)}}
	if j.d.Run.Emulator {
		out = append(out, junitProperty{Name: "evalrun.emulator", Value: "true: answers come from a script, not from a model"})
	}
	return out
}

// timestamp is an RFC 3339 time without zone and fraction, as the schema requires.
func timestamp(rfc3339 string) string {
	t, err := time.Parse(time.RFC3339Nano, rfc3339)
	if err != nil {
		t = time.Unix(0, 0)
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }

func (j *junit) time(suite, arm string) float64 {
	total := 0.0
	for cell := range cellsOn(j.d, suite, arm) {
		total += cell.LatencyMs()
	}
	return total
}

// caseName writes the trials of a case on an arm as one testcase.
func (j *junit) caseName(cell journal.Row, suite, arm string) error {
	c := junitCase{Name: cell.Case, Classname: suite + " " + arm, Time: seconds(cell.LatencyMs())}
	outcome := journal.Fold(cell.Counts)
	if cell.Quarantined() {
		return j.quarantined(cell, c)
	}
	if outcome == eval.Pass {
		return j.element(c)
	}
	p, err := j.problem(cell, outcome)
	if err != nil {
		return err
	}
	switch unpassed := outcome == eval.Fail || outcome == eval.Err; {
	case unpassed && j.accepts(suite, arm):
		c.Skipped = j.acceptedCase(outcome, p)
	case outcome == eval.Fail:
		c.Failure = p
	case outcome == eval.Err:
		c.Error = p
	default:
		c.Skipped = &junitSkipped{Message: p.Message}
	}
	return j.element(c)
}

// problem explains why trials of a case have an outcome.
func (j *junit) problem(cell journal.Row, outcome eval.Outcome) (*junitProblem, error) {
	var p junitProblem
	var body strings.Builder
	for r, err := range j.d.Read(cell) {
		if err != nil {
			return nil, err
		}
		if r.Outcome() != outcome {
			continue
		}
		if p.Message == "" {
			p.Message, p.Type = text.Why(r), typeOf(r)
			if standing := j.failures.OfTrial(r); standing != "" {
				p.Message = string(standing) + ": " + p.Message
			}
		}
		account(&body, r, cell.Counts.Total())
	}
	if cell.Counts.Total() > 1 {
		p.Message = fmt.Sprintf("%s: %s", tally(cell.Counts), p.Message)
	}
	p.Message, p.Text = shorten(p.Message, 500), shorten(body.String(), maxJUnitText)
	return &p, nil
}

// quarantined writes a case that does not count, with its result.
func (j *junit) quarantined(cell journal.Row, c junitCase) error {
	for r, err := range j.d.Read(cell) {
		if err != nil {
			return err
		}
		if q := r.Quarantine; q != nil {
			c.Skipped = &junitSkipped{
				Message: shorten(fmt.Sprintf("in quarantine until %s (%s): %s; %s", q.Until, q.Owner, q.Reason, tally(cell.Counts)), 500),
			}
			break
		}
	}
	return j.element(c)
}

// typeOf names the failed scorer, or the kind of error.
func typeOf(r *eval.Result) string {
	if r.Err() != nil {
		return string(r.Err().Kind)
	}
	for _, s := range r.Scores {
		if !s.Passed() {
			return s.Scorer
		}
	}
	return "threshold"
}

// acceptedCase is the element for a case that did not pass, on an arm whose gate holds or is not applied yet.
func (j *junit) acceptedCase(outcome eval.Outcome, p *junitProblem) *junitSkipped {
	why := "the gate accepts it"
	if j.d.Waits() != nil {
		why = "no gate is applied before all batches are answered"
	}
	word := map[eval.Outcome]string{eval.Fail: "failed", eval.Err: "could not be judged"}[outcome]
	return &junitSkipped{Message: shorten(fmt.Sprintf("%s; %s: %s", word, why, p.Message), 500), Text: p.Text}
}

// JUnit writes a testsuite per suite and arm, with a testcase per case and per broken rule that no failed case shows. Its
// counts are summary.cases of the JSON report.
func JUnit(w io.Writer, d *journal.Document, o Options) error {
	return writeJUnit(w, d, o, func(string, string) bool { return false })
}

// writeJUnitGate is JUnit, but on an arm whose rules all hold, unpassed cases are skipped: CI systems turn red for one failed case,
// and a gate may accept some.
func writeJUnitGate(w io.Writer, d *journal.Document, o Options) error {
	return writeJUnit(w, d, o, func(suite, arm string) bool { return accepted(d, suite, arm) })
}

// accepted reports whether a suite states a gate whose rules for an arm all hold. In an unfinished run no rule
// holds, and while a run waits for its batches none is applied.
func accepted(d *journal.Document, suite, arm string) bool {
	if d.Waits() != nil {
		return true
	}
	if d.Running || d.Partial() || d.Run.Plan.Shard != nil {
		return false
	}
	about := func(r journal.GateRule) bool { return r.Suite == suite && (r.Arm == "" || r.Arm == arm) }
	broken := func(r journal.GateRule) bool { return about(r) && !r.Standing.Holds() }
	return slices.ContainsFunc(overview.Rules(d), about) && !slices.ContainsFunc(overview.Rules(d), broken)
}
