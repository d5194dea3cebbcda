package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
)

var streams = map[string]struct {
	body string
	want []string
}{
	"events":                    {"data: {\"a\":1}\n\ndata: {\"b\":\"end\"}\n\n", []string{`{"a":1}`, `{"b":"end"}`}},
	"events with CRLF":          {"data: {\"a\":1}\r\n\r\ndata: {\"b\":\"end\"}\r\n\r\n", []string{`{"a":1}`, `{"b":"end"}`}},
	"events with CR":            {"data: {\"a\":1}\r\rdata: {\"b\":\"end\"}\r\r", []string{`{"a":1}`, `{"b":"end"}`}},
	"ends of lines that change": {"data: {\"a\":1}\r\n\ndata: {\"b\":\"end\"}\n\r\n", []string{`{"a":1}`, `{"b":"end"}`}},
	"no space behind the colon": {"data:{\"a\":1}\n\ndata:{\"b\":\"end\"}\n\n", []string{`{"a":1}`, `{"b":"end"}`}},
	"comments": {
		": hello\n\ndata: {\"a\":1}\n:\n\n:ping\n\ndata: {\"b\":\"end\"}\n\n", []string{`{"a":1}`, `{"b":"end"}`},
	},
	"other fields": {
		"id: 1\nevent: delta\nretry: 5\ndata: {\"a\":1}\nx-other: 2\n\ndata: {\"b\":\"end\"}\n\n",
		[]string{`{"a":1}`, `{"b":"end"}`},
	},
	"data of several lines": {"data: {\"a\":\ndata: 1}\n\ndata: {\"b\":\"end\"}\n\n", []string{"{\"a\":\n1}", `{"b":"end"}`}},
	"data of several lines, CRLF": {
		"data: {\"a\":\r\ndata: 1}\r\n\r\ndata: {\"b\":\"end\"}\r\n\r\n", []string{"{\"a\":\n1}", `{"b":"end"}`},
	},
	"a byte order mark": {"\ufeffdata: {\"a\":1}\n\ndata: {\"b\":\"end\"}\n\n", []string{`{"a":1}`, `{"b":"end"}`}},
	"empty events": {
		"\n\ndata:\n\ndata: {\"a\":1}\n\nevent: ping\n\ndata: {\"b\":\"end\"}\n\n", []string{`{"a":1}`, `{"b":"end"}`},
	},
	"no line behind the last":       {"data: {\"a\":1}\n\ndata: {\"b\":\"end\"}", []string{`{"a":1}`, `{"b":"end"}`}},
	"an end mark":                   {"data: {\"a\":1}\n\ndata: [DONE]\n\n", []string{`{"a":1}`}},
	"comments behind the end mark":  {"data: {\"a\":1}\n\ndata: [DONE]\n\n: bye\n\n", []string{`{"a":1}`}},
	"wide characters":               {"data: {\"a\":\"日本👍🏽\"}\n\ndata: {\"b\":\"end\"}\n\n", []string{`{"a":"日本👍🏽"}`, `{"b":"end"}`}},
	"an array":                      {`[{"a":1},{"b":"end"}]`, []string{`{"a":1}`, `{"b":"end"}`}},
	"an array with white space":     {" \r\n[ \n\t{\"a\": 1}\r\n,\n\n {\"b\":\"end\"} ]\n \r\n", []string{`{"a": 1}`, `{"b":"end"}`}},
	"an array behind a mark":        {"\ufeff[{\"a\":1}]", []string{`{"a":1}`}},
	"an array with brackets inside": {`[{"a":"]}"},{"b":["end"]}]`, []string{`{"a":"]}"}`, `{"b":["end"]}`}},
	"objects one after the other":   {"{\"a\":1}\r\n\r\n{\"b\":\"end\"}\n", []string{`{"a":1}`, `{"b":"end"}`}},
	"objects without white space":   {`{"a":1}{"b":"end"}`, []string{`{"a":1}`, `{"b":"end"}`}},
}

// Where a network cuts a stream does not change what is read.
func TestStreamsSplitAtEveryByteAreTheSame(t *testing.T) {
	t.Parallel()
	for name, test := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range len(test.body) + 1 {
				got, e := stream(t, canned{body: split(test.body, i)})
				if diff := cmp.Diff(test.want, got); diff != "" || e != nil {
					t.Fatalf("split at byte %d of %q: %v (-want +got):\n%s", i, test.body, e, diff)
				}
			}
			for how, body := range map[string]io.Reader{
				"byte by byte":               iotest.OneByteReader(strings.NewReader(test.body)),
				"with its end":               iotest.DataErrReader(strings.NewReader(test.body)),
				"byte by byte, with its end": iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(test.body))),
			} {
				got, e := stream(t, canned{body: body})
				if diff := cmp.Diff(test.want, got); diff != "" || e != nil {
					t.Errorf("%s: %v (-want +got):\n%s", how, e, diff)
				}
			}
		})
	}
}

