package generative

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func streamCall() *eval.Call {
	return &eval.Call{Request: eval.Request{Model: "svc-pro", Stream: true, Contents: []eval.Content{{Parts: []eval.Part{
		eval.TextPart{Text: "hi"},
	}}}}}
}

// askStream lets a server send pieces, one write each, and reads the answer.
func askStream(t *testing.T, contentType string, pieces ...string) (*eval.Response, *eval.Error, eval.Timing) {
	t.Helper()
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
			t.Errorf("sent to %s, want streamGenerateContent", r.URL.Path)
		}
		w.Header().Set("Content-Type", contentType)
		for _, p := range pieces {
			switch p {
			case "RESET":
				panic(http.ErrAbortHandler)
			case "HOLD":
				<-r.Context().Done()
				return
			}
			fmt.Fprint(w, p)
			w.(http.Flusher).Flush()
		}
	}, nil)
	call := streamCall()
	resp, err := c.Generate(context.Background(), call)
	return resp, eval.AsError(err), call.Timing
}

func chunk(text, rest string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[{"text":` + string(wirejson.AppendString(nil, text)) + `}]}` + rest + `}]}`
}

func extra(name, value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage(value)}
}

const stop = `,"finishReason":"STOP"`

func TestStreamFormsAreReadTheSame(t *testing.T) {
	t.Parallel()
	a, b, c := chunk("one ", ""), chunk("two ", ""), chunk("three", stop)
	bytewise := strings.Split("["+a+","+b+","+c+"]", "")
	for name, test := range map[string]struct {
		contentType string
		pieces      []string
	}{
		"array":               {"application/json", []string{"[", a, "\n,\r\n", b, ",", c, "]"}},
		"array in one piece":  {"", []string{"[" + a + "," + b + "," + c + "]\n"}},
		"array byte by byte":  {"application/json", bytewise},
		"array called events": {"text/event-stream", []string{"\xEF\xBB\xBF \n[", a + "," + b + "," + c, "]"}},
		"array without end":   {"application/json", []string{"[" + a + "," + b + "," + c + "]", "    ", "RESET"}},
		"snake case":          {"application/json", []string{strings.ReplaceAll("["+a+","+b+","+c+"]", "finishReason", "finish_reason")}},
		"events":              {"text/event-stream", []string{"data: " + a + "\n\n", "data: " + b + "\n\n", "data: " + c + "\n\n"}},
		"events, CRLF": {
			"text/event-stream;charset=utf-8",
			[]string{"data: " + a + "\r\n\r", "\ndata:" + b + "\r\n\r\ndata: " + c, "\r\n\r\n"},
		},
		"events, CR": {"text/event-stream", []string{"data: " + a + "\r\rdata: " + b + "\r\rdata: " + c + "\r\r"}},
		"events, all fields": {
			"",
			[]string{": hello\n\nid: 1\nevent: x\ndata: " + a + "\nretry: 5\n\n: ping\n\ndata: " + b + "\n\ndata\n\ndata: " + c + "\n\n"},
		},
		"events, split data": {
			"text/event-stream",
			[]string{"data: " + strings.Replace(a, `,"parts"`, ",\ndata: \"parts\"", 1) + "\n\ndata: " + b + "\n\ndata: " + c + "\n\n"},
		},
		"events, no last end": {"text/event-stream", []string{"data: " + a + "\n\ndata: " + b + "\n\ndata: " + c}},
		"events, done": {
			"text/event-stream",
			[]string{"data: " + a + "\n\ndata: " + b + "\n\ndata: " + chunk("three", stop) + "\n\ndata: [DONE]\n\n"},
		},
		"events, twice done": {
			"text/event-stream",
			[]string{"data: " + a + "\n\ndata: " + b + "\n\ndata: " + c + "\n\ndata: [DONE]\n\n: bye\n\nevent: end\n\ndata: [DONE]\n\n"},
		},
		"events, other field": {"text/event-stream", []string{"data: " + a + "\nx-trace: 1\n\ndata: " + b + "\n\ndata: " + c + "\n\n"}},
		"events, held open":   {"text/event-stream", []string{"data: " + a + "\n\ndata: " + b + "\n\ndata: " + c + "\n\n", "HOLD"}},
		"objects in a row":    {"application/json", []string{a + "\n" + b + "\n" + c + "\n"}},
		"events, each with a reason": {
			"", []string{"data: " + chunk("one ", stop) + "\n\ndata: " + chunk("two ", stop) + "\n\ndata: " + c + "\n\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, e, timing := askStream(t, test.contentType, test.pieces...)
			if e != nil {
				t.Fatal(e)
			}
			if got.Text() != "one two three" || got.Candidates[0].FinishReason != "STOP" || len(got.Candidates) != 1 {
				t.Errorf("%+v, want one candidate: `one two three`, STOP", got)
			}
			if timing.Chunks != 3 || timing.FirstTokenMs <= 0 || timing.FirstTokenMs > timing.LatencyMs || timing.MaxGapMs < timing.MeanGapMs {
				t.Errorf("%+v, want 3 chunks, the first within the latency and the longest gap above the mean", timing)
			}
		})
	}
}

// Reasons, ratings, usage and feedback may come in any chunk, and candidates in any order.
func TestStreamIsAssembledFromAnyChunks(t *testing.T) {
	t.Parallel()
	got, e, timing := askStream(
		t,
		"application/json",
		`[{"promptFeedback":{"safetyRatings":[{"category":"A","probability":"LOW"}]},"usageMetadata":{"promptTokenCount":5}}`,
		`,{"candidates":[{"index":1,"content":{"parts":[{"text":"B"}]},"safetyRatings":[{"category":"A",`+
			`"probability":"HIGH","blocked":true}]}]}`,
		`,{"candidates":[{"index":0,"content":{"parts":[]}},{"index":1,"content":{"parts":[{"text":"b"},`+
			`{"functionCall":{}}]},"finishReason":"SAFETY"}],"x":1}`,
		`,{"candidates":[{"index":0,"finishReason":"MAX_TOKENS","content":{"parts":[{"text":"a"},{"text":""}]},`+
			`"citationMetadata":{"n":1}}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"totalTokenCount":7}}`,
		`,{"candidates":[{"index":1,"safetyRatings":[{"category":"A","probability":"LOW"},{"category":"B",`+
			`"probability":"ODD"}]}],"modelVersion":"v7"}]`,
	)
	if e != nil {
		t.Fatal(e)
	}
	want := &eval.Response{
		Candidates: []eval.Candidate{
			{
				Text: "a", FinishReason: "MAX_TOKENS", Extra: extra("citationMetadata", `{"n":1}`),
				Raw: json.RawMessage(`{"content":{"parts":[{"text":"a"}],"role":"model"},"citationMetadata":{"n":1},` +
					`"finishReason":"MAX_TOKENS","index":0}`),
			},
			{
				Text:         "Bb",
				FinishReason: "SAFETY",
				Pieces:       []eval.Piece{eval.TextPiece{Text: "Bb"}, eval.OtherPiece{Other: json.RawMessage(`{"functionCall":{}}`)}},
				Raw: json.RawMessage(`{"content":{"parts":[{"text":"Bb"},{"functionCall":{}}],"role":"model"},"finishReason":"SAFETY","index":1,` +
					`"safetyRatings":[{"category":"A","probability":"LOW"},{"category":"B","probability":"ODD"}]}`),
				SafetyRatings: []eval.SafetyRating{{Category: "A", Probability: "HIGH", Blocked: true}, {Category: "B", Probability: "ODD"}},
				Extra:         extra("parts", `[{"functionCall":{}}]`),
			},
		},
		PromptFeedback: &eval.PromptFeedback{SafetyRatings: []eval.SafetyRating{{Category: "A", Probability: "LOW"}}},
		ModelVersion:   "v7",
		Usage:          &eval.Usage{PromptTokens: 5, OutputTokens: 2, TotalTokens: 7, Source: eval.UsageService},
		Extra:          extra("x", "1"),
	}
	expect.Same(t, "the response", got, want)
	if timing.Chunks != 5 {
		t.Errorf("%+v, want 5 chunks", timing)
	}
}

func TestRecordedStreamsAreRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ begins, ends, reason string }{
		"failure-prompt-blocked-safety":                            {"", "", "blocked SAFETY"},
		"failure-recitation-no-content":                            {"text1", "text8", "RECITATION"},
		"success-basic-reply-long":                                 {"Okay", "", "STOP"},
		"success-basic-reply-short":                                {"The capital of Wyoming is **Cheyenne**", "", "STOP"},
		"success-citations":                                        {"Okay", "", "STOP"},
		"success-code-execution":                                   {"To find the sum of the fi", "", "STOP"},
		"success-empty-parts":                                      {"Here's a", "", "STOP"},
		"success-finish-message":                                   {"Hello", "", "STOP"},
		"success-no-content-parts":                                 {"I", "", "STOP"},
		"success-thinking-function-call-thought-summary-signature": {"", "", "TOOL_CALLS"},
		"success-thinking-reply-thought-summary":                   {"", "", "STOP"},
		"success-url-context":                                      {"\nThe", "", "STOP"},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "streaming-"+name+".txt"))
		expect.OK(t, err)
		got, e, timing := askStream(t, "text/event-stream", string(data))
		if e != nil {
			t.Errorf("%s: %s, want no error", name, e)
			continue
		}
		reason := ""
		if len(got.Candidates) > 0 {
			reason = got.Candidates[0].FinishReason
		} else {
			reason = "blocked " + got.PromptBlock()
		}
		if !strings.HasPrefix(got.Text(), want.begins) || !strings.HasSuffix(strings.TrimSpace(got.Text()), want.ends) ||
			reason != want.reason ||
			timing.Chunks != strings.Count(string(data), "data: ") {
			t.Errorf("%s: %q, %s, %d chunks, want %+v", name, got.Text(), reason, timing.Chunks, want)
		}
	}
	data, err := os.ReadFile("testdata/streaming-failure-image-rejected.txt")
	expect.OK(t, err)
	if _, e, _ := askStream(t, "application/json", string(data)); e == nil || e.Code != "INVALID_ARGUMENT" {
		t.Errorf("%v, want INVALID_ARGUMENT", e)
	}
}

func TestStreamTakesFlatMemory(t *testing.T) {
	for name, send := range map[string]func(w http.ResponseWriter){
		"100,000 chunks": func(w http.ResponseWriter) {
			for range 100_000 {
				fmt.Fprint(w, chunk("a", "")+",")
			}
		},
		"one of 8 MB": func(w http.ResponseWriter) { fmt.Fprint(w, chunk(strings.Repeat("a", 8_000_000), "")+",") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, "[")
				send(w)
				fmt.Fprint(w, chunk("", stop)+"]")
			}, nil)
			call := streamCall()
			resp, err := c.Generate(context.Background(), call)
			expect.OK(t, err)
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if n := len(resp.Text()); n < 100_000 || m.HeapAlloc > uint64(n)+30<<20 {
				t.Errorf("%d bytes of text, %d on the heap, want 100000 or more, and 30 MiB beyond it at most", n, m.HeapAlloc)
			}
			if call.Timing.Chunks < 2 {
				t.Errorf("%+v, want 2 chunks or more", call.Timing)
			}
		})
	}
}

func TestEndlessStreamEndsByItsDeadline(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 2)
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "[")
		for r.Context().Err() == nil {
			fmt.Fprint(w, chunk("and ", "")+",")
			w.(http.Flusher).Flush()
			select {
			case begun <- struct{}{}:
			default:
			}
			time.Sleep(time.Millisecond)
		}
	}, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Generate(ctx, streamCall()); eval.AsError(err).Kind != eval.KindTimeout {
		t.Errorf("got %v, want %s", err, eval.KindTimeout)
	}
	<-begun
	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		<-begun
		<-begun
		cancel()
	}()
	if _, err := c.Generate(ctx, streamCall()); eval.AsError(err).Kind != eval.KindCanceled {
		t.Errorf("got %v, want %s", err, eval.KindCanceled)
	}
}

// A server that keeps the connection open after the answer does not hold it up, nor does one that sends half the name of a field.
func TestStreamThatDoesNotCloseHoldsUpNoAnswer(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"[" + chunk("all", stop) + "]", "data: " + chunk("all", stop) + "\n\nda"} {
		c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, body)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, nil)
		resp, err := c.Generate(context.Background(), streamCall())
		if err != nil || resp.Text() != "all" {
			t.Errorf("%s: %+v %v, want `all`", body, resp, err)
		}
	}
}

// Text after an answer is an error too where its line does not end and the connection stays open.
func TestStreamWithAnEndlessLineAfterTheAnswerIsMalformed(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"[[[", `{"a":{"a":`, "Internal error"} {
		c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: "+chunk("all", stop)+"\n\n"+after)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, nil)
		if _, err := c.Generate(context.Background(), streamCall()); err == nil || eval.AsError(err).Kind != eval.KindMalformed {
			t.Errorf("%s: got %v, want %s", after, err, eval.KindMalformed)
		}
	}
}

// A key that the service spreads over chunks does not get through.
func TestStreamNeverShowsTheKey(t *testing.T) {
	t.Parallel()
	half := len(canary) / 2
	got, e, _ := askStream(t, "", "["+chunk("key: "+canary[:half], "")+","+chunk(canary[half:], stop)+"]")
	if e != nil || strings.Contains(got.Text(), canary) || !strings.Contains(got.Text(), "[key]") {
		t.Errorf("%+v %v, want the key as [key]", got, e)
	}
}

func FuzzStream(f *testing.F) {
	for _, data := range recordings(f, "streaming-*.txt") {
		f.Add(data)
	}
	f.Add([]byte("[" + chunk("a", "") + "," + chunk("b", stop) + "]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := New(wire.Server{BaseURL: "http://service.invalid", Transport: canned(data)})
		resp, err := c.Generate(context.Background(), streamCall())
		var e *eval.Error
		if (resp == nil) == (err == nil) || err != nil && !errors.As(err, &e) {
			t.Errorf("%v %v, want a response or an error of the client", resp, err)
		}
	})
}

type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c)), Request: r}, nil
}

// An index that is left out is 0, since zeros are left out, unless none is given; and a block stays a block.
func TestStreamCandidatesWithoutAnIndexAreTheFirst(t *testing.T) {
	t.Parallel()
	got, e, _ := askStream(
		t,
		"",
		`[{"candidates":[{"index":1,"content":{"parts":[{"text":"Lon"}]}},{"content":{"parts":[{"text":"Pa"}]}}]},`+
			`{"candidates":[{"content":{"parts":[{"text":"ris"}]},"finishReason":"SAFETY"},{"index":1,`+
			`"content":{"parts":[{"text":"don"}]},"finishReason":"STOP"}]},{"candidates":[{"index":0,"finishReason":"STOP"}]}]`,
	)
	if e != nil || len(got.Candidates) != 2 || got.Candidates[0].Text != "Paris" || got.Candidates[1].Text != "London" ||
		got.Candidates[0].FinishReason != "SAFETY" {
		t.Errorf("%+v %v, want Paris, blocked as SAFETY, and London", got, e)
	}
}

// The last chunk with output tokens counts, also where it has fewer.
func TestUsageOfAStreamIsThatOfItsLastChunk(t *testing.T) {
	t.Parallel()
	got, e, _ := askStream(t, "", `[{"candidates":[{"content":{"parts":[{"text":"Pa"}]}}],"usageMetadata":{"promptTokenCount":15,`+
		`"candidatesTokenCount":1,"totalTokenCount":16}},{"candidates":[{"content":{"parts":[{"text":"ris"}]},"finishReason":"STOP"}],`+
		`"usageMetadata":{"promptTokenCount":14,"candidatesTokenCount":2,"totalTokenCount":16}},{"usageMetadata":{"promptTokenCount":14}}]`)
	if e != nil || got.Usage == nil {
		t.Fatalf("got %+v and %v, want an answer with usage", got, e)
	}
	expect.Same(t, "the tokens", []int{got.Usage.PromptTokens, got.Usage.OutputTokens, got.Usage.TotalTokens}, []int{14, 2, 16})
}

// The beginning of a body that is shown in an error does not end in the middle of a key.
func TestAnExcerptNeverEndsInsideAKey(t *testing.T) {
	t.Parallel()
	for at := range 12 { // of 300 characters that are shown
		_, e, _ := askStream(t, "", strings.Repeat("x", 300-at*3)+canary+strings.Repeat("y", 5000))
		if e == nil || strings.Contains(e.Message, canary[:4]) {
			t.Errorf("%d: %v, want an error without the key", at, e)
		}
	}
}

// BenchmarkStream reads streams of 10,000 chunks, in both forms, next to decoding the same chunks from memory.
func BenchmarkStream(b *testing.B) {
	const n = 10_000
	var array, events bytes.Buffer
	array.WriteByte('[')
	one := chunk("four words of text ", `,"index":0,"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"}]`)
	for range n {
		array.WriteString(one + ",\r\n")
		events.WriteString("data: " + one + "\r\n\r\n")
	}
	array.WriteString(chunk("", stop) + "]")
	events.WriteString("data: " + chunk("", stop) + "\r\n\r\n")
	b.Run("decoding alone", func(b *testing.B) {
		for b.Loop() {
			for range n {
				var r any
				expect.OK(b, json.Unmarshal([]byte(one), &r))
			}
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
	})
	for name, data := range map[string][]byte{"array": array.Bytes(), "events": events.Bytes()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			c := New(wire.Server{BaseURL: "http://service.invalid", Key: canary, Transport: canned(data)})
			for b.Loop() {
				if _, err := c.Generate(context.Background(), streamCall()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
		})
	}
}

// Chunks in snake_case are read live and as they were recorded, whichever are alike; the usage is that of the last one.
func TestStreamsInSnakeCaseAreRead(t *testing.T) {
	t.Parallel()
	var pieces []string
	for i := range 5 {
		pieces = append(pieces, fmt.Sprintf("data: %s\n\n", strings.TrimSuffix(chunk("x", ""), "}")+fmt.Sprintf(
			`,"usage_metadata":{"prompt_token_count":3,"candidates_token_count":%d}}`, i+1)))
	}
	pieces = append(pieces, "data: "+chunk("y", `,"finish_reason":"STOP"`)+"\n\n")
	live, err, _ := askStream(t, "text/event-stream", pieces...)
	if err != nil {
		t.Fatal(err)
	}
	kept, parseErr := ParseReply([]byte(strings.Join(pieces, "")))
	expect.OK(t, parseErr)
	expect.Same(t, "the answer as it was recorded", kept, live)
	expect.Same(t, "the text", live.Text(), "xxxxxy")
	expect.Same(t, "the usage", live.Usage.OutputTokens, 5)
}
