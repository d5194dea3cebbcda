package suite

import (
	"fmt"
	"strings"
	"time"

	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/yaml"
)

// node is a value as it is written, which is a yaml.Node: other programs than this module have none.
type node interface{ Self() yaml.Node }

// Command is a program that a suite starts, with its arguments.
type Command struct {
	// Words are the program and its arguments, as written in the suite.
	Words []string
	// Path is the program's file. It is "" when the suite is in no folder on this machine.
	Path string
	// Gone is the reason why the program cannot be found; nil when it was found.
	Gone error
	// Dir is the working directory.
	Dir string
	// Identity is the words with the digests of the files below the suite's folder that they name.
	Identity string
}

// Limits of the timeout of a program.
const (
	commandTime    = 10 * time.Second
	maxCommandTime = 10 * time.Minute
)

// CommandTime reads the timeout of a program: ten seconds when source, a node, is absent.
func CommandTime(source node) time.Duration {
	n := source.Self()
	if n.IsZero() {
		return commandTime
	}
	limit := n.Duration()
	if limit > maxCommandTime {
		n.Errorf("shorten it", "a program may take %s at most", maxCommandTime)
	}
	return limit
}

// NewCommand reads a command: a list of the program and its arguments, or the program alone. source is its node. Problems
// go to the node, and the result is nil without a program. With a nil suite, no file is searched.
func (s *Suite) NewCommand(source node, of string) *Command {
	n := source.Self()
	words, ok := commandWords(n, of)
	if !ok {
		return nil
	}
	c := &Command{Words: words, Identity: s.commandIdentity(words)}
	if s != nil {
		c.Dir = s.Dir()
		c.Path, c.Gone = s.findProgram(n.Items()[0], words[0])
	}
	return c
}

// PassedVariables reads the names of private variables to pass to a program. source is the node of the list. The suite may
// be nil.
func (s *Suite) PassedVariables(source node) []string {
	n := source.Self()
	names := n.Strings()
	for i, item := range n.Items() {
		switch {
		case len(names) < len(n.Items()): // an invalid item was reported
		case !files.IsName(names[i]):
			item.Errorf("letters, digits and `_` are allowed", "`%s` is not the name of an environment variable", names[i])
		case s == nil:
		case s.opts.Untrusted && files.IsPrivate(names[i], nil):
			item.Errorf("leave it out", "an untrusted suite cannot read the environment")
		case s.opts.Getenv != nil && s.opts.Getenv(names[i]) == "":
			item.Warnf("", "the environment variable %s is not set", names[i])
		}
	}
	return names
}

func commandWords(n yaml.Node, of string) (words []string, ok bool) {
	items := n.Items()
	for _, item := range items {
		word, printed := item.Printed() // lists and mappings become JSON
		switch {
		case printed:
		case item.IsScalar() && !item.IsNull():
			word = item.Str()
		default:
			item.Errorf("put quotes around it", "expected a text, found %s", item.Describe())
		}
		words = append(words, word)
	}
	if len(words) > 0 && words[0] != "" {
		return words, true
	}
	if len(words) == 0 || items[0].IsScalar() {
		n.Errorf("such as [python3, check.py]", "`%s` needs a program", of)
	}
	return nil, false
}

func (s *Suite) findProgram(at yaml.Node, name string) (string, error) {
	path, err := s.Program(name)
	if err == nil {
		return path, nil
	}
	at.Errorf(s.programHint(name, err), "%s", err)
	return "", err
}

func (s *Suite) commandIdentity(words []string) string {
	var b strings.Builder
	for i, word := range words {
		fmt.Fprintf(&b, "%q", word)
		if s != nil && (i > 0 || strings.Contains(word, "/")) {
			b.WriteString(s.Digest(word))
		}
	}
	return b.String()
}
