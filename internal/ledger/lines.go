package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rates"
)

// mostLine bounds a line, in bytes: JSON escapes make an event longer than the request that led to it.
const mostLine = 8 * mostBody

const crcKey = `,"crc":"`

// lineOf returns an event as a line, and the checksum of the file with it. The checksum covers all lines before, so that a
// line that is missing or moved is noticed like a damaged one.
func lineOf(e *bookEvent, sum uint32) ([]byte, uint32) {
	text, err := json.Marshal(e)
	if err != nil { // it has only texts, times and finite numbers
		panic(err)
	}
	return seal(text[:len(text)-1], sum)
}

// seal ends a line, an object without its last brace.
func seal(text []byte, sum uint32) (line []byte, next uint32) {
	next = crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), text)
	return fmt.Appendf(text, "%s%08x\"}\n", crcKey, next), next
}

// fileReader reads the lines of a file. Files of early versions have no checksums in any line.
type fileReader struct {
	sum   uint32
	early bool
	lines int
}

// event returns the event of the next line, nil if the line is damaged.
func (r *fileReader) event(line []byte) *bookEvent {
	r.lines++
	text, _, sealed := bytes.Cut(line, []byte(crcKey))
	r.early = r.early || r.lines == 1 && !sealed
	if sealed {
		var whole []byte
		if whole, r.sum = seal(bytes.Clone(text), r.sum); !bytes.Equal(whole, line) {
			return nil
		}
		line = slices.Concat(text, []byte{'}'})
	}
	var e bookEvent
	in := json.NewDecoder(bytes.NewReader(line))
	in.DisallowUnknownFields()
	if sealed == r.early || in.Decode(&e) != nil || in.More() || !e.whole() {
		return nil
	}
	return &e
}

// readEvents applies the events of a file. An incomplete last line was never confirmed, and is ignored.
func readEvents(path string, b *book) error {
	src, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return eval.BadInput("--state: %w", err)
	}
	defer src.Close() //nolint:errcheck // only read
	var r fileReader
	in := bufio.NewScanner(src)
	in.Buffer(nil, mostLine)
	in.Split(wholeLines)
	for in.Scan() {
		e := r.event(in.Bytes())
		if e == nil {
			return damaged(path, r.lines)
		}
		b.revive(e)
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return damaged(path, r.lines+1)
	case err != nil:
		return eval.BadInput("--state: %w", err)
	}
	return nil
}

func damaged(path string, line int) error {
	return eval.BadInput("%s:%d is damaged: what was granted is not known; move the file away to begin with empty accounts", path, line)
}

// wholeLines splits a text into its lines, each with its end. It drops an incomplete last one.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if at := bytes.IndexByte(data, '\n'); at >= 0 {
		return at + 1, data[:at+1], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

// whole reports whether an event has the fields that its type needs, and possible numbers.
func (e *bookEvent) whole() bool {
	if !isPossible(e.Cost) {
		return false
	}
	switch e.Type {
	case granted, refused, paused, paced, used:
		return e.Account != nil
	case settled, returned:
		return e.ID != ""
	case balanced:
		return e.Balance != nil && min(least(e.Balance.Granted), least(e.Balance.Settled), least(e.Balance.Refused)) >= -rates.Dust
	}
	return false
}

// least returns the least of the numbers; sums of fractions can be a little below zero.
func least(a amount) float64 { return math.Min(a.Money, float64(min(a.Calls, a.Tokens))) }
