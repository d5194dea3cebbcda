package reports

import (
	"path"
	"regexp"
	"strings"

	"github.com/evalrun/evalrun/diag"
)

// GitHub shows ten errors and ten warnings per step; further ones are counted.
const (
	maxAnnotations    = 10
	maxAnnotationText = 2000 // code points
)

// position splits file:line:col and file:line.
var position = regexp.MustCompile(`^(.*?):(\d{1,9})(?::(\d{1,9}))?$`)

// command is a workflow command. No text in it can end it or begin another.
func command(level, title, at, message string) string {
	var properties []string
	if at != "" {
		file, line, col := at, "", ""
		if m := position.FindStringSubmatch(at); m != nil {
			file, line, col = m[1], m[2], m[3]
		}
		properties = append(properties, "file="+property(path.Clean(strings.ReplaceAll(file, `\`, "/"))))
		if line != "" {
			properties = append(properties, "line="+line)
		}
		if col != "" {
			properties = append(properties, "col="+col)
		}
	}
	properties = append(properties, "title="+property(shorten(title, 200)))
	lines := strings.Split(shorten(message, maxAnnotationText), "\n")
	for i := range lines {
		lines[i] = data(lines[i])
	}
	return "::" + level + " " + strings.Join(properties, ",") + "::" + strings.Join(lines, "%0A")
}

// data escapes a line of a command's message.
func data(s string) string { return strings.ReplaceAll(diag.CleanLine(s), "%", "%25") }

// property escapes a property of a command.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}
