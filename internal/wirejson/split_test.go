package wirejson

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzSplit holds that objects, lists and texts are taken apart as encoding/json does it.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, ` { "a" : [ 1 , {"b":"]}"} , null ] , "a\u0062" : true , "" : -1.5e+3 } `, `[[],{},"",0,[[1]]]`,
		`"\ud800"`, `"é\n\"\\"`, `{"a":1,"a":{"x":"\\"}}`, "\t[\r\n1\n,\t2 ]", `{"a":"\\\\","b":"\\\""}`,
	} {
		f.Add([]byte(s))
	}
	for _, s := range hostile.Strings() {
		f.Add(append(AppendString([]byte(`{"x":`), s), '}'))
		f.Add(append(append(AppendString([]byte(`{`), s), `:[0,`...), append(AppendString(nil, s), `]}`...)...))
		f.Add(AppendString(nil, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var members map[string]json.RawMessage
		var items []json.RawMessage
		var text string
		switch first := firstByte(data); {
		case !json.Valid(data):
		case first == '{' && json.Unmarshal(data, &members) == nil:
			got := map[string]json.RawMessage{}
			for name, value := range Members(data) {
				got[string(name)] = value
			}
			if !maps.EqualFunc(got, members, equal) {
				t.Errorf("%s: got members %s, want %s", data, got, members)
			}
		case first == '[' && json.Unmarshal(data, &items) == nil:
			if got := slices.Collect(Items(data)); !slices.EqualFunc(got, items, equal) {
				t.Errorf("%s: got items %s, want %s", data, got, items)
			}
		case first == '"' && json.Unmarshal(data, &text) == nil:
			if got, ok := Text(data); got != text || !ok {
				t.Errorf("%s: got text %q, want %q", data, got, text)
			}
		}
	})
}

func equal(a, b json.RawMessage) bool { return string(a) == string(b) }

func firstByte(data []byte) byte {
	for _, c := range data {
		if c > ' ' {
			return c
		}
	}
	return 0
}
