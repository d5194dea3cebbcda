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
		case "copy":
			return copyBytes(args[1:])
		case "pass":
			return passOn(args[1:])
		case "calls":
			return calls(args[1:])
		case "proxied":
			return proxied(args[1:])
		case "peers":
			return peers(args[1:])
		}
	}
	return compare(args)
}

// compare runs the rows and holds their ratios against the committed ones.
func compare(args []string) error {
	set := flag.NewFlagSet("process", flag.ContinueOnError)
	program := set.String("evalrun", "bin/evalrun", "the program")
	counting := set.String("tests", "bin/evalrun.test", "the binary of the tests of cmd/evalrun, which counts allocations")
	rounds := set.Int("rounds", 5, "how often each process runs, after a warm-up")
	only := set.String("only", "", "the rows whose names match; growth is one")
	write := set.Bool("write", false, "write the ratios, the table and the plot instead of holding them")
	if err := set.Parse(args); err != nil {
		return err
	}
	names, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	b, err := newBench(*program, *counting, *rounds)
	if err != nil {
		return err
	}
	defer b.close()
	all, err := b.all(names)
	if err != nil {
		return err
	}
	var growth []point
	if names.MatchString("growth") {
		if growth, err = b.growth(); err != nil {
			return err
		}
	}
	k, err := readKept(ratiosFile)
	switch {
	case err != nil:
		return err
	case all == nil && growth == nil:
		return errors.New("no row has such a name")
	case *write:
		return errors.Join(flat(growth), k.with(measured(b.rounds), all, growth).publish())
	}
	return k.hold(all, growth)
}

// all measures the rows whose names match.
func (b *bench) all(names *regexp.Regexp) ([]figure, error) {
	var all []figure
	for _, r := range rows() {
		if !names.MatchString(r.name) {
			continue
		}
		f, err := b.measure(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Println(f)
		all = append(all, f)
	}
	return all, nil
}
