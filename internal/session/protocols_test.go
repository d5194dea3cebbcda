package session

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// What a protocol does not have is refused without a request, and no protocol claims what its client cannot do.
func TestWhatProtocolsCannotDoIsReported(t *testing.T) {
	t.Parallel()
	for name, one := range map[eval.ProtocolName]struct{ counts, embeds, lists bool }{
		eval.Generative: {true, true, true},
		eval.OpenAI:     {false, true, true},
		eval.Responses:  {false, false, true},
		eval.Anthropic:  {true, false, true},
	} {
		expect.Same(t, string(name)+" counts", Can(name, wire.MethodCountTokens), one.counts)
		expect.Same(t, string(name)+" embeds", Can(name, wire.MethodEmbed), one.embeds)
		c := contact{NamedService: &suite.NamedService{Name: "s", Protocol: name}, URL: "http://127.0.0.1:1"}
		client := c.Connect()
		defer client.Close()
		to := asService(client, true)
		var refused []error
		if !one.counts {
			_, err := to.CountTokens(t.Context(), &eval.Call{})
			refused = append(refused, err)
		}
		if !one.embeds {
			_, err := to.Embed(t.Context(), &eval.EmbedCall{})
			refused = append(refused, err)
		}
		_, err := to.Models(t.Context(), "") // no metadata are requested
		refused = append(refused, err)
		for _, err := range refused {
			if e := eval.AsError(err); e == nil || !e.Unsent || e.Retry != eval.RetryNever {
				t.Errorf("%s: got %v, want an error of a call that was not sent", name, err)
			}
		}
	}
}

// A secret header counts with the token behind its scheme, and only secret ones do.
func TestSecretHeadersCountWithTheirToken(t *testing.T) {
	t.Parallel()
	c := contact{NamedService: &suite.NamedService{Headers: []eval.Header{
		{Name: "authorization", Value: "Bearer hush", Secret: true}, {Name: "x-team", Value: "open"}, {Name: "x-empty", Secret: true},
	}}}
	expect.Same(t, "secrets", c.Secrets(), []string{"Bearer hush", "hush"})
	expect.Same(t, "headers", len(c.headers()), 3)
}
