package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

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
