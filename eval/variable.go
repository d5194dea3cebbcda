package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Value is the value of a variable: a string, a Number, a Boolean, a Null, an Array or an Object. A Dict of all variables is
// a Value too. A number outside of a list or an object is a string, so that it stays as written.
type Value any

// Number is a number in its spelling: 1.10 stays 1.10. JSON can represent it without change.
type Number string

// Boolean is a boolean in its spelling, which in YAML may be True.
type Boolean string

// Null is null in its spelling: `null` or `~` in YAML, nothing in JSON.
type Null string

// Array is several values. It prints as JSON.
type Array []Value

// Object is named values in the order in which they are written. It prints as JSON.
type Object []Member

// Member is a value of an Object.
type Member struct {
	Name  string
	Value Value
}

// Dict is the variables by their names. It prints as JSON with sorted keys.
type Dict map[string]Value

// True reports whether a truth value is true.
func (b Boolean) True() bool { return b == "true" || b == "True" || b == "TRUE" }

// Get returns the value of a member; false when there is none of that name.
func (o Object) Get(name string) (Value, bool) {
	for _, m := range o {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// Get returns the value under a name in an Object or a Dict. named reports whether v is one of them, and there whether it
// has the name.
func Get(v Value, name string) (found Value, named, there bool) {
	switch in := v.(type) {
	case Object:
		found, there = in.Get(name)
		return found, true, there
	case Dict:
		found, there = in[name]
		return found, true, there
	}
	return nil, false, false
}

// Plain are the values in Go's own types, as expressions compare and add them: int for a whole number that fits, else
// float64; null is nil. A whole number that fits neither, such as an id of twenty digits, is a text: rounded, it would
// equal others.
func (d Dict) Plain() map[string]any {
	out := make(map[string]any, len(d))
	for name, v := range d {
		out[name] = plain(v)
	}
	return out
}

func plain(v Value) any {
	switch v := v.(type) {
	case Dict:
		return v.Plain()
	case Object:
		out := make(map[string]any, len(v))
		for _, m := range v {
			out[m.Name] = plain(m.Value)
		}
		return out
	case Array:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	case Number:
		return v.plain()
	case Boolean:
		return v.True()
	case Null:
		return nil
	}
	return v
}

func (n Number) plain() any {
	if i, err := strconv.Atoi(string(n)); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || rounds(string(n), f) { // it is too large
		return string(n)
	}
	return f
}

// rounds reports whether a whole number, written digit by digit, is not the same as a float64.
func rounds(written string, f float64) bool {
	return !strings.ContainsAny(written, ".eE") && strings.TrimPrefix(written, "-") != strconv.FormatFloat(math.Abs(f), 'f', 0, 64)
}

func (l Array) String() string  { return JSON(l) }
func (o Object) String() string { return JSON(o) }
func (d Dict) String() string   { return JSON(d) }

// MarshalJSON writes the list as JSON does.
func (l Array) MarshalJSON() ([]byte, error) { return spelling{}.append(nil, l), nil }

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) { return spelling{}.append(nil, o), nil }

// MarshalJSON writes the variables in the order of their names.
func (d Dict) MarshalJSON() ([]byte, error) { return spelling{}.append(nil, d), nil }

// JSON is a value as JSON. Objects keep their order, a Dict is sorted.
func JSON(v Value) string { return string(spelling{}.append(nil, v)) }

// Texts returns a value in the form that identifies cases from run to run, whatever the types of their
// values. It is JSON with sorted keys, in which everything except lists and objects is a text in its
// spelling.
func Texts(v Value) string { return string(AppendTexts(nil, v)) }

// AppendTexts appends what Texts gives.
func AppendTexts(dst []byte, v Value) []byte { return spelling{texts: true}.append(dst, v) }

type spelling struct{ texts bool }

// append writes JSON as encoding/json does, without escapes for HTML. It is called for a hundred thousand cases, for
// which reflection is slow.
func (f spelling) append(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case string:
		return appendText(dst, v)
	case Array:
		return f.list(dst, v)
	case Object:
		return f.object(dst, v)
	case Dict:
		return f.dict(dst, v)
	}
	return f.scalar(dst, v)
}

func (f spelling) scalar(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case Number:
		return f.either(dst, string(v), string(v))
	case Boolean:
		return f.either(dst, string(v), strconv.FormatBool(v.True()))
	case Null:
		return f.either(dst, string(v), "null")
	}
	return appendAny(dst, v)
}

