// Command openai checks OpenAI's own Go library against the emulator: openai BASE_URL.
package main

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/evalrun/evalrun/test/sdk/go/check"
)

var ctx = context.Background()

func main() {
	client := openai.NewClient(option.WithBaseURL(check.URL()+"/v1"), option.WithAPIKey("any key"), option.WithMaxRetries(0))
	chat, answers := chats{client.Chat.Completions}, replies{client.Responses}
	check.Run("chat", chat.whole)
	check.Run("chat cut short", chat.cutShort)
	check.Run("chat stream", chat.streamed)
	check.Run("chat image", chat.image)
	check.Run("chat tool loop", func() error { return chat.loop(chat.send) })
	check.Run("chat tool loop, streamed", func() error { return chat.loop(chat.stream) })
	check.Run("chat errors", func() error { return chat.errors(chat.send) })
	check.Run("chat errors, streamed", func() error { return chat.errors(chat.stream) })
	check.Run("chat stream that breaks off", chat.broken)
	check.Run("responses", answers.whole)
	check.Run("responses cut short", answers.cutShort)
	check.Run("responses stream", answers.streamed)
	check.Run("responses image", answers.image)
	check.Run("responses tool loop", func() error { return answers.loop(answers.send) })
	check.Run("responses tool loop, streamed", func() error { return answers.loop(answers.stream) })
	check.Run("responses errors", func() error { return answers.errors(answers.send) })
	check.Run("responses errors, streamed", func() error { return answers.errors(answers.stream) })
	check.Run("responses stream that breaks off", answers.broken)
	check.Run("models", func() error { return models(client) })
	check.Run("embeddings", func() error { return embeddings(client) })
	check.Done("github.com/openai/openai-go")
}

func models(client openai.Client) error {
	found := false
	pages := client.Models.ListAutoPaging(ctx)
	for pages.Next() {
		found = found || pages.Current().ID == "gpt"
	}
	one, err := check.Typed(client.Models.Get(ctx, "gpt"))
	if err := errors.Join(pages.Err(), err); err != nil {
		return err
	}
	return errors.Join(check.True(found, "gpt is in the list"), check.Equal(one.ID, "gpt"))
}

func embeddings(client openai.Client) error {
	got, err := check.Typed(client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: "embedder", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a", "b"}},
	}))
	if err != nil {
		return err
	}
	sizes := []int{}
	for _, d := range got.Data {
		sizes = append(sizes, len(d.Embedding))
	}
	return check.Equal(sizes, []int{256, 256})
}

// refused is nil when the error is the service's, with this status and code.
func refused(err error, status int, code string) error {
	var refusal *openai.Error
	if !errors.As(err, &refusal) {
		return errors.Join(errors.New("not an error of the service"), err)
	}
	return errors.Join(check.Equal(refusal.StatusCode, status), check.Equal(refusal.Code, code),
		check.True(refusal.Message != "", "it has a message"))
}
