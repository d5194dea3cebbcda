package generative

import (
	"context"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Embed returns a vector per text, by embedContent for one text and batchEmbedContents for several.
func (c *Client) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	method, body := wire.MethodEmbedBatch, embedBatchBody(call)
	if len(call.Texts) == 1 {
		method, body = wire.MethodEmbed, appendEmbedRequest(nil, call.Model, call.Texts[0])
	}
	var answer embeddings
	q := wire.Question{URL: c.method(call.APIVersion, call.Model, method), Body: body, Timing: &call.Timing}
	data, err := c.Ask(ctx, q, &answer)
	if err != nil {
		return nil, err
	}
	return answer.vectors(data, len(call.Texts))
}

func appendEmbedRequest(b []byte, model, text string) []byte {
	b = append(b, `{"model":`...)
	b = wirejson.AppendString(b, "models/"+model)
	b = append(b, `,"content":{"parts":[{"text":`...)
	b = wirejson.AppendString(b, text)
	return append(b, `}]}}`...)
}

func embedBatchBody(call *eval.EmbedCall) []byte {
	b := []byte(`{"requests":[`)
	for i, text := range call.Texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEmbedRequest(b, call.Model, text)
	}
	return append(b, "]}"...)
}

// embedding uses pointers to distinguish null from zero.
type embedding struct {
	Values []*float64 `json:"values"`
}

type embeddings struct {
	Embedding  *embedding  `json:"embedding"`
	Embeddings []embedding `json:"embeddings"`
}

// vectors reads the embeddings of n texts; data is the reply, for messages.
func (answer *embeddings) vectors(data []byte, n int) ([][]float64, error) {
	if answer.Embedding != nil && len(answer.Embeddings) == 0 {
		answer.Embeddings = []embedding{*answer.Embedding}
	}
	if got := len(answer.Embeddings); got != n {
		return nil, eval.Errorf(eval.KindMalformed, "%d embeddings came for %d texts: %s", got, n, wire.Excerpt(data))
	}
	lists := make([][]*float64, n)
	for i, e := range answer.Embeddings {
		lists[i] = e.Values
	}
	return wire.Vectors(lists, data)
}
