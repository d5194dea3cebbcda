package app

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// FuzzReader checks that an answer reads the same from a file as it did when it came, in one piece and in a stream of
// two events. Everything else is an error of type *eval.Error.
func FuzzReader(f *testing.F) {
	for _, s := range hostile.Strings() {
		quoted := string(wirejson.AppendString(nil, s))
		f.Add([]byte(s))
		f.Add([]byte(`{"a": ` + quoted + `, "c": [{"name": ` + quoted + `}], "r": ` + quoted + `}`))
	}
	for _, s := range []string{
		"{\n \"a\": 1.0}\n", `{"a": {"b": 1e2}, "u": {"inputTokens": 1, "outputTokens": 2}}`, `"text"`, " plain ", "[1, 2]",
		`{"a": "", "r": "stop"}`,
	} {
		f.Add([]byte(s))
	}
	readings := []eval.Reading{
		{}, {Answer: ".a"}, {Answer: ".."}, {Answer: ".a?", ToolCalls: ".c[]?", FinishReason: `.r // "stop"`, Usage: ".u?", Error: ".e?"},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, reading := range readings {
			r := NewReader(reading)
			resp, err := r.body(data, "")
			checkReread(t, r, resp, err)
			reading.Stream = true
			events := &assembly{Reader: NewReader(reading)}
			for range 2 {
				if _, err = events.Add(data); err != nil {
					break
				}
			}
			if err == nil {
				resp, err = events.response()
			}
			checkReread(t, events.Reader, resp, err)
		}
	})
}

// checkReread reads an answer again as it is after it was in a file.
func checkReread(t *testing.T, r *Reader, resp *eval.Response, err error) {
	t.Helper()
	if err != nil {
		if e := eval.AsError(err); e.Kind == "" || e.Message == "" || e.Kind == eval.KindTransport {
			t.Fatalf("got %+v, want an error of an answer", e)
		}
		return
	}
	file, err := wirejson.Marshal(resp)
	expect.OK(t, err)
	var kept eval.Response
	expect.OK(t, json.Unmarshal(file, &kept))
	second, err := r.Reread(&kept)
	expect.OK(t, err)
	expect.Same(t, "usage", second.Usage, resp.Usage)
	second.Usage, resp.Usage = nil, nil
	expect.Same(t, "answer", asFile(t, second), asFile(t, resp))
}

func asFile(t *testing.T, resp *eval.Response) string {
	t.Helper()
	out, err := json.Marshal(resp)
	expect.OK(t, err)
	return string(out)
}
