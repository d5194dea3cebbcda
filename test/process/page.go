package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// What is committed, by path from the root of the repository.
const (
	ratiosFile = "test/process/ratios.json"
	pageFile   = "docs/explanation/performance.md"
	plotFile   = "docs/pictures/growth.svg"
)

// Marks of what a tool writes into a page.
const (
	begin = "<!-- The lines up to the next mark are written by %s WRITE=1. -->\n"
	end   = "<!-- Up to here. -->\n"
)

// between replaces what a target of the Makefile writes into a page.
func between(page, target, text string) (string, error) {
	before, rest, found := strings.Cut(page, fmt.Sprintf(begin, target))
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("the page has no marks of %s", target)
	}
	return before + fmt.Sprintf(begin, target) + "\n" + text + "\n" + end + after, nil
}

// writeBetween writes a text into a page.
func writeBetween(file, target, text string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	out, err := between(string(page), target, text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(out), 0o644) //nolint:gosec // a page of the documentation
}

// publish writes what was measured, and its views.
func (k kept) publish() error {
	if err := k.write(ratiosFile); err != nil {
		return err
	}
	if err := os.WriteFile(plotFile, []byte(plot(k.Growth)), 0o644); err != nil {
		return err
	}
	return writeBetween(pageFile, "make bench-process", k.table())
}

// table is the table of the page, and what it says of growth.
func (k kept) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n", k.Measured)
	b.WriteString("| work | share of the loop | of the limit | CPU, times the loop's | the limit's | allocations a trial | " +
		"of the limit | peak memory |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows() {
		one, known := k.Rows[r.name]
		if !known {
			continue
		}
		if one.CPUOfLimit == 0 {
			fmt.Fprintf(&b, "| %s | %.2f | | %.1f | | | | %d MB |\n", r.name, one.Share, one.CPU, one.MB)
			continue
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.1f | %.1f | %d | %d | %d MB |\n", r.name, one.Share, one.ShareOfLimit, one.CPU,
			one.CPUOfLimit, one.Allocations, one.OfLimit, one.MB)
	}
	return b.String() + "\n" + growthText(k.Growth) + "\n"
}

// measured says when and on what machine, and by how many rounds.
func measured(rounds int, versions ...string) string {
	medians := "one round"
	if rounds > 1 {
		medians = fmt.Sprintf("medians of %d rounds", rounds)
	}
	return fmt.Sprintf("Measured %s: %s on %s, %d cores,\n%s", time.Now().Format(time.DateOnly), medians,
		processor(), runtime.NumCPU(), strings.Join(append([]string{system(), strings.Replace(runtime.Version(), "go", "Go ", 1)},
			versions...), ", "))
}

// processor is the model of the processor.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	_, rest, _ := strings.Cut(string(data), "model name")
	line, _, _ := strings.Cut(rest, "\n")
	if name := strings.Trim(line, " \t:"); name != "" {
		return name
	}
	return runtime.GOARCH
}

// system is the operating system and its version, without what a distribution or a host adds to it.
func system() string {
	out, err := exec.Command("uname", "-sr").Output()
	if err != nil {
		return runtime.GOOS
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), "-")
	return version
}
