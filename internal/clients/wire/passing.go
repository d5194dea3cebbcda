package wire

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// piece is a string of a reply, and where its JSON begins and ends.
type piece struct {
	text     string
	from, to int
}

// OutOfPassed masks secrets in a request or reply as it passed, also one that is cut over the pieces of a stream.
func (s *Secrets) OutOfPassed(passed string) []byte {
	reply := []byte(s.OutOfText(passed))
	if len(s.forms.words) == 0 {
		return reply
	}
	said := map[string][]piece{} // by the path that pieces of one text have
	values := [][]byte{reply}
	if IsEvents(reply) {
		values = bytes.SplitAfter(bytes.ReplaceAll(reply, []byte("\r"), newLine), newLine)
	}
	at := 0
	for _, one := range values {
		if begin := bytes.IndexAny(one, "{["); begin >= 0 {
			collect(gjson.Result{Type: gjson.JSON, Raw: string(one[begin:]), Index: at + begin}, "", 0, said)
		}
		at += len(one)
	}
	var masked []piece
	for _, pieces := range said {
		masked = append(masked, s.outOfPieces(pieces)...)
	}
	slices.SortFunc(masked, func(a, b piece) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	at = 0
	for _, one := range masked {
		out = wirejson.AppendString(append(out, reply[at:one.from]...), one.text)
		at = one.to
	}
	return append(out, reply[at:]...)
}

// IsMasked reports whether a text may be one that was masked, by what is left of it. A replay does not know the secrets.
func IsMasked(masked, text string) bool {
	parts := strings.Split(masked, hidden)
	last := len(parts) - 1
	text, fits := strings.CutPrefix(text, parts[0])
	for _, part := range parts[1:max(1, last)] {
		if fits {
			_, text, fits = strings.Cut(text, part)
		}
	}
	return last > 0 && fits && strings.HasSuffix(text, parts[last])
}

// collect finds the strings below a path. Pieces of a stream have one path: items of lists differ by their `index` alone.
func collect(value gjson.Result, path string, level int, said map[string][]piece) {
	if value.Type == gjson.String {
		said[path] = append(said[path], piece{value.Str, value.Index, value.Index + len(value.Raw)})
	}
	if value.Type != gjson.JSON || level > maxNesting {
		return
	}
	path += value.Get("index").Raw
	value.ForEach(func(name, one gjson.Result) bool {
		// In what is not JSON, gjson passes over bytes before a value, and its index has the first of them.
		one.Index += max(0, strings.Index(value.Raw[one.Index-value.Index:], one.Raw))
		collect(one, path+"."+name.Str, level+1, said)
		return true
	})
}

// outOfPieces masks secrets in what pieces say together. It returns those that change: the first one has all that is new.
func (s *Secrets) outOfPieces(pieces []piece) (changed []piece) {
	var joined strings.Builder
	for _, one := range pieces {
		joined.WriteString(one.text)
	}
	old := joined.String()
	masked := s.OutOfText(old)
	if masked == old {
		return nil
	}
	begin, end := 0, 0
	for shorter := min(len(old), len(masked)); begin < shorter && old[begin] == masked[begin]; {
		begin++
	}
	for shorter := min(len(old), len(masked)) - begin; end < shorter && old[len(old)-1-end] == masked[len(masked)-1-end]; {
		end++
	}
	at, instead := 0, masked[begin:len(masked)-end]
	for _, one := range pieces {
		text := one.text
		from, to := max(begin-at, 0), min(len(old)-end-at, len(text))
		if at += len(text); from < to {
			one.text = text[:from] + instead + text[to:]
			changed, instead = append(changed, one), ""
		}
	}
	return changed
}
