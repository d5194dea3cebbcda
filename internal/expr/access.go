package expr

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/evalrun/evalrun/eval"
)

// The functions with which templates read parts of values. text/template reads Go maps, which have no
// order.
const (
	atName        = "__at"    // names after a value, as in .a.b
	templatePairs = "__pairs" // what `range $key, $value :=` iterates over
	itemsName     = "__items" // what any other range iterates over
)

var access = template.FuncMap{atName: at, templatePairs: pairs, itemsName: items}

// missingError is the error for a name that a mapping lacks. Its offset is that of the name.
type missingError struct {
	offset  int
	name    string
	message string
}

func (e *missingError) Error() string { return e.message }

// at reads a chain of names in a value. In a list, it reads them in each item.
func at(v eval.Value, offset int, names ...string) (eval.Value, error) {
	for i, name := range names {
		if list, ok := v.(eval.Array); ok {
			return each(list, offset, names[i:])
		}
		found, named, there := eval.Get(v, name)
		switch {
		case !named:
			return nil, &missingError{offset, name, fmt.Sprintf("`.%s` takes a mapping, and this is %s", name, describedValue(v))}
		case !there:
			return nil, &missingError{offset, name, fmt.Sprintf("there is no `%s`%s", name, insteadOf(v))}
		}
		v = found
		offset += len(".") + len(name)
	}
	return reached(v), nil
}

// each reads names in all items of a list: `.answers.text` is the list of the texts of all answers.
func each(list eval.Array, offset int, names []string) (eval.Value, error) {
	out := make(eval.Array, len(list))
	for i, item := range list {
		if _, named, _ := eval.Get(item, names[0]); !named {
			message := fmt.Sprintf("`.%s` takes a mapping, and item %d of the list is %s", names[0], i, describedValue(item))
			return nil, &missingError{offset, names[0], message}
		}
		found, err := at(item, offset, names...)
		if err != nil {
			return nil, err
		}
		if truth, ok := found.(bool); ok {
			found = eval.Boolean(strconv.FormatBool(truth))
		}
		out[i] = found
	}
	return out, nil
}

// maxNamed bounds the names of a mapping that a message lists.
const maxNamed = 8

// insteadOf lists the names of a mapping, as a hint.
func insteadOf(v eval.Value) string {
	o, ok := v.(eval.Object)
	if !ok || len(o) == 0 || len(o) > maxNamed {
		return " in the mapping"
	}
	names := make([]string, len(o))
	for i, m := range o {
		names[i] = m.Name
	}
	return ", only " + strings.Join(names, ", ")
}

// describedValue returns the type of a value, as messages name it.
func describedValue(v eval.Value) string {
	switch v.(type) {
	case eval.Array:
		return "a list"
	case eval.Object, eval.Dict:
		return "a mapping"
	case eval.Null:
		return "null"
	case eval.Number:
		return "a number"
	case eval.Boolean, bool:
		return "true or false"
	}
	return "a text"
}

// reached converts a value for `if`: false and null count as false, however the suite spells them.
func reached(v eval.Value) eval.Value {
	switch v := v.(type) {
	case eval.Boolean:
		return v.True()
	case eval.Null:
		return eval.Null("")
	}
	return v
}

// pairs returns the entries of a mapping in order, or the items of a list with their indexes.
func pairs(v eval.Value) (any, error) {
	in, ok := v.(eval.Object)
	if !ok {
		return items(v)
	}
	return iter.Seq2[string, any](func(yield func(string, any) bool) {
		for _, m := range in {
			if !yield(m.Name, reached(m.Value)) {
				return
			}
		}
	}), nil
}

func items(v eval.Value) (any, error) {
	switch in := v.(type) {
	case eval.Object:
		out := make([]any, len(in))
		for i, m := range in {
			out[i] = reached(m.Value)
		}
		return out, nil
	case eval.Array:
		out := make([]any, len(in))
		for i, item := range in {
			out[i] = reached(item)
		}
		return out, nil
	case eval.Dict:
		return in, nil
	}
	return nil, fmt.Errorf("range takes a list or a mapping, and this is %s", describedValue(v))
}

// index is stricter than the built-in function: a missing key is an error.
func index(v eval.Value, keys ...eval.Value) (eval.Value, error) {
	var err error
	for _, k := range keys {
		if v, err = templateItem(v, fmt.Sprint(k)); err != nil {
			return nil, err
		}
	}
	return reached(v), nil
}

func templateItem(v eval.Value, key string) (eval.Value, error) {
	if list, ok := v.(eval.Array); ok {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(list) {
			return nil, fmt.Errorf("no item %s in a list of %d", key, len(list))
		}
		return list[i], nil
	}
	found, named, there := eval.Get(v, key)
	switch {
	case !named:
		return nil, errors.New("index takes a list or a mapping")
	case !there:
		return nil, fmt.Errorf("no key %q", key)
	}
	return found, nil
}

// reach returns a node that reads names in the value of another node.
func reach(into parse.Node, offset int, names []string) parse.Node {
	pos := into.Position()
	where := strconv.Itoa(offset)
	args := []parse.Node{
		parse.NewIdentifier(atName).SetPos(pos), into,
		&parse.NumberNode{NodeType: parse.NodeNumber, Pos: pos, IsInt: true, Int64: int64(offset), Text: where},
	}
	for _, name := range names {
		args = append(args, &parse.StringNode{NodeType: parse.NodeString, Pos: pos, Quoted: strconv.Quote(name), Text: name})
	}
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{command(pos, args...)}}
}

func command(pos parse.Pos, args ...parse.Node) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: args}
}

// templateCall appends a function to a pipe.
func templateCall(p *parse.PipeNode, name string, args ...parse.Node) {
	p.Cmds = append(p.Cmds, command(p.Pos, append([]parse.Node{parse.NewIdentifier(name).SetPos(p.Pos)}, args...)...))
}
