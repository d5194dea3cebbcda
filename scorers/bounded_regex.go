package scorers

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Bounds of regular expressions. RE2 takes time in proportion to the size of the program times that of the text, about ten
// nanoseconds for each instruction and byte, so both are bounded together.
const (
	maxProgram   = 20_000      // instructions of one expression
	maxRegexWork = 100_000_000 // instructions times bytes of one search: a second or two
)

// pattern is a regular expression of bounded size.
type pattern struct {
	re   *regexp.Regexp
	size int // instructions
}

// compilePattern compiles an expression. The error of one that is too large says so.
func compilePattern(source string) (*pattern, error) {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := programSize(parsed, maxProgram)
	if size > maxProgram {
		return nil, fmt.Errorf("it makes a program of more than %d steps: repetitions multiply, such as (a{100}){100}", maxProgram)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	return &pattern{re, size}, nil
}

// programSize is about how many instructions an expression is compiled to, or more than the limit.
func programSize(re *syntax.Regexp, limit int) int {
	size := 1
	switch re.Op {
	case syntax.OpLiteral:
		size = max(1, len(re.Rune))
	case syntax.OpCapture:
		size = 2
	}
	for _, sub := range re.Sub {
		if size += programSize(sub, limit); size > limit {
			return limit + 1
		}
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Max, re.Min+1)
		if size *= times; size > limit {
			return limit + 1
		}
	}
	return size
}

// tooMuch says that a search in a text would take too long, "" when it would not. Groups are copied along in every step.
func (p *pattern) tooMuch(text string, groups bool) string {
	size := p.size
	if groups {
		size *= 1 + p.re.NumSubexp()
	}
	if len(text) <= maxRegexWork/max(1, size) {
		return ""
	}
	return fmt.Sprintf("the regular expression (%d steps) takes too long on a text of %d bytes", p.size, len(text))
}
