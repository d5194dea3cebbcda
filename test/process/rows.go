package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// outputRow is a line of the benchmark: work for evalrun, and what the bare loop does next to it.
type outputRow struct {
	name   string
	trials int // of the suite
	yaml   bool
	via    string // the protocol of the target, "" being the first one; http is an application
	j      int
	delay  time.Duration
	// earlier are commands that come before, once; args is the command that is measured. RUN in them is the folder of a
	// run, OUT a new one.
	earlier [][]string
	args    []string
	sent    int // by the loop; 0: /bin/true runs instead
	long    bool
}

const (
	runDir = "RUN" // of a run before
	newDir = "OUT" // of the command
)

// rows are the benchmark's, in the order in which they are measured.
func rows() []outputRow {
	run := func(more ...string) []string {
		return append([]string{"run", "suite.yaml", "-q", "--out", newDir}, more...)
	}
	before := [][]string{{"run", "suite.yaml", "-q", "--out", runDir}}
	twice := [][]string{before[0], {"run", "suite.yaml", "-q", "--out", runDir + "2"}}
	recorded := [][]string{{"run", "suite.yaml", "-q", "--out", runDir, "--record", "recorded"}}
	return []outputRow{
		{name: "version", trials: 1, j: 1, args: []string{"version"}},
		{name: "1 case", trials: 1, yaml: true, j: 1, args: run(), sent: 1},
		{name: "5,000 cases in YAML, j=32", trials: 5_000, yaml: true, j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows of CSV, j=32", trials: 5_000, j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows by chat completions", trials: 5_000, via: "openai", j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows by Responses", trials: 5_000, via: "responses", j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows by messages", trials: 5_000, via: "anthropic", j: 32, args: run(), sent: 5_000},
		{name: "5,000 rows by an http target", trials: 5_000, via: "http", j: 32, args: run(), sent: 5_000},
		{name: "10,000 cases in YAML, j=32", trials: 10_000, yaml: true, j: 32, args: run(), sent: 10_000},
		{name: "20,000 cases in YAML, j=32", trials: 20_000, yaml: true, j: 32, args: run(), sent: 20_000},
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
		{
			name: "compare of 100,000", trials: 100_000, j: 128, earlier: twice, args: []string{"compare", runDir, runDir + "2"},
			sent: 10_000,
		},
		{name: "1,000,000 rows of CSV, j=128", trials: 1_000_000, j: 128, args: run(), sent: 1_000_000, long: true},
	}
}

const head = `version: 1
name: process
%s
prompts: [{name: p, text: "What is the capital of country {{.n}}? Answer in one sentence."}]
limits: {concurrency: %d, countTokens: never}
cases:
`

const scored = "[{contains: Paris}, {finishReason: STOP}, {length: {words: {max: 10}}}]"

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

// write puts the suite of a row into a folder.
func (r outputRow) write(dir, url string) error {
	var suite, data bytes.Buffer
	fmt.Fprintf(&suite, head, r.target(url), r.j)
	if r.yaml {
		for i := range r.trials {
			fmt.Fprintf(&suite, "  - {name: c%d, vars: {n: %d}, scorers: %s}\n", i, i, scored)
		}
	} else {
		fmt.Fprintf(&suite, "  - {name: \"c{{.n}}\", dataset: rows.csv, scorers: %s}\n", scored)
		data.WriteString("n\n")
		for i := range r.trials {
			data.WriteString(strconv.Itoa(i) + "\n")
		}
		if err := os.WriteFile(filepath.Join(dir, "rows.csv"), data.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "suite.yaml"), suite.Bytes(), 0o600)
}
