package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// promptfooVersion is the newest that accepts Node 20, which systems have.
	promptfooVersion = "0.121.20"
	peersDir         = "bin/.peers" // where npm installs it; Go looks into no folder with a dot
	peersFile        = "docs/explanation/peers.md"
)

// peerRow is a suite that each program runs.
type peerRow struct {
	calls, j int
	delay    time.Duration
}

// peerRows are the rows next to peers: the start of the process, the speed, and calls in flight.
var peerRows = []peerRow{
	{1, 1, 0},
	{5_000, 32, 0},
	{80, 8, 100 * time.Millisecond},
	{320, 32, 100 * time.Millisecond},
	{1_280, 128, 100 * time.Millisecond},
	{5_120, 512, 100 * time.Millisecond},
}

func (r peerRow) String() string {
	name := thousands(r.calls) + " calls"
	if r.calls == 1 {
		name = "1 call"
	}
	if r.delay > 0 {
		name += " of " + strings.Replace(r.delay.String(), "ms", " ms", 1)
	}
	return fmt.Sprintf("%s, j=%d", name, r.j)
}

// peerNames are the programs, in the order in which they take turns.
var peerNames = [3]string{"evalrun", "loop", "promptfoo"}

// besides is a row measured.
type besides struct {
	peerRow
	costs [len(peerNames)]cost
}

// peers measures evalrun, the loop and promptfoo, and prints the table.
func peers(args []string) error {
	set := flag.NewFlagSet("process peers", flag.ContinueOnError)
	rounds := set.Int("rounds", 5, "how often each process runs")
	only := set.String("only", "", "the rows whose names match")
	write := set.Bool("write", false, "write the table into the page as well")
	if err := set.Parse(args); err != nil {
		return err
	}
	names, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *write && *only != "" {
		return errors.New("the page shows all rows: leave ONLY out, or WRITE")
	}
	promptfoo, err := installed()
	if err != nil {
		return err
	}
	b, err := newBench("bin/evalrun", "", *rounds)
	if err != nil {
		return err
	}
	defer b.close()
	var all []besides
	for _, r := range peerRows {
		if !names.MatchString(r.String()) {
			continue
		}
		fmt.Fprintln(os.Stderr, r)
		one, err := b.besides(r, promptfoo)
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		all = append(all, one)
	}
	versions, err := versions(b.program)
	if err != nil {
		return err
	}
	text := measured(b.rounds, versions...) + ".\n\n" + peersTable(all)
	fmt.Println(text)
	if *write {
		return writeBetween(peersFile, "make bench-peers", text)
	}
	return nil
}

// installed returns the path of promptfoo, and installs it where it is missing.
func installed() (string, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("%s is missing: install Node 20, or 22 and newer", program)
		}
	}
	dir, err := filepath.Abs(peersDir)
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "node_modules", "promptfoo", "dist", "src", "entrypoint.js")
	manifest, err := os.ReadFile(filepath.Join(dir, "node_modules", "promptfoo", "package.json"))
	if err == nil && strings.Contains(string(manifest), `"version": "`+promptfooVersion+`"`) {
		return program, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "npm installs promptfoo %s into %s: 1.4 GB\n", promptfooVersion, peersDir)
	cmd := exec.Command("npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "promptfoo@"+promptfooVersion) //nolint:gosec // ours
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return program, cmd.Run()
}

// versions are those of the programs and of node.
func versions(evalrun string) ([]string, error) {
	node, err := exec.Command("node", "--version").Output()
	if err != nil {
		return nil, err
	}
	ours, err := exec.Command(evalrun, "version").Output()
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(ours), "\n")
	return []string{"Node " + strings.TrimPrefix(strings.TrimSpace(string(node)), "v"), first, "promptfoo " + promptfooVersion}, nil
}

// besides measures a row. The first one warms up, for the others it would take minutes.
func (b *bench) besides(r peerRow, promptfoo string) (besides, error) {
	out := besides{peerRow: r}
	url, err := b.server(r.delay)
	if err != nil {
		return out, err
	}
	suite := outputRow{trials: r.calls, sent: r.calls, via: "openai", j: r.j, args: run()}
	dir, err := b.suite(suite, url)
	if err != nil {
		return out, err
	}
	config := fmt.Sprintf(promptfooConfig, strings.Replace(question, "%d", "{{n}}", 1), url)
	if err := os.WriteFile(filepath.Join(dir, "promptfooconfig.yaml"), []byte(config), 0o600); err != nil {
		return out, err
	}
	warm := 0
	if r == peerRows[0] {
		warm = 1
	}
	medians, err := inTurn(warm, b.rounds, []func() (cost, error){
		counting(url, func() (cost, error) { return b.evalrun(dir, url, suite.args) }),
		counting(url, func() (cost, error) { return timed(dir, nil, b.loop(suite, url, "-chat")) }),
		again(counting(url, func() (cost, error) {
			return timed(dir, quiet(b.dir), []string{
				"node", promptfoo, "eval", "--no-cache", "--no-table", "--no-progress-bar", "--no-share", "-j", strconv.Itoa(r.j),
			})
		})),
	})
	copy(out.costs[:], medians)
	return out, errors.Join(err, os.RemoveAll(dir))
}

