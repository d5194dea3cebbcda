package hostile

import (
	"math/rand/v2"
	"strings"
)

// Mutated is a YAML file with a few changes as by accident: signs that mean something appear and disappear, and lines
// are repeated elsewhere or indented differently.
func Mutated(random *rand.Rand, src string) string {
	signs := []string{
		"\"", "'", "#", "-", "- ", ":", " ", "  ", "\t", "\n", "|\n", "&x ", "*x", "{", "}", "[", "]", ",", "?", "!a ", "---\n", "\r",
		"{{", "x",
	}
	lines := strings.SplitAfter(src, "\n")
	for range 1 + random.IntN(3) {
		i := random.IntN(len(lines))
		line := lines[i]
		at := random.IntN(len(line) + 1)
		switch random.IntN(6) {
		case 0, 1:
			lines[i] = line[:at] + signs[random.IntN(len(signs))] + line[at:]
		case 2:
			lines[i] = line[:at] + line[min(at+1, len(line)):]
		case 3:
			lines[i] = lines[random.IntN(len(lines))]
		case 4:
			lines[i] = strings.Repeat(" ", random.IntN(4)) + line
		case 5:
			lines[i] = strings.TrimPrefix(line, " ")
		}
	}
	return strings.Join(lines, "")
}
