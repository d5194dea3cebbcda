package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
)

// maxDocument bounds a JSON file whose rows an expression selects, in bytes. The file is read as a whole,
// because members around a row may follow it.
const maxDocument = 256 << 20

type document struct {
	text  string
	rows  *expr.Rows
	yield func(DataRow, error) bool
	count int // of rows that were selected

	lines []int // the line on which each block of text begins
}

// block is the distance between offsets whose line is known, in bytes.
const block = 4 << 10

// whole reads a JSON file whose rows an expression selects.
func whole(in *countedReader, rows *expr.Rows, yield func(DataRow, error) bool) {
	text, err := io.ReadAll(io.LimitReader(in.r, maxDocument+1))
	switch {
	case err != nil:
		yield(DataRow{}, err)
	case len(text) > maxDocument:
		yield(DataRow{}, &LineError{
			Message: fmt.Sprintf("the file has more than %d bytes, which `rows` would have to hold at once", maxDocument),
			Hint:    "write one row a line, which takes no memory: jq -c '.data[]' FILE > rows.jsonl",
		})
	default:
		documentOf(text, 1, rows, yield)
	}
}

// documentOf yields the rows of a document that begins on a line. It reports whether to continue.
func documentOf(text []byte, line int, rows *expr.Rows, yield func(DataRow, error) bool) bool {
	d := &document{text: string(text), rows: rows, yield: yield}
	for i := 0; i <= len(text); i += block {
		d.lines = append(d.lines, line)
		line += bytes.Count(text[i:min(i+block, len(text))], []byte("\n"))
	}
	if err := d.check(text); err != nil {
		return yield(DataRow{}, err)
	}
	return d.read()
}

func (d *document) check(text []byte) error {
	var bad *json.SyntaxError
	switch {
	case strings.TrimSpace(d.text) == "":
		return &LineError{Line: d.lineAt(0), Message: "the file is empty"}
	case !utf8.Valid(text):
		return notUTF8(d.lineAt(validUTF8(d.text)), 0)
	case json.Valid(text):
		return nil
	}
	offset := 0
	if errors.As(json.Unmarshal(text, new(json.RawMessage)), &bad) {
		offset = int(bad.Offset)
	}
	return &LineError{Line: d.lineAt(offset), Message: "this is not JSON"}
}

// validUTF8 returns the length of the valid UTF-8 at the beginning of a text.
func validUTF8(text string) int {
	for i, c := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); c == utf8.RuneError && size == 1 {
			return i
		}
	}
	return len(text)
}

// read runs the expression on each item of its list, or on the document.
func (d *document) read() bool {
	at := gjson.Parse(d.text)
	keys, each := d.rows.List()
	if !each {
		return d.item(at, nil)
	}
	var in *treeNode
	for i, key := range keys {
		here, names := at, []string{}
		here.ForEach(func(name, value gjson.Result) bool {
			names = append(names, name.Str)
			if here.IsObject() && name.Str == key {
				at = value
			}
			return at.Index == here.Index
		})
		if at.Index == here.Index { // the value of a key begins after its object
			return d.noKey(here, keys[:i+1], names)
		}
		in = &treeNode{raw: here, in: in}
	}
	return d.items(at, in, keys)
}

// items runs the expression on each value of a list or an object.
func (d *document) items(list gjson.Result, in *treeNode, keys []string) (more bool) {
	switch {
	case list.IsObject():
		in = &treeNode{raw: list, in: in}
	case !list.IsArray():
		return d.yield(DataRow{}, &LineError{
			Line: d.lineAt(list.Index), Message: fmt.Sprintf("`rows` takes the items of .%s, which is not a list",
				strings.Join(keys, ".")),
		})
	}
	more = true
	list.ForEach(func(_, item gjson.Result) bool {
		more = d.item(item, in)
		return more
	})
	return more
}

// noKey returns the error for a path whose last key is missing. names has the keys that exist.
func (d *document) noKey(here gjson.Result, keys, names []string) bool {
	e := &LineError{
		Line:    d.lineAt(here.Index),
		Message: fmt.Sprintf("`rows` takes the items of .%s, which the file lacks", strings.Join(keys, ".")),
	}
	switch {
	case here.IsArray():
		e.Hint = "this is a list: begin with .[]"
	case here.IsObject():
		if len(names) > maxKeys {
			names = append(names[:maxKeys:maxKeys], "…")
		}
		e.Hint = "the object has: " + strings.Join(names, ", ")
	}
	return d.yield(DataRow{}, e)
}

const maxKeys = 10

// item runs the expression on a value; in is the object around it.
func (d *document) item(v gjson.Result, in *treeNode) bool {
	line := d.lineAt(v.Index)
	t := tree{nodes: map[uintptr]*treeNode{}}
	value, err := t.value(v, in, 1)
	if err == nil && !d.rows.OnlyPicks() {
		if why := expr.Unreadable(value); why != "" {
			err = errors.New(why + " cannot be computed with")
		}
	}
	if err != nil {
		return d.yield(DataRow{}, &LineError{Line: line, Message: err.Error()})
	}
	for one, err := range d.rows.Run(value) {
		d.count++
		if err != nil {
			return d.yield(DataRow{}, d.failed(line, err))
		}
		row, err := d.row(one, &t, line)
		if !d.yield(row, err) {
			return false
		}
	}
	return true
}

