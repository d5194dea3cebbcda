// Package generative is a client for the generative-language REST service. One call is one attempt:
// retries, limits and deadlines are decorators in internal/flow.
//
// The client bounds what it reads, follows no redirect, and masks the key in every error. All failures are
// of type *eval.Error.
//
// The usual order: New, then Model for each model, then Generate.
package generative

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Client calls the service. It is safe for concurrent use.
type Client struct{ *wire.Caller }

// New returns a client without opening a connection.
func New(s wire.Server) *Client {
	s.HeaderPrefix = cmp.Or(s.HeaderPrefix, wire.DefaultHeaderPrefix)
	s.APIVersion = cmp.Or(s.APIVersion, wire.APIVersions[0])
	if s.TokenSource != nil && s.Project != "" {
		if s.Headers = maps.Clone(s.Headers); s.Headers == nil {
			s.Headers = http.Header{}
		}
		s.Headers.Set(s.HeaderPrefix+"-user-project", s.Project)
	}
	return &Client{wire.NewCaller(s, s.HeaderPrefix+"-api-key", true)}
}

// Generate sends the call once, as a stream if it wants one. call.Timing gets the times of the attempt.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	method := wire.MethodGenerate
	if call.Stream {
		method = wire.MethodStream
	}
	at := c.method(call.APIVersion, call.Model, method)
	return c.Post(ctx, call, at, requestBody(&call.Request), format)
}

var format = wire.AnswerFormat{Parse: parseResponse, Stream: func() wire.Assembly { return &assembly{} }}

// Pass is Pass of the Caller. A gateway has the version in its base address.
func (c *Client) Pass(req *http.Request, to wire.Passed) (*http.Response, error) {
	if c.Server.Path != "" {
		_, to.Path, _ = strings.Cut(to.Path, "/")
	}
	return c.Caller.Pass(req, to)
}

// CountTokens returns the number of tokens in the whole prompt, including its system text and tools.
func (c *Client) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	var out struct {
		TotalTokens *wire.LenientInt `json:"totalTokens"`
	}
	data, err := c.Ask(ctx, wire.Question{
		URL:  c.method(call.APIVersion, call.Model, wire.MethodCountTokens),
		Body: countBody(&call.Request), TrialID: call.TrialID, Timing: &call.Timing,
	}, &out)
	if err != nil {
		return 0, err
	}
	if out.TotalTokens == nil || !wire.ArePossible(int(*out.TotalTokens)) {
		return 0, eval.Errorf(eval.KindMalformed, "the answer to countTokens has no valid totalTokens: %s", wire.Excerpt(data))
	}
	return int(*out.TotalTokens), nil
}

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c *Client) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	var m wireModel
	data, err := c.Ask(ctx, wire.Question{URL: c.below(apiVersion, "models/"+url.PathEscape(id))}, &m)
	if err != nil {
		return nil, err
	}
	if m.Name == "" {
		return nil, eval.Errorf(eval.KindMalformed, "the answer is not a model: %s", wire.Excerpt(data))
	}
	return new(m.model()), nil
}

// Models lists all models, page by page. More than wire.MaxPages pages are an error.
func (c *Client) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	var out []eval.Model
	first := c.below(apiVersion, "models")
	at, page := first, ""
	for range wire.MaxPages {
		var list struct {
			Models        *[]wireModel `json:"models"`
			NextPageToken string       `json:"nextPageToken"`
		}
		data, err := c.Ask(ctx, wire.Question{URL: at}, &list)
		switch {
		case err != nil:
			return nil, err
		case list.Models != nil:
			for i := range *list.Models {
				out = append(out, (*list.Models)[i].model())
			}
		case page == "":
			return nil, eval.Errorf(eval.KindMalformed, "the answer is not a list of models: %s", wire.Excerpt(data))
		}
		if list.NextPageToken == "" || list.NextPageToken == page {
			return out, nil
		}
		page = list.NextPageToken
		at = first + "?pageToken=" + url.QueryEscape(page)
	}
	return nil, eval.Errorf(eval.KindTooLarge, "the list of models has more than %d pages", wire.MaxPages)
}

func (c *Client) below(apiVersion, path string) string {
	if c.Server.Path != "" { // the base address includes the version
		return c.Server.BaseURL + "/" + path
	}
	return c.Server.BaseURL + "/" + url.PathEscape(cmp.Or(apiVersion, c.Server.APIVersion)) + "/" + path
}

func (c *Client) method(apiVersion, model, method string) string {
	path := strings.ReplaceAll(cmp.Or(c.Server.Path, "models/{model}:{method}"), "{method}", method)
	return c.below(apiVersion, strings.ReplaceAll(path, "{model}", url.PathEscape(model)))
}
