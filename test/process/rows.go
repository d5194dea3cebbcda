package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// outputRow is a line of the benchmark: work for evalrun, and what the bare loop does next to it.
type outputRow struct {
	name   string
	trials int // of the suite
	cases  form
	via    string // the protocol of the target, "" being the first one; http is an application
	j      int
	delay  time.Duration
	// earlier are commands that come before, once; args is the command that is measured. RUN in them is the folder of a
	// run, OUT a new one.
	earlier [][]string
	args    []string
	sent    int // by the loop; 0: /bin/true runs instead
}

// form is how cases are written. Those of inRows and inYAML share their scorers.
type form int

const (
	inRows    form = iota // of a CSV file
	templates             // of a CSV file, with a variable in a scorer
	inYAML                // of a line each
	own                   // of a line each, with a scorer of its own
	blocks                // of several lines each, some of them a text
)

const (
	runDir = "RUN" // of a run before
	newDir = "OUT" // of the command
)

// sends is true when evalrun sends what the loop sends, and keeps it: next to it the limit runs as well.
func (r outputRow) sends() bool { return r.sent > 1 && r.earlier == nil }

// run is the command that runs the suite.
func run(more ...string) []string {
	return append([]string{"run", "suite.yaml", "-q", "--out", newDir}, more...)
}

// rows are the benchmark's, in the order in which they are measured.
func rows() []outputRow {
	before := [][]string{{"run", "suite.yaml", "-q", "--out", runDir}}
	twice := [][]string{before[0], {"run", "suite.yaml", "-q", "--out", runDir + "2"}}
	recorded := [][]string{{"run", "suite.yaml", "-q", "--out", runDir, "--record", "recorded"}}
	compared := []string{"compare", runDir, runDir + "2"}
	return []outputRow{
		{name: "version", trials: 1, j: 1, args: []string{"version"}},
		{name: "1 case", trials: 1, cases: inYAML, j: 1, args: run(), sent: 1},
		{name: "5,000 cases in YAML, j=32", trials: 5_000, cases: inYAML, j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows of CSV, j=32", trials: 5_000, j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows by chat completions", trials: 5_000, via: "openai", j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows by Responses", trials: 5_000, via: "responses", j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows by messages", trials: 5_000, via: "anthropic", j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows by an http target", trials: 5_000, via: "http", j: 32, args: run(), sent: 5_000},
		{name: "20,000 cases in YAML, j=32", trials: 20_000, cases: inYAML, j: 32, args: run(), sent: 20_000},
		{name: "20,000 YAML cases, own values", trials: 20_000, cases: own, j: 32, args: run(), sent: 20_000},
		{name: "5,000 YAML cases of 17 lines", trials: 5_000, cases: blocks, j: 32, args: run(), sent: 5_000},
		{name: "20,000 rows, templates in scorers", trials: 20_000, cases: templates, j: 32, args: run(), sent: 20_000},
		{name: "100,000 rows of CSV, j=128", trials: 100_000, j: 128, args: run(), sent: 100_000},
		{name: "1,000 trials of 100 ms, j=50", trials: 1_000, j: 50, delay: 100 * time.Millisecond, args: run(), sent: 1_000},
		{
			name: "replay of 5,000", trials: 5_000, j: 32, earlier: recorded,
			args: run("--replay", "recorded"), sent: 5_000,
		},
		{
			name: "rescore of 5,000", trials: 5_000, j: 32, earlier: before,
			args: []string{"rescore", runDir, "-q", "--out", newDir}, sent: 5_000,
		},
		{name: "report of 100,000", trials: 100_000, j: 128, earlier: before, args: []string{"report", runDir}, sent: 10_000},
		{name: "resume of 100,000", trials: 100_000, j: 128, earlier: before, args: []string{"resume", runDir}, sent: 10_000},
		{name: "compare of 100,000", trials: 100_000, j: 128, earlier: twice, args: compared, sent: 10_000},
		{
			name: "compare of 100,000, own values", trials: 100_000, cases: templates, j: 128, earlier: twice, args: compared,
			sent: 10_000,
		},
	}
}

const head = `version: 1
name: process
%s
prompts: [{name: p, text: "%s"}]
limits: {concurrency: %d, countTokens: never}
cases:
`

// scored are the scorers of a suite; what the answer contains is to be filled in.
const scored = "[{contains: %s}, {finishReason: STOP}, {length: {words: {max: 10}}}]"

// passageLines are the lines of the text in a case of several lines.
const passageLines = 8

// passage is a text of so many lines, which differs from case to case.
func passage(i int64, lines int) string {
	var b strings.Builder
	for line := range lines {
		fmt.Fprintf(&b, "Line %d of text %d: its roads are long, its rivers wide, its towns old.\n", line+1, i)
	}
	return b.String()
}

// target is the target of the suite of a row, at an address.
func (r outputRow) target(url string) string {
	const config = "generationConfig: {temperature: 0, maxOutputTokens: 64}"
	switch r.via {
	case "":
		return "targets: [{name: pro, model: svc-pro, " + config + "}]"
	case "http":
		return `targets: [{name: app, http: {url: "` + url + `/chat", body: {question: "{{prompt}}"}, ` +
			`answer: .answer, finishReason: .finish}}]`
	}
	return "services: {vendor: {protocol: " + r.via + ", baseUrl: \"" + url + "\"}}\n" +
		"targets: [{name: pro, service: vendor, model: svc-pro, " + config + "}]"
}

// prompt is the prompt of the suite, between quotes of YAML.
func (r outputRow) prompt() string {
	asked := strings.Replace(question, "%d", "{{.n}}", 1)
	if r.cases == blocks {
		return "{{.text}}" + asked
	}
	return asked
}

// write puts the suite of a row into a folder.
func (r outputRow) write(dir, url string) error {
	var suite, data bytes.Buffer
	fmt.Fprintf(&suite, head, r.target(url), r.prompt(), r.j)
	switch r.cases {
	case inRows, templates:
		wanted := "Paris"
		if r.cases == templates {
			wanted = `"{{.capital}}"`
		}
		fmt.Fprintf(&suite, "  - {name: \"c{{.n}}\", dataset: rows.csv, scorers: "+scored+"}\n", wanted)
		data.WriteString("n,capital\n")
		for i := range r.trials {
			fmt.Fprintf(&data, "%d,"+capital+"\n", i, i)
		}
		if err := os.WriteFile(filepath.Join(dir, "rows.csv"), data.Bytes(), 0o600); err != nil {
			return err
		}
	default:
		for i := range r.trials {
			r.writeCase(&suite, i)
		}
	}
	return os.WriteFile(filepath.Join(dir, "suite.yaml"), suite.Bytes(), 0o600)
}

// writeCase writes a case of a YAML file.
func (r outputRow) writeCase(suite *bytes.Buffer, i int) {
	if r.cases == blocks {
		text := strings.ReplaceAll(strings.TrimSpace(passage(int64(i), passageLines)), "\n", "\n        ")
		fmt.Fprintf(suite, "  - name: c%d\n    vars:\n      n: %d\n      text: |\n        %s\n", i, i, text)
		suite.WriteString("    scorers:\n      - contains: Paris\n      - finishReason: STOP\n      - length:\n          words: {max: 10}\n")
		return
	}
	wanted := "Paris"
	if r.cases == own {
		wanted = fmt.Sprintf(capital, i)
	}
	fmt.Fprintf(suite, "  - {name: c%d, vars: {n: %d}, scorers: "+scored+"}\n", i, i, wanted)
}
