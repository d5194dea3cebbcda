// Command pictures draws what a terminal shows as an SVG: it reads a transcript with its colours and writes the picture.
//
//	script -qec "evalrun run suite.yaml --emulator" /dev/null | go run ./test/pictures -title "evalrun" > terminal.svg
package main

import (
	"bufio"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

func main() {
	title := flag.String("title", "", "what the picture shows, for those who do not see it")
	flag.Parse()
	transcript, err := io.ReadAll(os.Stdin)
	if err == nil {
		out := bufio.NewWriter(os.Stdout)
		draw(out, *title, lines(string(transcript)))
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "pictures: %v\n", err)
		os.Exit(1)
	}
}

// style is how a text looks; "" is the terminal's own colour.
type style struct {
	color       string
	bold, faint bool
}

// styledText is a text in one style, which begins at a column.
type styledText struct {
	style
	column int
	text   string
}

var (
	sequence = regexp.MustCompile("\x1b\\[([0-9;]*)m")
	others   = regexp.MustCompile("\x1b(?:\\[[0-9;?]*[A-Za-ln-z]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[^\\[\\]])")
)

// lines reads a transcript. What was overwritten after a carriage return, such as a progress bar, is gone.
func lines(transcript string) [][]styledText {
	var out [][]styledText
	var now style
	for line := range strings.SplitSeq(strings.TrimRight(transcript, "\r\n"), "\n") {
		line = others.ReplaceAllString(strings.TrimRight(line, "\r"), "")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		var spans []styledText
		column := 0
		add := func(text string) {
			text = strings.Map(func(r rune) rune {
				if unicode.IsControl(r) {
					return -1
				}
				return r
			}, text)
			if text != "" {
				spans = append(spans, styledText{now, column, text})
				column += displaywidth.String(text)
			}
		}
		rest := 0
		for _, m := range sequence.FindAllStringSubmatchIndex(line, -1) {
			add(line[rest:m[0]])
			now.apply(line[m[2]:m[3]])
			rest = m[1]
		}
		add(line[rest:])
		out = append(out, spans)
	}
	return out
}

// apply changes the style by the parameters of a sequence; those it does not know change nothing.
func (s *style) apply(parameters string) {
	for p := range strings.SplitSeq(parameters, ";") {
		code, _ := strconv.Atoi(p) // "" is 0
		if code == 38 || code == 48 {
			return // colours by number: the rest of the sequence belongs to it
		}
		s.set(code)
	}
}

// set changes the style by one parameter.
func (s *style) set(code int) {
	switch code {
	case 0:
		*s = style{}
	case 1:
		s.bold = true
	case 2:
		s.faint = true
	case 22:
		s.bold, s.faint = false, false
	case 39:
		s.color = ""
	default:
		if color := colorOf(code); color != "" {
			s.color = color
		}
	}
}

// colorOf is the colour of a parameter, "" when it is of none: eight colours, and the same again as bright ones.
func colorOf(code int) string {
	colors := []string{"#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#e6edf3"}
	for i, color := range colors {
		if code == 30+i || code == 90+i {
			return color
		}
	}
	return ""
}

// Sizes in pixels.
const (
	cell   = 8.0 // width of a column
	row    = 19.0
	margin = 16.0
	bar    = 30.0 // of the window
)

// words are what is between two spaces or more, which viewers treat as they like: each gets its own column.
var words = regexp.MustCompile(`[^ ]+(?: [^ ]+)*`)

func draw(w io.Writer, title string, lines [][]styledText) {
	columns := 60
	for _, line := range lines {
		for _, s := range line {
			columns = max(columns, s.column+displaywidth.String(strings.TrimRight(s.text, " ")))
		}
	}
	width, height := float64(columns)*cell+2*margin, float64(len(lines))*row+bar+margin
	fmt.Fprintf(
		w,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img">`+"\n<title>%s</title>\n",
		width, height, width, height, escape(title),
	)
	fmt.Fprintf(w, `<rect width="%g" height="%g" rx="8" fill="#0d1117"/>`+"\n", width, height)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(w, `<circle cx="%g" cy="15" r="5" fill="%s"/>`+"\n", margin+float64(i)*18, color)
	}
	fmt.Fprintf(
		w,
		`<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e6edf3">`+"\n",
	)
	for i, line := range lines {
		for _, s := range line {
			for _, at := range words.FindAllStringIndex(s.text, -1) {
				text := s.text[at[0]:at[1]]
				column := s.column + displaywidth.String(s.text[:at[0]])
				fmt.Fprintf(w, `<text x="%g" y="%g" textLength="%g"%s>%s</text>`+"\n",
					margin+float64(column)*cell, bar+float64(i)*row+row*0.75, float64(displaywidth.String(text))*cell, s.attributes(), escape(text))
			}
		}
	}
	fmt.Fprintf(w, "</g>\n</svg>\n")
}

func (s style) attributes() string {
	out := ""
	if s.color != "" {
		out += ` fill="` + s.color + `"`
	}
	if s.bold {
		out += ` font-weight="bold"`
	}
	if s.faint {
		out += ` opacity="0.6"`
	}
	return out
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
