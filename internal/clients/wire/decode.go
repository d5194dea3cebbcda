package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	fastjson "github.com/segmentio/encoding/json"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Decode decodes one JSON value into v. The error is an *eval.Error.
func Decode(data []byte, v any) error {
	if err := Decodable(data); err != nil {
		return err
	}
	if wirejson.Valid(data) && read(bytes.TrimSpace(data), v) {
		return nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return shapeError(data, err)
	}
	return nil
}

// Decodable returns an *eval.Error for data that is empty, too large or too deep to decode.
func Decodable(data []byte) error {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return eval.Errorf(eval.KindMalformed, "the answer is empty")
	case !utf8.Valid(data):
		return eval.Errorf(eval.KindMalformed, "the answer is not UTF-8: %s", Excerpt(data))
	case tooMany(data, maxValues):
		return eval.Errorf(eval.KindTooLarge, "the answer has more than %d values: %s", maxValues, Excerpt(data))
	case wirejson.Deeper(data, maxNesting):
		return eval.Errorf(eval.KindMalformed, "the answer nests deeper than %d levels: %s", maxNesting, Excerpt(data))
	}
	return nil
}

func shapeError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && isCut(data):
		return eval.Errorf(eval.KindTruncated, "the answer was cut off after %d bytes", len(data))
	case errors.As(err, &syntax) && data[0] == '<':
		return eval.Errorf(eval.KindMalformed, "the answer is a page and not JSON (a login, a proxy, or a wrong `baseUrl`): %s", Excerpt(data))
	case errors.As(err, &syntax):
		return eval.Errorf(eval.KindMalformed, "the answer is not JSON: %s", Excerpt(data))
	case errors.As(err, &wrong) && wrong.Field != "":
		return eval.Errorf(eval.KindMalformed, "%s: %s", &ShapeError{wrong.Field, "a " + wrong.Value}, Excerpt(data))
	}
	return eval.Errorf(eval.KindMalformed, "the answer has an unexpected shape: %s", Excerpt(data))
}

// maxNesting bounds the nesting of an answer, so that its line of the run file can be read again.
const maxNesting = 200

// maxValues bounds the values of an answer, which take much memory. A hundred long vectors fit.
const maxValues = 500_000

// tooMany counts the values by commas, and looks for commas inside texts only if there are too many.
func tooMany(data []byte, limit int) bool {
	if bytes.Count(data, []byte(",")) <= limit {
		return false
	}
	n, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case c == ',' && !inString:
			n++
		}
	}
	return n > limit
}

func isCut(data []byte) bool {
	var whole json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(data)).Decode(&whole), io.ErrUnexpectedEOF)
}

// Word is a string that some servers send as a number.
type Word string

// UnmarshalJSON reads "15" and 15.
func (w *Word) UnmarshalJSON(data []byte) error {
	if n := len(data); n >= 2 && data[0] == '"' && bytes.IndexByte(data, '\\') < 0 { // almost always
		*w = Word(data[1 : n-1])
		return nil
	}
	var s string
	if json.Unmarshal(data, &s) == nil {
		*w = Word(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	*w = Word(n)
	return nil
}

// ShapeError says that a member of an answer has the wrong type.
type ShapeError struct{ Field, Found string }

func (e *ShapeError) Error() string {
	return fmt.Sprintf("`%s` in the answer has an unexpected shape (%s)", e.Field, e.Found)
}

// KindOf names the JSON type of raw.
func KindOf(raw []byte) string {
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "an array"
	case raw[0] == '"':
		return "a string"
	case raw[0] == 't' || raw[0] == 'f':
		return "a boolean"
	}
	return "a number"
}

// LenientInt is a whole number that some servers send as text, or with a fraction of zero.
type LenientInt int

// UnmarshalJSON reads 15, "15" and 15.0.
func (n *LenientInt) UnmarshalJSON(data []byte) error {
	text := strings.TrimSpace(strings.Trim(string(data), `"`))
	if text == "" || text == "null" {
		return nil
	}
	if i, err := strconv.Atoi(text); err == nil {
		*n = LenientInt(i)
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxNumber {
		return &ShapeError{"a number", KindOf(data)}
	}
	*n = LenientInt(f)
	return nil
}

const maxNumber = 1 << 40

// Real is a number that some servers send as text.
type Real float64

// UnmarshalJSON reads 0.5 and "0.5".
func (r *Real) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(strings.Trim(string(data), `"`)), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return &ShapeError{"a number", KindOf(data)}
	}
	*r = Real(f)
	return nil
}

// DecodeAny decodes any JSON value, and keeps the spelling of numbers. The error is an *eval.Error. Every
// answer of an application passes through it, and encoding/json would take several times as long.
func DecodeAny(data []byte) (v any, err error) {
	if err := Decodable(data); err != nil {
		return nil, err
	}
	if wirejson.Valid(data) {
		_, err = fastjson.Parse(data, &v, fastjson.UseNumber)
	} else {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		return nil, shapeError(data, err)
	}
	return v, nil
}
