package rundir

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/lazy"
)

// Bounds of names and labels of runs, in bytes.
const (
	maxName  = 200
	maxLabel = 200
)

// labelKey matches a label without a value, or the key of one with a value.
const labelKey lazy.Pattern = `^[A-Za-z0-9][A-Za-z0-9._/-]*$`

// CheckName says why a run cannot have a name; nil when it can.
func CheckName(name string) error {
	if problem := unshown(name, maxName); problem != "" {
		return fmt.Errorf("the name of a run %s", problem)
	}
	return nil
}

// CheckLabel says why a run cannot have a label; nil when it can.
func CheckLabel(key, value string) error {
	switch problem := unshown(value, maxLabel); {
	case len(key) > maxLabel || !labelKey.Matches(key):
		return fmt.Errorf("invalid label %q: use letters, digits, dot, dash, underscore and slash, %d at most", key, maxLabel)
	case value != "" && problem != "":
		return fmt.Errorf("the value of the label %s %s", key, problem)
	}
	return nil
}

// ParseLabel reads a label as it is given on the command line: a word, or KEY=VALUE.
func ParseLabel(text string) (key, value string, err error) {
	key, value, named := strings.Cut(text, "=")
	if err := CheckLabel(key, value); err != nil {
		return "", "", err
	}
	if named && value == "" {
		return "", "", errors.New("there is no value after the =")
	}
	return key, value, nil
}

// unshown says why a text cannot be shown on one line, "" when it can.
func unshown(text string, most int) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "is empty"
	case len(text) > most:
		return fmt.Sprintf("has more than %d bytes", most)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "holds a line break or another control character"
	}
	return ""
}
