package files

import (
	"regexp"
	"strings"
)

// ReservedName matches names that Windows reads as devices, with any extension.
var ReservedName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9]) *(\.|$)`)

// PlainLines is a text whose lines end in a line feed alone: git may have changed that.
func PlainLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
