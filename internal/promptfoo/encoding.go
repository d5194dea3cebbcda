package promptfoo

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/evalrun/evalrun/diag"
)

// readText reads a text file of the source, and converts it to UTF-8.
func (s *configSource) readText(ref string) (name string, data []byte, err error) {
	if name, data, err = s.read(ref); err != nil || path.Ext(name) == ".pdf" {
		return name, data, err
	}
	return name, s.decoded(name, data), nil
}

// decoded converts a text to UTF-8, and notes what it was. What is no text in a known encoding stays as it is.
func (s *configSource) decoded(name string, data []byte) []byte {
	var from encoding.Encoding
	var was string
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		from, was = unicode.UTF8BOM, "UTF-8 with a byte order mark"
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		from, was = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM), "UTF-16"
	case !utf8.Valid(data) && !slices.ContainsFunc(data, isNoText):
		from, was = charmap.Windows1252, "Windows-1252 or Latin-1"
	default:
		return data
	}
	text, err := from.NewDecoder().Bytes(data)
	if err != nil {
		return data
	}
	if s.converted == nil {
		s.converted = map[string]string{}
	}
	s.converted[name] = was
	return text
}

// isNoText reports whether a byte is in no text in Windows-1252.
func isNoText(b byte) bool {
	return b < ' ' && strings.IndexByte("\t\n\r\f", b) < 0 || strings.IndexByte("\x7f\x81\x8d\x8f\x90\x9d", b) >= 0
}

// conversions are the lines of the report about files that were converted.
func conversions(converted map[string]string) string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(converted)) {
		if i == 0 {
			b.WriteString("\n## Files that were not UTF-8\n\n")
		}
		fmt.Fprintf(&b, "- `%s`: converted from %s\n", strings.ReplaceAll(diag.CleanLine(name), "`", "'"), converted[name])
	}
	return b.String()
}
