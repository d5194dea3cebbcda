package wire

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// Alike is the shape of a chunk of a stream. Most chunks differ from the one before by a text alone, and need no decoding then.
type Alike struct{ before, after []byte } // what is around the text, with its quotes; nil: no chunk is alike

// AlikeTo is the shape of a chunk around the text at a path. Below the chunk itself, the objects on the way have only known members, null
// ones aside, and lists have one item; the names on the way, and an index, are there once. There is none of a chunk with an object under
// one of the other names.
func AlikeTo(chunk []byte, path string, known, other []string) Alike {
	at := gjson.ParseBytes(chunk)
	plain := !slices.ContainsFunc(other, func(name string) bool { return at.Get(name).IsObject() })
	for _, name := range append(strings.Split(path, "."), "index") { // a parser reads the first of several, another one the last
		plain = plain && bytes.Count(chunk, []byte(`"`+name+`"`)) <= 1
	}
	for name := range strings.SplitSeq(path, ".") {
		plain = plain && (!at.IsArray() || len(at.Array()) == 1)
		if at = at.Get(name); at.IsObject() {
			at.ForEach(func(member, value gjson.Result) bool {
				plain = plain && (value.Type == gjson.Null || slices.Contains(known, member.Str))
				return plain
			})
		}
	}
	text := gjson.GetBytes(chunk, path)
	end := text.Index + len(text.Raw)
	if !plain || text.Type != gjson.String || text.Index <= 0 || end > len(chunk) || string(chunk[text.Index:end]) != text.Raw {
		return Alike{}
	}
	return Alike{bytes.Clone(chunk[:text.Index+1]), bytes.Clone(chunk[end-1:])}
}

// Text is the text of a chunk of this shape; false for others, and for texts that only a decoder can read.
func (a *Alike) Text(chunk []byte) (string, bool) {
	from, to := len(a.before), len(chunk)-len(a.after)
	if from == 0 || to < from || !bytes.HasPrefix(chunk, a.before) || !bytes.HasSuffix(chunk, a.after) {
		return "", false
	}
	text := chunk[from:to]
	for _, c := range text {
		if c < ' ' || c == '"' {
			return "", false
		}
	}
	if quoted := chunk[from-1 : to+1]; bytes.IndexByte(text, '\\') >= 0 {
		if !wirejson.Valid(quoted) {
			return "", false
		}
		return wirejson.Text(quoted)
	}
	return string(text), utf8.Valid(text)
}
