// Command genai checks Google's own Go library against the emulator: genai BASE_URL.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"google.golang.org/genai"

	"github.com/evalrun/evalrun/test/sdk/go/check"
)

const model = "gemini-2.0-flash"

var ctx = context.Background()

func main() {
	log.SetOutput(io.Discard) // the library warns of each answer that has more than text
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: "any key", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: check.URL(), RetryOptions: &genai.HTTPRetryOptions{Attempts: new(int32(1))}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answer, chat := answers{client.Models}, chats{client.Chats}
	check.Run("generate", answer.whole)
	check.Run("generate cut short", answer.cutShort)
	check.Run("generate stream", answer.streamed)
	check.Run("generate image", answer.image)
	check.Run("tool loop", func() error { return chat.loop(whole) })
	check.Run("tool loop, streamed", func() error { return chat.loop(streamed) })
	check.Run("modes of calling", answer.modes)
	check.Run("errors", func() error { return answer.errors(answer.send) })
	check.Run("errors, streamed", func() error { return answer.errors(answer.stream) })
	check.Run("stream that breaks off", answer.broken)
	check.Run("count tokens", answer.count)
	check.Run("embeddings", answer.embeddings)
	check.Run("models", answer.models)
	check.Done("google.golang.org/genai")
}

// refused is nil when the error is the service's, with this code and status.
func refused(err error, code int, status string) error {
	var refusal genai.APIError
	if !errors.As(err, &refusal) {
		return errors.Join(errors.New("not an error of the service"), err)
	}
	return errors.Join(check.Equal(refusal.Code, code), check.Equal(refusal.Status, status))
}
