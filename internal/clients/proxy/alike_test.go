package proxy_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/anthropic"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/openai"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// growing are streams as vendors send them, long enough for chunks that are alike.
var growing = map[string][]string{
	"openai": {
		`data: {"id":"a","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":null}],"usage":null,"obfuscation":"PAD"}`,
		`data: {"id":"a","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"TEXT"}}]}}]}`,
		`data: {"id":"a","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"TEXT"}}]}}],"obfuscation":"PAD"}`,
		`data: {"id":"a","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":""}}]}}],"obfuscation":"PAD"}`,
		`data: {"id":"a","choices":[{"index":1,"delta":{"content":"TEXT"}}]}`,
		`data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":NUM}}`,
	},
	"responses": {
		`data: {"type":"response.output_text.delta","sequence_number":NUM,"output_index":0,"delta":"TEXT","obfuscation":"PAD"}`,
		`data: {"type":"response.function_call_arguments.delta","sequence_number":NUM,"output_index":1,"delta":"TEXT"}`,
		`data: {"type":"response.reasoning_summary_text.delta","sequence_number":NUM,"output_index":1,"delta":"TEXT"}`,
		`data: {"type":"response.output_text.done","output_index":0,"text":"TEXT"}`,
		`data: {"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":NUM,"output_tokens":9}}}`,
	},
	"anthropic": {
		`data: {"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":NUM}}}`,
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}   }`,
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"} }`,
		`data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"TEXT"}}`,
		`data: {"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"TEXT"}}`,
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":NUM}}`,
	},
	"generative": {
		`data: {"candidates":[{"content":{"parts":[{"text":"TEXT"}],"role":"model"},"index":0}],"usageMetadata":` +
			`{"promptTokenCount":9,"candidatesTokenCount":NUM,"totalTokenCount":NUM}}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"TEXT"}]}}],"usageMetadata":{"promptTokenCount":9,"totalTokenCount":NUM}}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"TEXT"}]}}],"usageMetadata":{"candidatesTokenCount":NUM,"totalTokenCount":0}}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"TEXT","thought":true}]}}]}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"TEXT"}]},"safetyRatings":[{"category":"A","probability":"LOW"}]}]}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"TEXT"}]},"finishReason":"STOP"}],"usageMetadata":{"totalTokenCount":NUM}}`,
	},
}

// Events that look like most, and chunks that are like the one before, are read like others: the answer is the same where none is, since
// each chunk has other blanks and lines end in another way.
func TestStreamsOfAlikeChunksReadLikeOthers(t *testing.T) {
	t.Parallel()
	parse := map[string]func([]byte) (*eval.Response, error){
		"openai": openai.ParseResponse, "compatible": openai.ParseResponse, "responses": openai.ParseResponses,
		"anthropic": anthropic.ParseResponse, "generative": generative.ParseReply,
	}
	answers, random := map[string]int{}, rand.New(rand.NewPCG(1, 2))
	compare := func(name, protocol string, lines []string) {
		spaced := slices.Clone(lines)
		for i, one := range lines {
			if rest, ok := strings.CutPrefix(one, "data: {"); ok {
				spaced[i] = "data: {" + strings.Repeat(" ", i+1) + rest
			}
		}
		got, err := parse[protocol]([]byte(strings.Join(lines, "\n")))
		want, wantErr := parse[protocol]([]byte(strings.Join(spaced, "\r\n")))
		if err != nil && wantErr != nil {
			expect.Same(t, name+": the kind of error", eval.AsError(err).Kind, eval.AsError(wantErr).Kind)
			return
		}
		answers[protocol]++
		expect.Same(t, name+": the error", err, wantErr)
		expect.Same(t, name, got, want)
	}
	files, err := filepath.Glob("../../testing/replies/data/*/*.sse")
	expect.OK(t, err)
	texts, err := filepath.Glob("../generative/testdata/streaming-*.txt")
	expect.OK(t, err)
	for _, file := range append(files, texts...) {
		data, err := os.ReadFile(file)
		expect.OK(t, err)
		protocol := filepath.Base(filepath.Dir(file))
		if protocol == "testdata" {
			protocol = "generative"
		}
		lines := strings.Split(string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))), "\n")
		compare(file, protocol, lines)
		for range 6 { // with chunks that come again, and others that do not come
			changed := slices.Clone(lines)
			from := random.IntN(len(lines))
			to := min(from+random.IntN(6), len(lines))
			changed = slices.Insert(changed, random.IntN(len(lines)), lines[from:to]...)
			compare(file+" changed", protocol, slices.Delete(changed, from, from+random.IntN(2)))
		}
	}
	said := []string{
		`Hello`, ` wor`, `ld\n`, `\u00e4 \"quoted\" \ud83d\ude00`, ``, `ü`, `\\`, `{\"a\":`, `1}`, `\ud83d`, "\x00", "\xff", `"`, `\x`,
	}
	for protocol, chunks := range growing {
		for i := range 500 {
			texts := said[:9]
			if i%5 == 0 {
				texts = said
			}
			lines := []string{chunks[0], ""}
			for len(lines) < 30 {
				chunk := chunks[1+random.IntN(len(chunks)-2)]
				for range 1 + random.IntN(5) {
					lines = append(lines, chunk, "")
				}
			}
			lines = append(lines, chunks[len(chunks)-1], "", "")
			for i := range lines {
				lines[i] = strings.NewReplacer(
					"TEXT", texts[random.IntN(len(texts))], "PAD", "abcdefgh"[:random.IntN(8)],
					"NUM", fmt.Sprint([]int{0, 1, 20, 300, 1e9, 1e12}[random.IntN(6)]),
				).Replace(lines[i])
			}
			compare(strings.Join(lines, "\n"), protocol, lines)
		}
	}
	for protocol, n := range answers {
		if n < 100 && growing[protocol] != nil {
			t.Errorf("%d streams of %s have an answer, want more", n, protocol)
		}
	}
}
