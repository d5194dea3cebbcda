package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A secret that only shows once an answer is put together, or read a second time, shows nowhere.
func TestSecretsInsideAnswersAreHidden(t *testing.T) {
	t.Parallel()
	const key = `canary"of/the+key`
	hidden := wire.NewSecrets(key)
	read := NewReader(eval.Reading{Answer: ".t", ToolCalls: ".c // []", Error: ".e"})
	quoted := `"{\"a\": \"canary\\\"of/the+key\"}"` // JSON in a text of JSON
	for _, body := range []string{
		`{"t": ` + quoted + `, "c": [{"name": "f", "args": {"a": "canary\"of\/the+key"}}]}`,
		`{"t": "x", "c": [{"name": ` + quoted + `, "id": ` + quoted + `}]}`,
		`{"e": ` + quoted + `}`,
	} {
		resp, err := read.body([]byte(body), "application/json")
		var shown []byte
		if err != nil {
			shown = []byte(unshownError(err, hidden).Error())
		} else {
			for i := range resp.Candidates {
				resp.Candidates[i].Raw = nil // it is cleaned as it comes
			}
			shown, err = json.Marshal(unshown(resp, hidden))
			expect.OK(t, err)
		}
		if strings.Contains(string(shown), "the+key") || !strings.Contains(string(shown), "[key]") {
			t.Errorf("%s, want [key] instead of the key\nshows %s", body, shown)
		}
	}
	out := &assembly{Reader: NewReader(eval.Reading{Answer: ".t", ToolCalls: ".c", Stream: true})}
	for _, event := range []string{`{"t": "canary\"of"}`, `{"t": "/the+key"}`, `{"c": [{"name": "f"}]}`} {
		_, err := out.Add([]byte(event))
		expect.OK(t, err)
	}
	resp, err := out.response()
	expect.OK(t, err)
	c := unshown(resp, hidden).Candidates[0]
	expect.Same(t, "kept as it came", string(c.Raw), "")
	expect.Same(t, "text of the parts", c.Pieces[len(c.Pieces)-1], eval.Piece(eval.TextPiece{Text: "[key]"}))
}

// An expression that gives no number JSON has finds nothing: an empty text would be an answer.
func TestNaNIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, reading := range []eval.Reading{{Answer: "nan"}, {Answer: ".t", ToolCalls: "nan"}, {Answer: ".t", FinishReason: "nan"}} {
		_, err := NewReader(reading).body([]byte(`{"t": "x"}`), "application/json")
		expect.Contains(t, fmt.Sprintf("%+v", reading), fmt.Sprint(err), "finds nothing")
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindMalformed {
			t.Errorf("%+v: got %v, want an error of the kind %s", reading, err, eval.KindMalformed)
		}
	}
}
