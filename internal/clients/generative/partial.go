package generative

import (
	"cmp"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/internal/clients/wire"
)

// partialCall joins the parts of a call whose arguments are streamed: the first one names the function, and each of the
// others adds values at paths in the arguments.
type partialCall struct {
	around wire.Fields // the first part, without the call; nil if there is no open call
	call   wire.Fields
	args   any
	open   map[string]bool // paths with a text that continues
}

// join returns a part as it is, or a call that the part completes.
func (c *partialCall) join(p answerPart) ([]answerPart, error) {
	if p.partial == nil {
		done, err := c.end()
		return append(done, p), err
	}
	f, names := p.partial, wire.Fields{}
	var done []answerPart
	var pieces []wire.Fields
	var continues bool
	if f["name"] != nil {
		var err error
		if done, err = c.end(); err != nil {
			return nil, err
		}
		_ = wire.Read(p.raw, &names) // was read before
		delete(names, "functionCall")
		c.around, c.call, c.open = names, maps.Clone(f), map[string]bool{}
		_ = wire.Read(f["args"], &c.args) // usually none, and checked with the whole call
	}
	if err := cmp.Or(f.Take("partialArgs", &pieces), f.Take("willContinue", &continues)); err != nil {
		return nil, err
	}
	if c.around == nil {
		if len(f) == 0 && pieces == nil && !continues { // says that no more arguments follow
			return []answerPart{p}, nil
		}
		return nil, &wire.ShapeError{Field: "functionCall.name", Found: "nothing"}
	}
	for _, piece := range pieces {
		if err := c.add(piece); err != nil {
			return nil, err
		}
	}
	if continues {
		return done, nil
	}
	whole, err := c.end()
	return append(done, whole...), err
}

// end returns the open call as a part, if there is one.
func (c *partialCall) end() ([]answerPart, error) {
	if c.around == nil {
		return nil, nil
	}
	delete(c.call, "partialArgs")
	delete(c.call, "willContinue")
	if c.args != nil {
		c.call["args"] = wire.Encode(c.args)
	}
	c.around["functionCall"] = wire.Encode(c.call)
	whole, err := newPart(wire.Encode(c.around))
	*c = partialCall{}
	return []answerPart{whole}, err
}

// step matches a step of a path to an argument, such as those of $.stops[0]['street name'] (RFC 9535, normalized or short).
var step = regexp.MustCompile(`^(?:\.([^.\[\]]+)|\[(\d{1,4})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\])`)

// add sets the value of a piece, or continues a text.
func (c *partialCall) add(piece wire.Fields) error {
	var path string
	var continues bool
	if err := cmp.Or(piece.Take("jsonPath", &path), piece.Take("willContinue", &continues)); err != nil {
		return err
	}
	wrong := &wire.ShapeError{Field: "partialArgs.jsonPath", Found: path}
	rest, found := strings.CutPrefix(path, "$")
	if !found {
		return wrong
	}
	var steps []any // names of members, and numbers of items
	for rest != "" {
		m := step.FindStringSubmatch(rest)
		if m == nil || len(steps) >= maxSteps {
			return wrong
		}
		rest = rest[len(m[0]):]
		if m[2] != "" {
			n, _ := strconv.Atoi(m[2]) // at most four digits
			steps = append(steps, n)
			continue
		}
		steps = append(steps, cmp.Or(m[1], strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`).Replace(m[3]+m[4])))
	}
	value, err := valueOf(piece)
	if err != nil {
		return err
	}
	if text, isText := value.(string); isText && c.open[path] {
		before, _ := at(&c.args, steps).(string)
		value = before + text
	}
	c.open[path] = continues
	set(&c.args, steps, value)
	return nil
}

// maxSteps bounds the depth of arguments that are streamed.
const maxSteps = 100

func valueOf(piece wire.Fields) (any, error) {
	var text *string
	if err := piece.Take("stringValue", &text); err != nil {
		return nil, err
	}
	if text != nil {
		return *text, nil
	}
	for _, name := range []string{"numberValue", "boolValue"} {
		if raw := piece[name]; raw != nil {
			return raw, nil
		}
	}
	return nil, nil //nolint:nilnil // the value null
}

// at returns the value at a path, nil if there is none.
func at(root *any, steps []any) any {
	v := *root
	for _, one := range steps {
		switch in := v.(type) {
		case map[string]any:
			name, _ := one.(string)
			v = in[name]
		case []any:
			if n, ok := one.(int); ok && n < len(in) {
				v = in[n]
				continue
			}
			return nil
		default:
			return nil
		}
	}
	return v
}

// set puts a value at a path, with objects and lists on the way.
func set(to *any, steps []any, value any) {
	if len(steps) == 0 {
		*to = value
		return
	}
	switch one := steps[0].(type) {
	case string:
		in, ok := (*to).(map[string]any)
		if !ok {
			in = map[string]any{}
			*to = in
		}
		member := in[one]
		set(&member, steps[1:], value)
		in[one] = member
	case int:
		in, _ := (*to).([]any)
		for len(in) <= one {
			in = append(in, nil)
		}
		set(&in[one], steps[1:], value)
		*to = in
	}
}
