package emulator

import (
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// embedRequest is the body of embedContent, and an element in that of batchEmbedContents.
type embedRequest struct {
	Model      string   `json:"model"`
	Content    *content `json:"content"`
	Dimensions integer  `json:"outputDimensionality"` // 0: all
}

type wireEmbedding struct {
	Values []float64 `json:"values"`
}

func (e *Emulator) embedOne(w http.ResponseWriter, r *http.Request, m *eval.Model) {
	var req embedRequest
	if _, p := readJSON(r, &req); p != nil {
		fail(w, p)
		return
	}
	v, p := embed(&req, m)
	if p != nil {
		fail(w, p)
		return
	}
	reply(w, struct {
		Embedding wireEmbedding `json:"embedding"`
	}{v})
}

// embedBatch answers batchEmbedContents, in the order of the requests.
func (e *Emulator) embedBatch(w http.ResponseWriter, r *http.Request, m *eval.Model) {
	var req struct {
		Requests []embedRequest `json:"requests"`
	}
	var out struct {
		Embeddings []wireEmbedding `json:"embeddings"`
	}
	_, p := readJSON(r, &req)
	if p == nil {
		out.Embeddings, p = embedAll(req.Requests, m)
	}
	if p != nil {
		fail(w, p)
		return
	}
	reply(w, out)
}

func embedAll(requests []embedRequest, m *eval.Model) ([]wireEmbedding, *problem) {
	switch n := len(requests); {
	case n == 0:
		return nil, badRequest("requests is required")
	case n > wire.MaxEmbedTexts:
		return nil, badRequest("%d requests in a batch; at most %d are allowed", n, wire.MaxEmbedTexts)
	}
	out := make([]wireEmbedding, 0, len(requests))
	for i := range requests {
		v, p := embed(&requests[i], m)
		if p != nil {
			return nil, p.in("requests", i)
		}
		out = append(out, v)
	}
	return out, nil
}

func embed(r *embedRequest, m *eval.Model) (wireEmbedding, *problem) {
	if p := r.check(m); p != nil {
		return wireEmbedding{}, p
	}
	v := vectorOf(r.Content.text())
	if r.Dimensions > 0 {
		v = v[:r.Dimensions]
	}
	return wireEmbedding{normal(v)}, nil
}

func (r *embedRequest) check(m *eval.Model) *problem {
	if r.Content == nil || len(r.Content.Parts) == 0 {
		return badRequest("content.parts is required")
	}
	if id := strings.TrimPrefix(r.Model, "models/"); id != "" && id != m.ID() {
		return badRequest("the model %q is not that of the path, %s", r.Model, m.Name)
	}
	if slices.ContainsFunc(r.Content.Parts, func(p wirePart) bool { return p.InlineData != nil }) {
		return badRequest("only text can be embedded")
	}
	text := r.Content.text()
	switch n := wire.Tokens(len(text)); {
	case text == "":
		return badRequest("the text is empty")
	case r.Dimensions < 0 || r.Dimensions > dimensions:
		return badRequest("outputDimensionality must be from 1 to %d", dimensions)
	case n > m.InputTokenLimit:
		return badRequest("the text has %d tokens; %s takes at most %d", n, m.Name, m.InputTokenLimit)
	}
	return nil
}

const dimensions = 256

// vectorOf hashes the words of a text, pairs of them, and their runs of three letters to dimensions of a
// vector of length 1 (Weinberger et al., Feature Hashing, 2009). So texts that share words and parts of
// words are near each other, whatever they mean.
func vectorOf(text string) []float64 {
	v := make([]float64, dimensions)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for i, word := range words {
		addFeature(v, word, 1)
		if i > 0 {
			addFeature(v, words[i-1]+" "+word, 0.5)
		}
		letters := []rune("^" + word + "$")
		for i := 0; i+3 <= len(letters); i++ {
			addFeature(v, string(letters[i:i+3]), 0.5)
		}
	}
	if len(words) == 0 { // only punctuation
		addFeature(v, text, 1)
	}
	return v
}

func normal(v []float64) []float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	if sum == 0 { // the features cancelled each other
		v[0], sum = 1, 1
	}
	for i := range v {
		v[i] = math.Round(v[i]/math.Sqrt(sum)*1e9) / 1e9
	}
	return v
}

func addFeature(v []float64, feature string, weight float64) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(feature))
	sum := h.Sum64()
	if sum>>63 == 1 {
		weight = -weight
	}
	v[sum%dimensions] += weight
}
