package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// transcript runs the commands of a file, and writes what they print to another: transcript refused.txt got.txt. A line
// "$ NAME=value evalrun ARG..." is a command. Its arguments have no spaces, $NAME in them is an environment variable, and
// \n a line break. Below it are the lines on standard error, and the exit code when it is not 2. All other lines but
// comments (#) are left out.
func transcript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: transcript FILE RESULT")
	}
	var out strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "#"):
			out.WriteString(line)
		case strings.HasPrefix(line, "$ "):
			out.WriteString(line)
			out.WriteString(refusedBy(ts, words[1:]))
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o600))
}

// runID is the name of a run, which has the time and some digits by chance.
var runID = regexp.MustCompile(`\d{8}-\d{6}\.\d{3}-[0-9a-f]{6}`)

// refusedBy runs a command, and returns what it prints on standard error.
func refusedBy(ts *testscript.TestScript, words []string) string {
	was := map[string]string{}
	for len(words) > 0 && strings.Contains(words[0], "=") {
		name, value, _ := strings.Cut(words[0], "=")
		was[name] = ts.Getenv(name)
		ts.Setenv(name, expanded(ts, value))
		words = words[1:]
	}
	for i := range words {
		words[i] = expanded(ts, words[i])
	}
	err := ts.Exec(words[0], words[1:]...)
	for name, value := range was {
		ts.Setenv(name, value)
	}
	code := 0
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		code = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	printed := runID.ReplaceAllString(strings.ReplaceAll(ts.ReadFile("stderr"), ts.Getenv("WORK"), "$WORK"), "RUN-ID")
	if code != 2 {
		printed += fmt.Sprintf("exit code %d\n", code)
	}
	return printed
}

// expanded has the values of environment variables, and a line break for \n.
func expanded(ts *testscript.TestScript, word string) string {
	return strings.ReplaceAll(os.Expand(word, ts.Getenv), `\n`, "\n")
}
