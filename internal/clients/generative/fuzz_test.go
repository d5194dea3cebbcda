package generative

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// FuzzVectors checks that an answer with embeddings is an error, or one vector a text, of numbers, all of one length,
// that are read the same when written again.
func FuzzVectors(f *testing.F) {
	for _, s := range append(
		hostile.Strings(), `{"embedding":{"values":[1,-0.5e-300]}}`, `{"embeddings":[{"values":[1]},{"values":[2]}]}`,
		`{"embeddings":[{"values":[1]},{"values":[1,2]}]}`,
		`{"embeddings":[{"values":[null]}]}`, `{"embeddings":[{"values":[1e999]}]}`, `{"error":{"message":"x"}}`,
		`{"embedding":{"values":[]},"error":null}`, `{"embeddings":[null],"embedding":{"values":[1]}}`,
	) {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		n = 1 + max(0, n)%3
		got, err := readVectors(data, n)
		if err != nil {
			if e := eval.AsError(err); e == nil || e.Kind == "" || got != nil {
				t.Errorf("got %v, %v; want no response and an error of a kind", got, err)
			}
			return
		}
		type values struct {
			Values []float64 `json:"values"`
		}
		var reread struct {
			Embeddings []values `json:"embeddings"`
		}
		for _, v := range got {
			checkVector(t, v, len(got[0]))
			reread.Embeddings = append(reread.Embeddings, values{v})
		}
		text, err := json.Marshal(reread)
		expect.OK(t, err)
		expect.Same(t, "the number of vectors", len(got), n)
		second, err := readVectors(text, n)
		expect.OK(t, err)
		expect.Same(t, "the vectors, read again", second, got)
	})
}

func readVectors(data []byte, n int) ([][]float64, error) {
	c := New(wire.Server{BaseURL: "http://service.invalid", Transport: canned(data)})
	return c.Embed(context.Background(), &eval.EmbedCall{Texts: make([]string, n)})
}

func checkVector(t *testing.T, v []float64, n int) {
	t.Helper()
	if len(v) == 0 || len(v) != n || len(v) > wire.MaxDimensions {
		t.Errorf("a vector has %d values, another %d, want as many, and at most %d", len(v), n, wire.MaxDimensions)
	}
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Errorf("got %v, want a finite number", x)
		}
	}
}

// FuzzModels checks that a list of models is read or is an error with a kind, and that reading ends when a page comes
// again and again.
func FuzzModels(f *testing.F) {
	for _, s := range append(
		hostile.Strings(), `{"models":[{"name":"models/a","input_token_limit":5,"temperature":0}]}`,
		`{"models":[],"nextPageToken":"x"}`, `{"models":[{"topK":"1"}]}`, `{"models":null}`,
	) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := New(wire.Server{BaseURL: "http://service.invalid", Key: canary, Transport: canned(data)})
		models, err := c.Models(context.Background(), "v1")
		var e *eval.Error
		if err != nil && (!errors.As(err, &e) || e.Kind == "" || len(models) > 0) {
			t.Errorf("%v %v, want an error with its kind, and no models", models, err)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("got the key in %v, want it masked", err)
		}
	})
}

// FuzzRequestBody checks that what is sent is JSON that decodes to the texts, whatever they are.
func FuzzRequestBody(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		r := &eval.Request{
			Contents:       []eval.Content{{Role: a, Parts: []eval.Part{eval.TextPart{Text: b}}}},
			SafetySettings: []eval.SafetySetting{{Category: a, Threshold: b}},
			System:         b, Tools: []eval.Declaration{{Name: a, Description: b}}, ToolChoice: &eval.Choice{Name: a},
		}
		r.GenerationConfig = &eval.GenerationConfig{
			StopSequences: []string{a},
			Extra:         map[string]json.RawMessage{b: wirejson.AppendString(nil, a)},
		}
		var sent struct {
			Contents []eval.Content
			Safety   []eval.SafetySetting `json:"safetySettings"`
			Config   struct {
				Stop []string `json:"stopSequences"`
			} `json:"generationConfig"`
			Tools []struct {
				Declared []eval.Declaration `json:"functionDeclarations"`
			}
		}
		inJSON := func(s string) string { return string([]rune(s)) }
		body := requestBody(r)
		for _, known := range (eval.GenerationConfig{}).Keys() { // no suite names a field twice
			if strings.EqualFold(inJSON(b), known) {
				return
			}
		}
		expect.OK(t, json.Unmarshal(body, &sent))
		expect.Same(t, "the text", sent.Contents[0].Parts[0].(eval.TextPart).Text, inJSON(b))
		expect.Same(t, "the category", sent.Safety[0].Category, inJSON(a))
		expect.Same(t, "the stop sequence", sent.Config.Stop[0], inJSON(a))
		expect.Same(t, "the tool", sent.Tools[0].Declared[0], eval.Declaration{Name: inJSON(a), Description: inJSON(b)})
		if counted := countBody(r); !json.Valid(counted) {
			t.Errorf("%s, want JSON", counted)
		}
		var embed struct {
			Requests []struct {
				Model   string
				Content eval.Content
			}
		}
		body = embedBatchBody(&eval.EmbedCall{Model: a, Texts: []string{a, b}})
		expect.OK(t, json.Unmarshal(body, &embed))
		if len(embed.Requests) != 2 {
			t.Fatalf("%s, want 2 requests", body)
		}
		expect.Same(t, "the second text", embed.Requests[1].Content.Parts[0].(eval.TextPart).Text, inJSON(b))
		expect.Same(t, "the model", embed.Requests[0].Model, "models/"+inJSON(a))
	})
}