// A stream without a byte that could hold more is never an answer. The pieces before the cut came whole.
func TestCutStreamsAreErrors(t *testing.T) {
	t.Parallel()
	for name, test := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := strings.Index(test.body, `"end"`) // until there is an end, something is missing
			if last < 0 {
				last = max(strings.Index(test.body, "[DONE"), strings.Index(test.body, "]"))
			}
			if strings.Contains(name, "array") {
				last = strings.LastIndex(test.body, "]")
			}
			for i := range last {
				got, e := stream(t, canned{body: strings.NewReader(test.body[:i])})
				if e == nil || e.Kind != eval.KindTruncated && e.Kind != eval.KindMalformed {
					t.Fatalf("cut at byte %d of %q: got %q and %v, want an error", i, test.body, got, e)
				}
				if len(got) > 0 && !cmp.Equal(got, test.want[:min(len(got), len(test.want))]) {
					t.Fatalf("cut at byte %d of %q: got %q, want some of %q", i, test.body, got, test.want)
				}
			}
		})
	}
}

func TestAnArrayCutAnywhereIsTruncated(t *testing.T) {
	t.Parallel()
	body := streams["an array with white space"].body
	for i := range strings.LastIndex(body, "]") {
		if _, e := stream(t, canned{body: strings.NewReader(body[:i])}); e == nil || e.Kind != eval.KindTruncated {
			t.Errorf("cut at byte %d: got %v, want an error of kind %s", i, e, eval.KindTruncated)
		}
	}
}

func TestAConnectionThatBreaksInsideAStreamIsReported(t *testing.T) {
	t.Parallel()
	broken := io.MultiReader(strings.NewReader("data: {\"a\":1}\n\n"), iotest.ErrReader(errors.New("connection reset")))
	got, e := stream(t, canned{body: broken})
	if e == nil || e.Kind != eval.KindTransport || !strings.Contains(e.Message, "cut after 1 chunk") {
		t.Errorf("got %q and %v, want an error of kind %s after 1 chunk", got, e, eval.KindTransport)
	}
}

func TestStreamsThatAreNoAnswerAreErrors(t *testing.T) {
	t.Parallel()
	const sse = "text/event-stream"
	for name, test := range map[string]struct {
		body, media string
		kind        eval.ErrorKind
		says        string
	}{
		"nothing":                  {"", "", eval.KindTruncated, "the stream was cut"},
		"white space":              {" \r\n\t ", "", eval.KindTruncated, "the stream was cut"},
		"a page":                   {"<html><body>Bad gateway", "", eval.KindMalformed, "neither JSON nor a stream of events: <html>"},
		"a page instead of events": {"<html>Bad gateway</html>", sse, eval.KindMalformed, "text outside of an answer"},
		"a page between events":    {"data: {\"a\":1}\n\n<html>Bad gateway</html>\n", sse, eval.KindMalformed, "<html>Bad gateway"},
		"an error event": {
			"event: error\ndata: {\"error\":{\"code\":429,\"message\":\"slow down\"}}\n\n", sse, eval.KindQuota,
			"slow down",
		},
		"an error event without a line": {"event: error\ndata: {\"error\":{\"code\":503,\"message\":\"busy\"}}", sse, eval.KindStatus, "busy"},
		"an error between events":       {"data: {\"a\":1}\n\n{\"error\":{\"code\":500,\"message\":\"oh\"}}\n", sse, eval.KindStatus, "oh"},
		"an error over several lines":   {"data: {\"a\":1}\n\n{\"error\":\n{\"code\":401,\n\"message\":\"no\"}}\n", sse, eval.KindAuth, "no"},
		"an error as a field":           {"data: {\"a\":1}\n\nerror: {\"code\":500,\"message\":\"oh\"}\n\n", sse, eval.KindStatus, "oh"},
		"an error field behind the end mark": {
			"data: {\"a\":1}\n\ndata: [DONE]\n\nerror: {\"code\":500,\"message\":\"late\"}\n\n", sse, eval.KindStatus, "late",
		},
		"an error behind the end mark": {
			"data: {\"a\":1}\n\ndata: [DONE]\n\ndata: {\"error\":{\"code\":500,\"message\":\"late\"}}\n\n", sse,
			eval.KindStatus, "late",
		},
		"text behind an array":        {`[{"b":"end"}] trailing`, "", eval.KindMalformed, "text outside of an answer: trailing"},
		"an error behind an array":    {`[{"b":"end"}]{"error":{"code":429,"message":"late"}}`, "", eval.KindQuota, "late"},
		"no comma in an array":        {`[{"a":1} {"b":"end"}]`, "", eval.KindMalformed, "not JSON after 1 chunk"},
		"events that end in an event": {"data: {\"a\":1}\n\ndata: {\"b\":\"e", sse, eval.KindTruncated, "cut after 1 chunk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, e := stream(t, canned{body: strings.NewReader(test.body), header: header("Content-Type", test.media)})
			if e == nil || e.Kind != test.kind || !strings.Contains(e.Message, test.says) {
				t.Errorf("%q: got %q and %v, want kind %s and %q", test.body, got, e, test.kind, test.says)
			}
		})
	}
}

