// Command anthropic checks Anthropic's own Go library against the emulator: anthropic BASE_URL.
package main

import (
	"context"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/evalrun/evalrun/test/sdk/go/check"
)

var ctx = context.Background()

func main() {
	client := anthropic.NewClient(option.WithBaseURL(check.URL()), option.WithAPIKey("any key"), option.WithMaxRetries(0))
	message := messages{client.Messages}
	check.Run("messages", message.whole)
	check.Run("messages cut short", message.cutShort)
	check.Run("messages stream", message.streamed)
	check.Run("messages image", message.image)
	check.Run("messages tool loop", func() error { return message.loop(message.send) })
	check.Run("messages tool loop, streamed", func() error { return message.loop(message.stream) })
	check.Run("messages errors", func() error { return message.errors(message.send) })
	check.Run("messages errors, streamed", func() error { return message.errors(message.stream) })
	check.Run("messages stream that breaks off", message.broken)
	check.Run("count tokens", message.count)
	check.Run("models", func() error { return models(client) })
	check.Done("github.com/anthropics/anthropic-sdk-go")
}

func models(client anthropic.Client) error {
	found := false
	pages := client.Models.ListAutoPaging(ctx, anthropic.ModelListParams{Limit: anthropic.Int(2)})
	for pages.Next() {
		found = found || pages.Current().ID == "gpt"
	}
	one, err := check.Typed(client.Models.Get(ctx, "gpt", anthropic.ModelGetParams{}))
	if err := errors.Join(pages.Err(), err); err != nil {
		return err
	}
	return errors.Join(check.True(found, "gpt is in the list"), check.Equal(one.ID, "gpt"))
}

// refused is nil when the error is the service's, with this status and type.
func refused(err error, status int, kind string) error {
	var refusal *anthropic.Error
	if !errors.As(err, &refusal) {
		return errors.Join(errors.New("not an error of the service"), err)
	}
	return errors.Join(check.Equal(refusal.StatusCode, status), check.Equal(string(refusal.Type()), kind))
}
