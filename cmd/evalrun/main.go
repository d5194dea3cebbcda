// Command evalrun tests prompts: it sends the cases of YAML suites to a model, scores the answers
// and says by its exit code whether they are good enough.
//
// Each sub-command is a file: flags into a struct, one call of a package below, an exit code. `run` fills evalrun.Options, and
// calls evalrun.Load and evalrun.Run. os.Exit is called here and nowhere else.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/internal/files"
)

func main() {
	files.Alone()
	os.Exit(mainCode())
}

// mainCode is main without the exit, for tests that run the program in themselves.
func mainCode() int {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write, and no loss
	log.SetOutput(io.Discard)      // net/http would log here what a service sends outside of an answer, secrets included
	out, err := &term.Visible{W: os.Stdout}, &term.Visible{W: os.Stderr}
	defer func() { _, _ = out.Close(), err.Close() }() // at most three bytes of a broken character
	a := &app{
		in: os.Stdin, out: out, err: err, getenv: os.Getenv, signals: catch, browse: openBrowser,
		outWidth: term.Columns(os.Stdout), errWidth: term.Columns(os.Stderr),
		resized: func() int { return term.Columns(os.Stderr) },
	}
	a.together = a.outWidth > 0 && a.errWidth > 0 || isSameFile(os.Stdout, os.Stderr)
	followHeap(os.Getenv)
	return a.main(context.Background(), os.Args[1:])
}

// isSameFile is true for the streams of `2>&1`.
func isSameFile(x, y *os.File) bool {
	one, err := x.Stat()
	other, err2 := y.Stat()
	return err == nil && err2 == nil && os.SameFile(one, other)
}

func catch() (<-chan os.Signal, func()) {
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup, where a terminal that goes away is none of our business
		signal.Notify(caught, syscall.SIGHUP)
	}
	return caught, func() { signal.Stop(caught) }
}
