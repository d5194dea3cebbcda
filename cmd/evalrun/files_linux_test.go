package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// fileWalks are commands that read the file of a flag or an argument, by its name in the help. @ is the file.
var fileWalks = map[string]string{
	"accept RUN":                  "accept @",
	"accept --config":             "accept run --config @",
	"accept --suite":              "accept run --suite @",
	"auth login --client-secrets": "auth login --client-secrets @",
	"baseline set RUN":            "baseline set other @",
	"baseline show RUN":           "baseline show @",
	"compare BASE":                "compare @ run",
	"compare --ledger-ca":         "compare run run --choose --emulator --ledger http://127.0.0.1:1 --ledger-ca @",
	"compare --prices":            "compare run run --choose --emulator --prices @",
	"compare --suite":             "compare run run --choose --emulator --suite @",
	"compare --replay":            "compare run run --choose --replay @",
	"count --changed-since":       "count s.yaml --emulator --changed-since @",
	"count --config":              "count s.yaml --emulator --config @",
	"count --failed-in":           "count s.yaml --emulator --failed-in @",
	"count --prices":              "count s.yaml --emulator --prices @",
	"doctor --config":             "doctor --config @",
	"embed FILE":                  "embed --emulator @",
	"embed --config":              "embed s.yaml --emulator --config @",
	"embed --prices":              "embed s.yaml --emulator --prices @",
	"emulate --script":            "emulate --script @",
	"import FILE":                 "import promptfoo @",
	"import evals-json FILE":      "import evals-json @ --target openai:x",
	"history --acknowledge":       "history --acknowledge @ --as level",
	"judge-check --labels":        "judge-check run --labels @",
	"ledger --config":             "ledger --config @",
	"ledger --tls-cert":           "ledger --config limits.yaml --tls-cert @ --tls-key s.yaml",
	"ledger --tls-key":            "ledger --config limits.yaml --tls-cert s.yaml --tls-key @",
	"merge RUN":                   "merge @",
	"models --config":             "models --emulator --config @",
	"models --suite":              "models --suite @",
	"plan --changed-since":        "plan s.yaml --changed-since @",
	"plan --config":               "plan s.yaml --config @",
	"plan --failed-in":            "plan s.yaml --failed-in @",
	"plan --prices":               "plan s.yaml --prices @",
	"proxy --config":              "proxy --emulator --models openai --config @ -- true",
	"proxy --ledger-ca":           "proxy --emulator --models openai --ledger http://127.0.0.1:1 --ledger-ca @ -- true",
	"proxy --prices":              "proxy --emulator --models openai --prices @ -- true",
	"publish RUN":                 "publish @ --out site",
	"report RUN":                  "report @",
	"rescore RUN":                 "rescore @",
	"rescore --baseline":          "rescore run --margin 0.1 --baseline @",
	"rescore --config":            "rescore run --config @",
	"rescore --ledger-ca":         "rescore run --ask-judges --emulator --ledger http://127.0.0.1:1 --ledger-ca @",
	"rescore --prices":            "rescore run --prices @",
	"rescore --suite":             "rescore run --suite @",
	"resume --prices":             "resume cut --prices @",
	"run SUITE":                   "run @",
	"run --answers":               "run s.yaml --answers @",
	"run --baseline":              "run s.yaml --emulator --margin 0.1 --baseline @",
	"run --changed-since":         "run s.yaml --emulator --changed-since @",
	"run --config":                "run s.yaml --emulator --config @",
	"run --emulator":              "run s.yaml --emulator=@",
	"run --extend":                "run s.yaml --emulator --extend @",
	"run --programs-from":         "run s.yaml --emulator --programs-from @",
	"run --gate-of":               "run s.yaml --emulator --gate-of @",
	"rescore --gate-of":           "rescore run --gate-of @",
	"plan --gate-of":              "plan s.yaml --gate-of @",
	"run --failed-in":             "run s.yaml --emulator --failed-in @",
	"run --ledger-ca":             "run s.yaml --emulator --ledger http://127.0.0.1:1 --ledger-ca @",
	"run --prices":                "run s.yaml --emulator --prices @",
	"run --replay":                "run s.yaml --replay @",
	"selftest --against":          "selftest s.yaml --against @",
	"selftest --config":           "selftest s.yaml --against run --config @",
	"show RUN":                    "show @",
	"validate --changed-since":    "validate s.yaml --changed-since @",
	"validate --config":           "validate s.yaml --config @",
	"validate --failed-in":        "validate s.yaml --failed-in @",
	"validate SUITE":              "validate @",
}

