package wirejson

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

type reply struct {
	Items []struct {
		Content struct {
			Parts []struct {
				Text *string `json:"text"`
			} `json:"parts"`
		} `json:"content"`
		Reason *string `json:"reason"`
		Index  int     `json:"index"`
	} `json:"items"`
	Usage *struct {
		Count json.Number `json:"count"`
	} `json:"usage"`
	Blocked bool   `json:"blocked"`
	Model   string `json:"model"`
}

// What is decoded, and what counts as JSON, is the same as for encoding/json. Texts of replies are damaged in a million
// ways, and a test takes some of them.
func TestDecodeIsThatOfEncodingJSON(t *testing.T) {
	t.Parallel()
	replies := []string{
		`{"items":[{"content":{"parts":[{"text":"The \ud83d\ude00 \u00e9 caf\n"}]},"reason":"STOP","index":0}],"usage":{"count":12},"model":"m"}`,
		`{"items": [ {"reason" : "SAFETY", "index":-1e2}],"blocked":true,"model":null}`,
		`{"items":[{"content":{"parts":[{"text":null},{"text":"\ud800"},{"text":"\udc00\ud800\u0041"}]}}],"items":[{"index":3}],"usage":null}`,
	}
	pieces := []string{
		`\ud800`, `\u0000`, `\`, `"`, `,`, `}`, `{`, `[`, `]`, `null`, `true`, `1e5`, `-`, `0`, `01`, `.5`, `1.`, "\n", "\x00", "\t", `\x`,
		`\u12`, ` `, "\xff", "é", `:`, `"text"`, `"index":1,`, `//`, `1e999`, `99999999999999999999`, ``,
	}
	r := rand.New(rand.NewPCG(1, 2)) // the same in every run
	decoded := 0
	for range 100_000 {
		text := replies[r.IntN(len(replies))]
		for range r.IntN(4) {
			at := r.IntN(len(text) + 1)
			rest := min(at+r.IntN(3), len(text))
			text = text[:at] + pieces[r.IntN(len(pieces))] + text[rest:]
		}
		data := []byte(text)
		expect.Same(t, text+": valid", Valid(data), json.Valid(data))
		var got, want reply
		if !utf8.Valid(data) || Decode(data, &got) != nil {
			continue
		}
		decoded++
		if err := json.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v, %v", text, got, want, err)
		}
	}
	if decoded < 10_000 {
		t.Errorf("got %d texts that were decoded, want at least 10,000", decoded)
	}
}
