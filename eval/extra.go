package eval

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Extra holds fields that evalrun does not know, each as compact JSON. A service may indent what it sends, and a record of
// the run file is one line, so NewExtra and UnmarshalJSON remove white space between tokens.
type Extra map[string]json.RawMessage

// NewExtra takes over the fields of a decoded object; nil when there are none. Values that are not JSON are dropped: no decoder
// returns any.
func NewExtra(fields map[string]json.RawMessage) Extra {
	if len(fields) == 0 {
		return nil
	}
	out := make(Extra, len(fields))
	for name, value := range fields {
		if compact, ok := compactJSON(value); ok {
			out[name] = compact
		}
	}
	return out
}

// UnmarshalJSON reads an object, which may be indented.
func (x *Extra) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	*x = NewExtra(fields)
	return nil
}

// Join adds the fields of a later chunk of the same answer; of two values of one field the later counts.
func (x Extra) Join(later Extra) Extra {
	if len(later) == 0 {
		return x
	}
	out := maps.Clone(x)
	if out == nil {
		out = Extra{}
	}
	maps.Copy(out, later)
	return out
}

func compactJSON(raw []byte) (json.RawMessage, bool) {
	if !bytes.ContainsAny(raw, " \t\r\n") {
		return slices.Clone(raw), json.Valid(raw)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil, false
	}
	return b.Bytes(), true
}