// either writes the text of a value, or what it is in JSON.
func (f spelling) either(dst []byte, text, typed string) []byte {
	if f.texts {
		return appendText(dst, text)
	}
	return append(dst, typed...)
}

func (f spelling) list(dst []byte, l Array) []byte {
	if l == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, item := range l {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.append(dst, item)
	}
	return append(dst, ']')
}

func (f spelling) object(dst []byte, o Object) []byte {
	if f.texts {
		o = slices.SortedFunc(slices.Values(o), func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	}
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, m.Name), ':')
		dst = f.append(dst, m.Value)
	}
	return append(dst, '}')
}

func (f spelling) dict(dst []byte, d Dict) []byte {
	if d == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	names := slices.AppendSeq(make([]string, 0, len(d)), maps.Keys(d))
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, name), ':')
		dst = f.append(dst, d[name])
	}
	return append(dst, '}')
}

// maxDepth is the deepest nesting of lists and objects. Parsing reads a value again for each level around it.
const maxDepth = 64

// Reasons why a text cannot be read.
var (
	ErrUTF8 = errors.New("the text is not UTF-8")
	ErrJSON = errors.New("this is not JSON")
	// ErrObject says that something else came where an object is expected.
	ErrObject = errors.New("this is not a JSON object")
)

// TwiceError says that a name comes twice in an object.
type TwiceError struct{ Name string }

func (e *TwiceError) Error() string {
	return fmt.Sprintf("the key %q appears twice in an object", e.Name)
}

// ParseValue reads a value of JSON. raw may be used again. The error is ErrUTF8, ErrJSON, a *TwiceError, or one that says
// that the value is nested too deep.
func ParseValue(raw []byte) (Value, error) {
	v, err := parsed(raw)
	if err != nil {
		return nil, err
	}
	return valueOf(v, 1)
}

// ParseDict parses a JSON object as variables. Everything except lists and objects becomes a text in its
// spelling, and null the empty text. The error is one of Parse, or ErrObject.
func ParseDict(raw []byte) (Dict, error) {
	v, err := parsed(raw)
	switch {
	case err != nil:
		return nil, err
	case !v.IsObject():
		return nil, ErrObject
	}
	out := Dict{}
	err = members(v, 1, func(name string, value Value) (twice bool) {
		_, twice = out[name]
		out[name] = Written(value)
		return twice
	})
	return out, err
}

func parsed(raw []byte) (gjson.Result, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case !utf8.Valid(raw):
		return gjson.Result{}, ErrUTF8
	case !json.Valid(raw):
		return gjson.Result{}, ErrJSON
	}
	return gjson.ParseBytes(raw), nil
}

func valueOf(v gjson.Result, depth int) (Value, error) {
	switch {
	case depth > maxDepth && (v.IsObject() || v.IsArray()):
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	case v.IsObject():
		return objectOf(v, depth)
	case v.IsArray():
		return listOf(v, depth)
	}
	return scalarOf(v), nil
}

func scalarOf(v gjson.Result) Value {
	switch v.Type {
	case gjson.String:
		return strings.Clone(v.String())
	case gjson.Null:
		return Null("")
	case gjson.True, gjson.False:
		return Boolean(strings.Clone(v.Raw))
	}
	return Number(strings.Clone(v.Raw))
}

func listOf(v gjson.Result, depth int) (out Array, err error) {
	out = Array{}
	v.ForEach(func(_, item gjson.Result) bool {
		var one Value
		one, err = valueOf(item, depth+1)
		out = append(out, one)
		return err == nil
	})
	return out, err
}

func objectOf(v gjson.Result, depth int) (Object, error) {
	out, seen := Object{}, map[string]bool{}
	err := members(v, depth, func(name string, value Value) (twice bool) {
		twice, seen[name] = seen[name], true
		out = append(out, Member{name, value})
		return twice
	})
	return out, err
}

// members takes the members of an object; take says whether a name came before.
func members(v gjson.Result, depth int, take func(name string, value Value) (twice bool)) (err error) {
	v.ForEach(func(key, item gjson.Result) bool {
		name := strings.Clone(key.String())
		var value Value
		if value, err = valueOf(item, depth+1); err == nil && take(name, value) {
			err = &TwiceError{name}
		}
		return err == nil
	})
	return err
}

// Written returns a value in the form of a variable: a list, an object, or the spelling of any other value.
func Written(v Value) Value {
	switch v := v.(type) {
	case Number:
		return string(v)
	case Boolean:
		return string(v)
	case Null:
		return string(v)
	}
	return v
}