// counting asks the server how many calls were in flight.
func counting(url string, process func() (cost, error)) func() (cost, error) {
	return func() (cost, error) {
		c, failed := process()
		resp, err := http.Get(url + openPath)
		if err != nil {
			return c, err
		}
		defer resp.Body.Close() //nolint:errcheck // it was only read
		_, err = fmt.Fscan(resp.Body, &c.Highest, &c.Open)
		return c, cmp.Or(failed, err)
	}
}

// again starts a process that has failed twice more: the log of promptfoo sometimes ends before it is written, and the process with it.
func again(process func() (cost, error)) func() (cost, error) {
	return func() (c cost, err error) {
		for range 3 {
			if c, err = process(); err == nil {
				break
			}
			fmt.Fprintf(os.Stderr, "failed, and is started again: %.200s\n", err)
		}
		return c, err
	}
}

// promptfooConfig is the suite of outputRow, with the same checks.
const promptfooConfig = `prompts: ["%s"]
providers:
  - id: openai:chat:svc-pro
    config: {apiBaseUrl: "%s", apiKey: benchmark, temperature: 0, max_tokens: 64}
defaultTest:
  assert:
    - {type: contains, value: Paris}
    - {type: finish-reason, value: stop}
    - {type: word-count, value: {max: 10}}
tests: rows.csv
`

// quiet is the environment in which promptfoo keeps its files in a folder, and calls nobody but the server. Without telemetry it
// still reports that there is none: the proxy, which does not exist, keeps that from being sent.
func quiet(dir string) []string {
	return []string{
		"PROMPTFOO_CONFIG_DIR=" + filepath.Join(dir, "promptfoo"), "PROMPTFOO_CACHE_ENABLED=false",
		"PROMPTFOO_DISABLE_TELEMETRY=1", "PROMPTFOO_DISABLE_UPDATE=1", "PROMPTFOO_DISABLE_REMOTE_GENERATION=1",
		"PROMPTFOO_DISABLE_SHARING=1", "HTTP_PROXY=", "http_proxy=", "HTTPS_PROXY=http://127.0.0.1:9",
		"https_proxy=http://127.0.0.1:9", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
	}
}

// peersTable is the table of the page, and what follows from it.
func peersTable(all []besides) string {
	var b strings.Builder
	b.WriteString("| work | program | wall time, s | CPU per call, ms | peak memory | calls in flight, mean (most) |\n")
	b.WriteString("|---|---|---|---|---|---|\n")
	for _, r := range all {
		for i, c := range r.costs {
			flying := ""
			if r.delay > 0 {
				flying = fmt.Sprintf("%.3g (%d) of %d", float64(c.Open)/1000, c.Highest, r.j)
			}
			perCall := float64(c.CPU) / 1e6 / float64(r.calls)
			fmt.Fprintf(&b, "| %s | %s | %.2f | %.2f | %d MB | %s |\n", r, peerNames[i], c.Wall.Seconds(), perCall,
				c.Memory>>20, flying)
		}
	}
	return b.String() + summary(all)
}

// summary says how many times promptfoo takes what evalrun takes, at a server that answers at once.
func summary(all []besides) string {
	var one, many besides
	for _, r := range all {
		switch {
		case r.delay > 0:
		case r.calls == 1:
			one = r
		default:
			many = r
		}
	}
	if one.calls == 0 || many.calls == 0 {
		return ""
	}
	times := func(of func(cost) time.Duration, start float64) float64 {
		took := func(i int) float64 { return float64(of(many.costs[i])) - start*float64(of(one.costs[i])) }
		return took(2) / took(0)
	}
	wall, cpu := func(c cost) time.Duration { return c.Wall }, func(c cost) time.Duration { return c.CPU }
	return fmt.Sprintf("\nOf %s, at a server that answers at once, promptfoo took %.0f times evalrun's wall time\n"+
		"and %.0f times its CPU; without the start of the process, which 1 call shows, %.0f and %.0f times.\n",
		many, times(wall, 0), times(cpu, 0), times(wall, 1), times(cpu, 1))
}