// A file that a flag, an argument or a variable names is regular and bounded. A pipe does not hang, and a file without an
// end does not take the memory. The message names the file or the flag.
func TestNamedFilesAreRegularAndBounded(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{
		"limits.yaml": "accounts: [{model: svc-pro, requestsPerMinute: 60}]\n",
		"s.yaml": "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\njudges: [{name: judge, model: svc-pro}]\n" +
			"prompts: [{name: p, text: hello}]\ncases: [{name: c, repeats: 3, scorers: [{judge: {rubric: good}}]}]\n",
	})
	b.env = append(b.env, "GITHUB_TOKEN=x", "GITHUB_REPOSITORY=a/b", "GITHUB_EVENT_PATH=pipe", "CI=")
	b.exits(0, "run", "s.yaml", "--emulator", "--out", "run", "-q")
	b.exits(4, "run", "s.yaml", "--emulator", "--out", "cut", "--budget-calls", "2", "-q")
	endless, err := os.Create(b.path("endless"))
	expect.OK(t, err, endless.Truncate(1<<40), endless.Close())
	expect.OK(t, syscall.Mkfifo(b.path("pipe"), 0o600), os.Symlink("/dev/zero", b.path("zero")))
	b.named("comment run", "pipe", "GITHUB_EVENT_PATH")
	for name, walk := range fileWalks {
		_, flag, _ := strings.Cut(name, "--")
		for _, file := range []string{"pipe", "zero", "endless"} {
			b.named(walk, file, flag)
		}
	}
}

// named runs a command that reads a file, and wants it to end in bad input, or in an invalid comparison for a baseline.
// The message names the file or the flag.
func (b *box) named(walk, file, flag string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute) // a hanging process
	defer cancel()
	cmd := b.command(strings.Fields(strings.ReplaceAll(walk, "@", file))...)
	var errs strings.Builder
	cmd.Stderr = &errs
	expect.OK(b.t, cmd.Start())
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	used, _ := peakUntil(ended, cmd.Process.Pid) // the exit code is looked at below
	code, text := cmd.ProcessState.ExitCode(), errs.String()
	named := strings.Contains(text, file) || flag != "" && strings.Contains(text, flag)
	if code != 2 && (code != 4 || flag != "baseline") || !named {
		b.t.Errorf("%s with %s: exit %d\n%.600swant 2, and the name of the file or of %s", walk, file, code, text, flag)
	}
	if used > 1<<20 { // the race detector takes several times as much as is read
		b.t.Errorf("%s with %s: %d KiB of memory, want at most 1 GiB", walk, file, used)
	}
}

// Every flag that names a file is walked.
func TestAllFlagsWithFilesAreWalked(t *testing.T) {
	t.Parallel()
	unread := []string{
		"baseline export --output", "plan --baseline", // which plan compares with nothing
		"resume --ledger-ca", // which no run calls that was started without a ledger
	}
	for _, c := range commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			kind, _ := pflag.UnquoteUsage(f)
			name := strings.TrimPrefix(c.CommandPath(), "evalrun ") + " --" + f.Name
			if _, walked := fileWalks[name]; !walked && slices.Contains([]string{"FILE", "RUN"}, kind) && !slices.Contains(unread, name) {
				t.Errorf("%s %s: got no command that reads a pipe, want one in fileWalks", name, kind)
			}
		})
	}
}