func (d *document) failed(line int, err error) error {
	var bound expr.BoundError
	if errors.As(err, &bound) {
		e := &LineError{Line: line, Message: "`rows` " + bound.Error()}
		if _, each := d.rows.List(); !each {
			e.Hint = "begin it with the list that holds the rows, .data[] | …: then it runs on one item at a time"
		}
		return e
	}
	const hint = "`?` after a step passes over what lacks it: .data[].items[]?"
	return &LineError{Line: line, Message: "`rows` fails here: " + err.Error(), Hint: hint}
}

func (d *document) row(v any, t *tree, line int) (DataRow, error) {
	made, ok := v.(map[string]any)
	if !ok {
		return DataRow{}, &LineError{
			line, 0, fmt.Sprintf("`rows` selects %s as row %d, and a row is an object", kindOf(v), d.count),
			"take the items of a list by [], or make an object: .data[] | {question: .}",
		}
	}
	n := t.nodes[pointer(made)]
	if n == nil {
		text, err := t.json(nil, made)
		if err != nil {
			return DataRow{}, tooLong(line)
		}
		vars, err := object(text, line)
		return DataRow{Line: line, Vars: vars}, err
	}
	line = d.lineAt(n.raw.Index)
	vars, err := object([]byte(n.raw.Raw), line)
	if err != nil {
		return DataRow{}, err
	}
	return d.inherit(DataRow{Line: line, Vars: vars}, n)
}

// inherit adds the texts, numbers and booleans of the objects around a row, unless the row has a value of
// that name.
func (d *document) inherit(row DataRow, n *treeNode) (DataRow, error) {
	for around := n.in; around != nil; around = around.in {
		if around.lent == nil {
			lent, err := object([]byte(scalars(around.raw)), d.lineAt(around.raw.Index))
			if err != nil {
				return DataRow{}, err
			}
			around.lent = lent
		}
		for name, v := range around.lent {
			if _, own := row.Vars[name]; !own {
				row.Vars[name] = v
				row.LentName = row.LentName || name == "name"
			}
		}
	}
	return row, nil
}

// scalars returns an object without its lists and objects, as JSON.
func scalars(v gjson.Result) string {
	var b strings.Builder
	b.WriteByte('{')
	v.ForEach(func(key, item gjson.Result) bool {
		if !item.IsArray() && !item.IsObject() {
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			b.WriteString(key.Raw + ":" + item.Raw)
		}
		return true
	})
	return b.String() + "}"
}

// lineAt counts newlines from the beginning of the block with the offset.
func (d *document) lineAt(offset int) int {
	known := offset / block
	return d.lines[known] + strings.Count(d.text[known*block:offset], "\n")
}

// kindOf returns a type of JSON as messages name it.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	}
	return "a number"
}

// maxDepth bounds how deep an item may nest, because each level parses its content again.
const maxDepth = 64

// treeNode is an object of a document. It is found again by the address of its map: an expression that only
// selects an object returns the same map.
type treeNode struct {
	raw   gjson.Result
	value map[string]any // kept so that no other map gets its address
	in    *treeNode      // the object around it; nil if none
	lent  eval.Dict
}

// tree is an item as a Go value, with its objects by the addresses of their maps.
type tree struct{ nodes map[uintptr]*treeNode }

func pointer(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }

func (t *tree) value(v gjson.Result, in *treeNode, depth int) (out any, err error) {
	switch {
	case depth > maxDepth && (v.IsObject() || v.IsArray()):
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	case v.IsObject():
		return t.object(v, in, depth)
	case v.IsArray():
		items := []any{}
		v.ForEach(func(_, item gjson.Result) bool {
			var one any
			one, err = t.value(item, in, depth+1)
			items = append(items, one)
			return err == nil
		})
		return items, err
	case v.Type == gjson.Number:
		return json.Number(v.Raw), nil
	}
	return v.Value(), nil
}

func (t *tree) object(v gjson.Result, in *treeNode, depth int) (out map[string]any, err error) {
	n := &treeNode{raw: v, value: map[string]any{}, in: in}
	t.nodes[pointer(n.value)] = n
	v.ForEach(func(key, item gjson.Result) bool {
		n.value[key.Str], err = t.value(item, n, depth+1)
		return err == nil
	})
	return n.value, err
}

// json appends a result of the expression as JSON. Objects of the file are copied from it, so that their
// keys stay in order. A result above MaxRow is errLong.
func (t *tree) json(dst []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case map[string]any:
		if n := t.nodes[pointer(v)]; n != nil {
			dst = append(dst, n.raw.Raw...)
		} else {
			dst, err = t.members(dst, v)
		}
	case []any:
		dst, err = t.items(dst, v)
	default:
		room := MaxRow
		var text []byte
		if text, err = expr.JSON(v, &room); room < 0 {
			return nil, errLong
		}
		dst = append(dst, text...)
	}
	if err == nil && len(dst) > MaxRow {
		err = errLong
	}
	return dst, err
}

func (t *tree) members(dst []byte, v map[string]any) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, key := range slices.Sorted(maps.Keys(v)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, _ := json.Marshal(key) // a string always encodes
		if dst, err = t.json(append(append(dst, name...), ':'), v[key]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (t *tree) items(dst []byte, v []any) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, item := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = t.json(dst, item); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}
