package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func appendLine(b []byte, kind string, record any, seq int) ([]byte, error) {
	b = append(append(append(b, typePrefix...), kind...), '"')
	opening := len(b)
	b, err := wirejson.Append(b, record)
	if err != nil {
		return nil, fmt.Errorf("a %s record cannot be written: %w", kind, err)
	}
	if len(b) > maxLine-1<<10 {
		return nil, fmt.Errorf("a %s record cannot be written: it has %d bytes, and a line may have %d", kind, len(b), maxLine)
	}
	if err := wirejson.CheckDepth(b, wirejson.MaxDepth); err != nil { // nor could it be read again
		return nil, fmt.Errorf("a %s record cannot be written: it is %w", kind, err)
	}
	if bytes.IndexByte(b, '\n') >= 0 { // readers take a record for a line
		return nil, fmt.Errorf("a %s record cannot be written: it has a line break, which is a bug in evalrun", kind)
	}
	b[opening] = ','
	b = strconv.AppendInt(append(b[:len(b)-1], seqPrefix...), int64(seq), 10)
	return append(appendChecksum(b, b), '\n'), nil
}

// line is the envelope of every line in a run file.
type line struct {
	Type string `json:"type"`
	Seq  *int   `json:"seq"`
}

// notRun is the record of the cases that a run leaves out.
type notRun struct {
	Lists []*eval.NotRun `json:"lists"`
}

// crcTail is the length of `,"crc":"XXXXXXXX"}`.
const crcTail = len(`,"crc":"00000000"}`)

const (
	trialKind     = "trial"
	answerKind    = "answer"
	judgementKind = "judgement"
	notRunKind    = "notRun"
	intentKind    = "intent"
	batchKind     = "batch"
	againKind     = "again"
)

const (
	typePrefix = `{"type":"`
	seqPrefix  = `,"seq":`
)

// frame reads the ends of a line as this package writes it, without looking at what is between.
func frame(body []byte) (l line, ok bool) {
	rest, ok := bytes.CutPrefix(body, []byte(typePrefix))
	at := bytes.LastIndex(body, []byte(seqPrefix))
	end := bytes.IndexByte(rest, '"')
	if !ok || at < 0 || end < 0 {
		return l, false
	}
	seq, err := strconv.Atoi(string(body[at+len(seqPrefix):]))
	if err != nil || seq < 0 {
		return l, false
	}
	return line{string(rest[:end]), &seq}, true
}

// content is the JSON of a trial, without the type, number and checksum of its line; nil when this package did not write
// the line.
func content(data []byte) []byte {
	const begin = `{"type":"trial",`
	if len(data) <= crcTail || !bytes.HasPrefix(data, []byte(begin)) {
		return nil
	}
	at := bytes.LastIndex(data[:len(data)-crcTail], []byte(seqPrefix))
	if at < len(begin) {
		return nil
	}
	if _, err := strconv.Atoi(string(data[at+len(seqPrefix) : len(data)-crcTail])); err != nil {
		return nil
	}
	out := append(make([]byte, 0, at), '{')
	out = append(out, data[len(begin):at]...)
	return append(out, '}')
}

func checksum(body []byte) uint32 { return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) }

// appendChecksum appends the end of a line whose body is given.
func appendChecksum(b, body []byte) []byte {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], checksum(body))
	return append(hex.AppendEncode(append(b, `,"crc":"`...), sum[:]), `"}`...)
}

// check verifies a line, without its line break.
func check(data []byte) (line, error) {
	l, err := ends(data)
	if err == nil && !wirejson.Valid(data) { // no version of evalrun writes that
		err = errNotJSON
	}
	return l, err
}

var errNotJSON = errors.New("the line is not JSON")

// ends verifies the checksum of a line and reads its type and number. Unless this package wrote the line, it is decoded.
// A carriage return at its end is left out: git and editors on Windows write one.
func ends(data []byte) (l line, err error) {
	data = bytes.TrimSuffix(data, []byte("\r"))
	if len(data) <= crcTail {
		return l, errors.New("the line is too short")
	}
	body, tail := data[:len(data)-crcTail], data[len(data)-crcTail:]
	if want := appendChecksum(make([]byte, 0, crcTail), body); !bytes.Equal(tail, want) {
		return l, errors.New("the checksum does not fit")
	}
	if err := wirejson.CheckDepth(data, wirejson.MaxDepth); err != nil {
		return l, fmt.Errorf("the line is %w", err)
	}
	if l, ok := frame(body); ok {
		return l, nil
	}
	if wirejson.DecodeAnyCase(data, &l) != nil {
		return l, errNotJSON
	}
	if l.Seq == nil {
		return l, errors.New("the line has no sequence number")
	}
	return l, nil
}
