package session

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds in bytes.
const (
	maxName  = 200
	maxLabel = 200
)

// labelKey matches a label without a value, or the key of a label.
var labelKey = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// CheckName returns an error for an invalid name of a run.
func CheckName(name string) error {
	if problem := unshown(name, maxName); problem != "" {
		return fmt.Errorf("the name of a run %s", problem)
	}
	return nil
}

func checkLabel(key, value string) error {
	switch problem := unshown(value, maxLabel); {
	case len(key) > maxLabel || !labelKey.MatchString(key):
		return fmt.Errorf("invalid label %q: use letters, digits, dot, dash, underscore and slash, %d at most", key, maxLabel)
	case value != "" && problem != "":
		return fmt.Errorf("the value of the label %s %s", key, problem)
	}
	return nil
}

// ParseLabel parses a label from the command line: a word, or KEY=VALUE.
func ParseLabel(text string) (key, value string, err error) {
	key, value, named := strings.Cut(text, "=")
	if err := checkLabel(key, value); err != nil {
		return "", "", err
	}
	if named && value == "" {
		return "", "", errors.New("there is no value after the =, such as team=search")
	}
	return key, value, nil
}

// unshown says why a text cannot be shown on one line, "" if it can.
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
