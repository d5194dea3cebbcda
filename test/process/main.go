// Command process measures evalrun as its users start it: a process of its own, and a server in another. It compares
// it with a hand-written loop that sends, decodes and scores. The three take turns; what counts are medians and
// ratios.
//
// usage: process -evalrun PROGRAM [-rounds N] [-only REGEXP] [-long] [-ratios FILE] [-write]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "process:", err)
		os.Exit(1)
	}
}

// command is the benchmark itself, or one of the processes that it starts.
func command(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "serve":
			return serve(args[1:])
		case "loop":
			return loop(args[1:])
		}
	}
	return compare(args)
}

// compare runs the rows and holds their ratios against the committed ones.
func compare(args []string) error {
	set := flag.NewFlagSet("process", flag.ContinueOnError)
	program := set.String("evalrun", "bin/evalrun", "the program")
	rounds := set.Int("rounds", 5, "how often each process runs, after a warm-up")
	only := set.String("only", "", "the rows whose names match")
	long := set.Bool("long", false, "a million trials as well")
	file := set.String("ratios", "", "the ratios to hold")
	write := set.Bool("write", false, "write the ratios instead")
	if err := set.Parse(args); err != nil {
		return err
	}
	names, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	b, err := newBench(*program, *rounds)
	if err != nil {
		return err
	}
	defer b.close()
	var got []figure
	for _, r := range rows() {
		if !names.MatchString(r.name) || r.long && !*long {
			continue
		}
		f, err := b.measure(r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Println(f)
		got = append(got, f)
	}
	switch {
	case len(got) == 0:
		return errors.New("no row has such a name")
	case *file == "":
		return nil
	case *write:
		return writeRatios(*file, got)
	}
	return hold(*file, got)
}
