package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzContents holds that the contents of a request are JSON, as long as predicted, and decode to the texts.
func FuzzContents(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s, s, []byte(s))
	}
	f.Fuzz(func(t *testing.T, role, text string, image []byte) {
		in := []eval.Content{{Role: role, Parts: []eval.Part{
			eval.TextPart{Text: text},
			eval.ImagePart{Image: &eval.Image{MIMEType: text, Data: image}},
			eval.TextPart{},
			eval.DataPart{Data: &eval.Image{MIMEType: role, Data: image}},
			eval.ResultPart{Result: &eval.CallResult{ID: role, Name: text, Text: text}},
		}}}
		data := Append(nil, in)
		expect.Same(t, "size", Size(in), len(data))
		var out []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text  string `json:"text"`
				Image *struct {
					MIMEType string `json:"mime_type"`
					Data     []byte `json:"data"`
				} `json:"inline_data"`
			} `json:"parts"`
		}
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if p := out[0].Parts; out[0].Role != inJSON(role) || len(p) != 5 || p[0].Text != inJSON(text) || p[1].Image.MIMEType != inJSON(text) ||
			!bytes.Equal(p[1].Image.Data, image) || !bytes.Equal(p[3].Image.Data, image) {
			t.Errorf("%+v, want the text and the images as they were", out)
		}
	})
}

// inJSON is a text as JSON can hold it.
func inJSON(s string) string { return string([]rune(s)) }
