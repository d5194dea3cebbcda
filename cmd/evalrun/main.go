// Command evalrun evaluates prompts: it asks a generative-language service what YAML suites
// list, scores the answers and says by its exit code whether they are good enough.
//
// Each sub-command is a file: flags into a struct, the steps of internal/harness in order, an exit
// code. os.Exit is called here and nowhere else.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() { os.Exit(mainCode()) }

// mainCode is main without the exit, for tests that run the program in themselves.
func mainCode() int {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write, and no loss
	log.SetOutput(io.Discard)      // net/http logs there what a service sends without being asked, secrets and all
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, signals: catch, browse: openBrowser,
		outWidth: width(os.Stdout), errWidth: width(os.Stderr),
		resized: func() int { return width(os.Stderr) },
	}
	return a.main(context.Background(), os.Args[1:])
}

func catch() (<-chan os.Signal, func()) {
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup, where a terminal that goes away is none of our business
		signal.Notify(caught, syscall.SIGHUP)
	}
	return caught, func() { signal.Stop(caught) }
}

// width is the number of columns of a terminal, 0 for anything else.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		return 80
	}
	return columns
}
