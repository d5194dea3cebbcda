package eval

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// Whatever way unknown fields come in, they are compact: a record of the run file is one line.
func TestExtraIsCompact(t *testing.T) {
	t.Parallel()
	const indented = "{\n  \"a\": [\n    1,\n    \"two words\\n\"\n  ],\n  \"b\": null\n}"
	const want = `{"a":[1,"two words\n"],"b":null}`
	var read Extra
	if err := json.Unmarshal([]byte(indented), &read); err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(indented), &fields); err != nil {
		t.Fatal(err)
	}
	var config GenerationConfig
	if err := json.Unmarshal([]byte(indented), &config); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]Extra{"read": read, "made": NewExtra(fields), "config": config.Extra, "joined": NewExtra(nil).Join(read)} {
		line, err := wirejson.Append(nil, x)
		if err != nil || string(line) != want {
			t.Errorf("%s: got %s, %v; want %s", name, line, err, want)
		}
	}
	if x := NewExtra(map[string]json.RawMessage{}); x != nil {
		t.Errorf("no fields: got %v, want nil", x)
	}
}
