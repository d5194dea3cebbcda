package dataset

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/tidwall/gjson"
)

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
