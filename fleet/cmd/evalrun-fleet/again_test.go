package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// refused wants a coordinator to end with exit code 2 and to name what is wrong.
func (b *box) refused(what, says string, args ...string) {
	b.t.Helper()
	p := b.start(append([]string{"serve"}, args...)...)
	if got := p.end(); got != 2 || !strings.Contains(p.err.String(), says) {
		b.t.Errorf("%s: exit %d, want 2 and %q:\n%s%s", what, got, says, p.out.String(), p.err.String())
	}
}

// A run in the directory is continued if it is unfinished and began with the same suites and flags. All else is refused, since
// its verdict would be taken for that of the suites that were named.
func TestARunIsContinuedOnlyWithItsOwnPlan(t *testing.T) {
	t.Parallel()
	s := newService(t, 20*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(60))
	b.write("many.yaml", many)
	b.write("more.yaml", strings.Replace(many, "name: many", "name: more", 1))
	b.write("evalrun.yaml", "suites: [many.yaml]\n")
	args := []string{
		"many.yaml", "--out", "run", "--seed", "7", "--var", "x=1", "--min-pass-rate", "0.1", "--label", "night", "--case", "c*",
	}
	coordinator := b.serve(args...)
	worker := b.work(coordinator.url, "run", "-j", "2")
	s.begun(10)
	coordinator.kill()
	worker.kill()
	before := s.count()

	for flag, other := range map[string]string{
		"--seed": "8", "--var": "x=2", "--min-pass-rate": "0.9", "--label": "day", "--case": "c1*",
	} {
		changed := slices.Clone(args)
		i := slices.Index(changed, flag)
		changed[i+1] = other
		b.refused("another "+flag, "it began with other values of "+flag, changed...)
	}
	b.refused("the emulator", "it began with other values of --emulator", append(slices.Clone(args), "--emulator")...)
	b.refused("fewer flags", "it began with other values of --seed", slices.Delete(slices.Clone(args), 3, 5)...)
	further := append(slices.Clone(args), "--sample", "3", "--no-baseline")
	b.refused("further flags", "it began with other values of --no-baseline, --sample", further...)
	b.refused("a further suite", "it began with 1 suite, and 2 are named", append(slices.Clone(args), "more.yaml")...)
	b.write("many.yaml", strings.Replace(many, "equals", "contains", 1))
	b.refused("another suite", "the suite many.yaml is not as it was when the run began", args...)
	b.write("many.yaml", many)
	b.write("many.csv", rows(61))
	b.refused("other data", "the suite many.yaml is not as it was when the run began", args...)
	b.write("many.csv", rows(60))
	b.write("evalrun.yaml", "suites: [many.yaml]\nlabels: nightly\n")
	b.refused("another project file", "the project file is not as it was", args...)
	b.write("evalrun.yaml", "suites: [many.yaml]\n")

	b.refused("a run that is not there", "there is no run", "--resume", "none")
	b.refused("a suite and a run", "leave out many.yaml, --seed", "--resume", "run", "many.yaml", "--seed", "7")
	if n := s.count(); n != before {
		t.Fatalf("%d calls were sent, want none", n-before)
	}

	coordinator = b.serve(append(args, "--attempts", "2", "-o", "junit=report.xml")...)
	worker = b.work(coordinator.url, "run", "-j", "2")
	s.begun(before + 10)
	coordinator.kill()
	worker.kill()
	if err := os.Remove(filepath.Join(b.dir, "run", "fleet.pack")); err != nil {
		t.Fatal(err)
	}
	b.refused("a run without its pack", "`evalrun-fleet serve SUITE... --out run` makes it again", "--resume", "run")
	coordinator = b.serve(args...)
	coordinator.kill()
	coordinator = b.serve("--resume", "run", "-j", "2")
	b.work(coordinator.url, "run", "-j", "4")
	if got := coordinator.end(); got != 0 || len(b.judged("run")) != 60 {
		t.Errorf("exit %d and %d trials, want 0 and 60:\n%s", got, len(b.judged("run")), coordinator.err.String())
	}
}

// The second night of a suite needs its own run: the verdict of the first night is not repeated.
func TestACompleteRunIsNoVerdictOfAnotherSuite(t *testing.T) {
	t.Parallel()
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(20))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	b.work(coordinator.url, "run")
	if got := coordinator.end(); got != 0 {
		t.Fatalf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	b.refused("the same suite", "it is complete: `evalrun-fleet serve --resume run`", "many.yaml", "--out", "run")
	b.write("many.yaml", strings.Replace(many, `equals: "yes"`, "equals: never", 1))
	b.refused("another suite", "it is complete: `evalrun-fleet serve --resume run`", "many.yaml", "--out", "run")
	again := b.start("serve", "--resume", "run")
	if got := again.end(); got != 0 || !strings.Contains(again.out.String(), "20 trials") {
		t.Errorf("the complete run: exit %d, want 0 and its report:\n%s%s", got, again.out.String(), again.err.String())
	}
	if n := s.count(); n != 20 {
		t.Errorf("%d calls, want 20", n)
	}
}