func TestPiecesOverTheBoundAreTooLarge(t *testing.T) {
	t.Parallel()
	giant := strings.Repeat("x", MaxResponseBytes)
	for name, body := range map[string]io.Reader{
		"a line of an event":     io.MultiReader(strings.NewReader("data: \""), strings.NewReader(giant), strings.NewReader("\"\n\n")),
		"a line that never ends": io.MultiReader(strings.NewReader("data: "), strings.NewReader(giant), strings.NewReader(giant)),
		"lines of one event": io.MultiReader(
			strings.NewReader("data: "), strings.NewReader(giant[:MaxResponseBytes/2]),
			strings.NewReader("\ndata: "), strings.NewReader(giant[:MaxResponseBytes/2]), strings.NewReader("\n\n"),
		),
		"an item of an array": io.MultiReader(
			strings.NewReader("[\""), strings.NewReader(giant), strings.NewReader(giant), strings.NewReader("\"]"),
		),
		"a comment": io.MultiReader(strings.NewReader(":"), strings.NewReader(giant), strings.NewReader("\n\n")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, e := stream(t, canned{body: body}); e == nil || e.Kind != eval.KindTooLarge {
				t.Errorf("got %d pieces and %v, want an error of kind %s", len(got), e, eval.KindTooLarge)
			}
		})
	}
}

// The bound is on each piece: many small ones may be longer together.
func TestManyPiecesMayBeLongerThanTheBoundOfOne(t *testing.T) {
	t.Parallel()
	var parts []io.Reader
	piece := "data: \"" + strings.Repeat("x", MaxResponseBytes/4) + "\"\n\n"
	for range 5 {
		parts = append(parts, strings.NewReader(piece))
	}
	got, e := stream(t, canned{body: io.MultiReader(append(parts, strings.NewReader("data: \"end\"\n\n"))...)})
	if e != nil || len(got) != 6 {
		t.Errorf("got %d pieces and %v, want 6", len(got), e)
	}
}

func TestCompressedAnswersAreReadWithinTheirBound(t *testing.T) {
	t.Parallel()
	whole := zipped(t, `[{"a":1},{"b":"end"}]`)
	bomb := zipped(t, `["`+strings.Repeat("a", 2*MaxResponseBytes)+`"]`)
	for name, test := range map[string]struct {
		body, encoding string
		kind           eval.ErrorKind // "" for none
	}{
		"gzip":                    {whole, "gzip", ""},
		"an older name":           {whole, "X-Gzip", ""},
		"none":                    {`[{"a":1},{"b":"end"}]`, "identity", ""},
		"cut":                     {whole[:len(whole)/2], "gzip", eval.KindTruncated},
		"not compressed at all":   {`[{"a":1},{"b":"end"}]`, "gzip", eval.KindMalformed},
		"a bomb":                  {bomb, "gzip", eval.KindTooLarge},
		"of a kind not asked for": {whole, "br", eval.KindMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(test.body) > 100_000 {
				t.Fatalf("got %d bytes, want more than 100,000 for a bomb", len(test.body))
			}
			c := canned{body: strings.NewReader(test.body), header: header("Content-Encoding", test.encoding)}
			_, streamed := stream(t, c)
			c.body = strings.NewReader(test.body)
			data, e := do(t, cannedConn(c), t.Context())
			for how, e := range map[string]*eval.Error{"streamed": streamed, "read": e} {
				if test.kind == "" && e != nil || test.kind != "" && (e == nil || e.Kind != test.kind) {
					t.Errorf("%s: got %v, want kind %q", how, e, test.kind)
				}
			}
			if test.kind == "" && data != `[{"a":1},{"b":"end"}]` {
				t.Errorf("got %q, want both events", data)
			}
		})
	}
}

func TestCorruptedCompressedAnswersAreErrors(t *testing.T) {
	t.Parallel()
	const want = `{"text":"the quick brown fox jumps over the lazy dog"}`
	whole := zipped(t, want)
	for i := range len(whole) {
		bytes := []byte(whole)
		bytes[i] ^= 0x55
		c := canned{body: strings.NewReader(string(bytes)), header: header("Content-Encoding", "gzip")}
		if got, e := do(t, cannedConn(c), t.Context()); e == nil && got != want {
			t.Errorf("byte %d: got %q without an error, want the whole answer or one", i, got)
		}
	}
}
