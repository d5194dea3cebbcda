package generative

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// One text goes by embedContent, several by batchEmbedContents, as the specification shows.
func TestEmbedSendsOneOrManyTexts(t *testing.T) {
	t.Parallel()
	var path, body string
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		path, body = r.URL.Path, string(data)
		if strings.HasSuffix(path, ":embedContent") {
			fmt.Fprint(w, `{"embedding":{"values":[1,-0.5]}}`)
		} else {
			fmt.Fprint(w, `{"embeddings":[{"values":[1,2]},{"values":[3,4e-3]}]}`)
		}
	}, nil)
	got, err := c.Embed(context.Background(), &eval.EmbedCall{Model: "embedding-001", Texts: []string{"a <b>"}})
	expect.OK(t, err)
	expect.Same(t, "one vector", got, [][]float64{{1, -0.5}})
	expect.Same(t, "the path", path, "/v1/models/embedding-001:embedContent")
	expect.Same(t, "the body", body, `{"model":"models/embedding-001","content":{"parts":[{"text":"a <b>"}]}}`)
	call := &eval.EmbedCall{Model: "embedding-001", APIVersion: "v1beta", Texts: []string{"a", "b"}}
	got, err = c.Embed(context.Background(), call)
	expect.OK(t, err)
	expect.Same(t, "two vectors", got, [][]float64{{1, 2}, {3, 0.004}})
	if call.Timing.LatencyMs <= 0 {
		t.Errorf("got %v, want a latency", call.Timing)
	}
	want := `{"requests":[{"model":"models/embedding-001","content":{"parts":[{"text":"a"}]}},` +
		`{"model":"models/embedding-001","content":{"parts":[{"text":"b"}]}}]}`
	expect.Same(t, "the path", path, "/v1beta/models/embedding-001:batchEmbedContents")
	expect.Same(t, "the body", body, want)
}

// An answer without one vector for each text is an error.
func TestEmbedFaultsAreErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, text string }{
		"too few":       {`{"embeddings":[{"values":[1]}]}`, "1 embeddings came for 2 texts"},
		"too many":      {`{"embeddings":[{"values":[1]},{"values":[1]},{"values":[1]}]}`, "3 embeddings came for 2 texts"},
		"none":          {`{}`, "0 embeddings came"},
		"single form":   {`{"embedding":{"values":[1]}}`, "1 embeddings came"},
		"NaN":           {`{"embeddings":[{"values":[1]},{"values":["NaN"]}]}`, "unexpected shape"},
		"bare NaN":      {`{"embeddings":[{"values":[1]},{"values":[NaN]}]}`, "not JSON"},
		"null":          {`{"embeddings":[{"values":[1]},{"values":[null]}]}`, "embedding 2 of 2 is not a list of numbers"},
		"no values":     {`{"embeddings":[{"values":[1]},{}]}`, "embedding 2 of 2 is not a list of numbers"},
		"infinite":      {`{"embeddings":[{"values":[1]},{"values":[1e999]}]}`, ""},
		"other lengths": {`{"embeddings":[{"values":[1]},{"values":[1,2]}]}`, "embedding 2 has 2 values and the first one 1"},
		"text":          {`{"embeddings":"none"}`, "unexpected shape"},
		"empty":         {``, "empty"},
		"error":         {`{"error":{"code":400,"message":"too long","status":"INVALID_ARGUMENT"}}`, "too long"},
	} {
		c := newClient(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, test.body) }, nil)
		got, err := c.Embed(context.Background(), &eval.EmbedCall{Model: "m", Texts: []string{"a", "b"}})
		if e := eval.AsError(err); e == nil || !strings.Contains(e.Message, test.text) || e.Kind != eval.KindMalformed && name != "error" {
			t.Errorf("%s: %v %v, want %s with %q", name, got, err, eval.KindMalformed, test.text)
		}
	}
}
