package scorers

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Bounds of regular expressions. RE2 takes time in proportion to program size times text size, about ten
// nanoseconds per instruction and byte, so the product is bounded.
const (
	maxPattern   = 10 * maxProgram // bytes per expression, and parsing takes hundreds of times that
	maxProgram   = 20_000          // instructions per expression
	maxRegexWork = 100_000_000     // instructions times bytes per search: one to two seconds
)

type boundedRegexp struct {
	re   *regexp.Regexp
	size int // instructions
}

// compilePattern compiles an expression, with a clear error when it is too large.
func compilePattern(source string) (*boundedRegexp, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("it has %d bytes; at most %d are allowed", len(source), maxPattern)
	}
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
	return &boundedRegexp{re, size}, nil
}

// programSize estimates the number of instructions, stopping once above the limit.
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

// tooMuch explains that a search would take too long, "" when it would not. Matching groups costs more: they are
// copied in every step.
func (p *boundedRegexp) tooMuch(text string, groups bool) string {
	size := p.size
	if groups {
		size *= 1 + p.re.NumSubexp()
	}
	if len(text) <= maxRegexWork/max(1, size) {
		return ""
	}
	return fmt.Sprintf("the regular expression (%d steps) takes too long on a text of %d bytes", p.size, len(text))
}
