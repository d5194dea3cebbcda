package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"

	"github.com/evalrun/evalrun/eval"
)

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c *Caller) Model(ctx context.Context, path, id string) (*eval.Model, error) {
	var raw json.RawMessage
	if _, err := c.Ask(ctx, Question{URL: c.URL(path, "") + "/" + url.PathEscape(id)}, &raw); err != nil {
		return nil, err
	}
	m, ok := readModel(raw)
	if !ok {
		return nil, eval.Errorf(eval.KindMalformed, "the answer is not a model: %s", Excerpt(raw))
	}
	return &m, nil
}

// MaxPages bounds the pages of a list of models.
const MaxPages = 100

// Models lists all models, page by page. More than MaxPages pages are an error.
func (c *Caller) Models(ctx context.Context, path string) ([]eval.Model, error) {
	var out []eval.Model
	at := c.URL(path, "")
	for range MaxPages {
		var page modelList
		if _, err := c.Ask(ctx, Question{URL: at}, &page); err != nil {
			return nil, err
		}
		for _, raw := range page.Data {
			if m, ok := readModel(raw); ok {
				out = append(out, m)
			}
		}
		if !page.HasMore || page.LastID == "" {
			return out, nil
		}
		at = c.URL(path, "") + "?after_id=" + url.QueryEscape(page.LastID)
	}
	return nil, eval.Errorf(eval.KindTooLarge, "the list of models has more than %d pages", MaxPages)
}

type modelList struct {
	Data    []json.RawMessage `json:"data"`
	HasMore bool              `json:"has_more"`
	LastID  string            `json:"last_id"`
}

// UnmarshalJSON also accepts the plain array of some servers, and the null that servers in Go send for an empty list.
func (l *modelList) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return json.Unmarshal(data, &l.Data)
	}
	type plain modelList
	var known struct {
		plain
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(data, &known); err != nil {
		return err
	}
	if known.Data == nil {
		return &ShapeError{"data", "nothing"}
	}
	*l = modelList(known.plain)
	return json.Unmarshal(known.Data, &l.Data)
}

// readModel reads a model, whose limits have many names among servers.
func readModel(raw json.RawMessage) (m eval.Model, ok bool) {
	f := Fields{}
	if json.Unmarshal(raw, &f) != nil || f.Take("id", &m.Name) != nil || m.Name == "" {
		return m, false
	}
	_ = f.Take("display_name", &m.DisplayName) // of another type: left empty, as are the others
	var in, out LenientInt
	f.TakeCount(&in, "context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens")
	var provider Fields
	_ = f.Take("top_provider", &provider)
	if !provider.TakeCount(&out, "max_completion_tokens") {
		f.TakeCount(&out, "max_completion_tokens", "max_output_tokens", "max_tokens")
	}
	m.InputTokenLimit, m.OutputTokenLimit = in.Limit(), out.Limit()
	return m, true
}
