package generative

import (
	"context"
	"encoding/json"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Embed returns one vector per text, all of the same length. It uses embedContent for one text and
// batchEmbedContents for several.
func (c *Client) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	ctx, release := c.conn.Lease(ctx)
	defer release()
	method, body := wire.MethodEmbedBatch, embedBatchBody(call)
	if len(call.Texts) == 1 {
		method, body = wire.MethodEmbed, appendEmbedRequest(nil, call.Model, call.Texts[0])
	}
	req, err := c.post(ctx, call.APIVersion, call.Model, method, body)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	data, err := c.conn.Do(req)
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(started))
	if err != nil {
		return nil, err
	}
	return parseVectors(data, len(call.Texts))
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

// parseVectors reads the reply of either method; n is the number of texts in the request.
func parseVectors(data []byte, n int) ([][]float64, error) {
	var answer struct {
		Embedding  *embedding      `json:"embedding"`
		Embeddings []embedding     `json:"embeddings"`
		Error      json.RawMessage `json:"error"`
	}
	if err := wire.Decode(data, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil && string(answer.Error) != "null" {
		return nil, wire.ErrorIn(data)
	}
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
