package main

import (
	"errors"

	"github.com/openai/openai-go/v3"

	"github.com/evalrun/evalrun/test/sdk/go/check"
)

// chats checks chat completions.
type chats struct{ openai.ChatCompletionService }

type chatSender func(openai.ChatCompletionNewParams) (*openai.ChatCompletion, error)

func ask(model, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

func (c chats) send(request openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	return check.Typed(c.New(ctx, request))
}

func (c chats) stream(request openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	got, _, err := c.pieces(request)
	return got, err
}

// pieces is the whole of a streamed answer, and the number of chunks that it came in.
func (c chats) pieces(request openai.ChatCompletionNewParams) (*openai.ChatCompletion, int, error) {
	var whole openai.ChatCompletionAccumulator
	chunks, pieces := c.NewStreaming(ctx, request), 0
	for chunks.Next() {
		pieces++
		if !whole.AddChunk(chunks.Current()) {
			return nil, pieces, errors.New("the library cannot add a chunk to the ones before")
		}
		if err := check.Fields(chunks.Current()); err != nil {
			return nil, pieces, err
		}
	}
	return &whole.ChatCompletion, pieces, chunks.Err()
}

func (c chats) whole() error {
	request := ask("gpt", check.Text)
	request.Temperature, request.MaxCompletionTokens, request.N = openai.Float(0), openai.Int(100), openai.Int(2)
	request.Stop = openai.ChatCompletionNewParamsStopUnion{OfStringArray: []string{"nine"}}
	got, err := c.send(request)
	if err != nil {
		return err
	}
	said := [][]string{}
	for _, choice := range got.Choices {
		said = append(said, []string{choice.Message.Content, choice.FinishReason})
	}
	one := []string{check.Text[:len(check.Text)-4], "stop"}
	return errors.Join(check.Equal(said, [][]string{one, one}), check.True(got.Usage.PromptTokens > 0, "usage is counted"))
}

func (c chats) cutShort() error {
	request := ask("gpt", check.Text)
	request.MaxCompletionTokens = openai.Int(2)
	got, err := c.send(request)
	if err != nil {
		return err
	}
	return check.Equal(got.Choices[0].FinishReason, "length")
}

func (c chats) streamed() error {
	request := ask("gpt", check.Text)
	request.StreamOptions.IncludeUsage = openai.Bool(true)
	got, pieces, err := c.pieces(request)
	if err != nil {
		return err
	}
	return errors.Join(check.Equal(got.Choices[0].Message.Content, check.Text), check.Equal(got.Choices[0].FinishReason, "stop"),
		check.True(got.Usage.CompletionTokens > 0, "usage is counted"), check.True(pieces > 3, "it came in pieces"))
}

func (c chats) image() error {
	request := ask("gemini-pro-vision", "")
	request.Messages[0] = openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + check.Pixel}),
		openai.TextContentPart("what is it?"),
	})
	got, err := c.send(request)
	if err != nil {
		return err
	}
	return check.Equal(got.Choices[0].Message.Content, "what is it?")
}

func (c chats) loop(send chatSender) error {
	request := ask("gpt", check.Orders)
	request.Messages = append([]openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be kind")}, request.Messages...)
	request.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: check.Tool, Description: openai.String("d"), Parameters: check.Schema(),
	})}
	first, err := send(request)
	if err != nil {
		return err
	}
	message, ids := first.Choices[0].Message, []string{}
	request.Messages = append(request.Messages, message.ToParam())
	for _, call := range message.ToolCalls {
		ids = append(ids, check.ID(call.Function.Arguments))
		request.Messages = append(request.Messages, openai.ToolMessage(check.ResultOf(call.Function.Arguments), call.ID))
	}
	if err := errors.Join(check.Equal(first.Choices[0].FinishReason, "tool_calls"), check.Equal(ids, check.IDs())); err != nil {
		return err
	}
	second, err := send(request)
	if err != nil {
		return err
	}
	return check.Equal(second.Choices[0].Message.Content, check.Answer)
}

func (c chats) errors(send chatSender) error {
	_, unknown := send(ask("nobody", "x"))
	_, limited := send(ask("gpt", check.Flaky))
	_, invalid := send(openai.ChatCompletionNewParams{Model: "gpt", Messages: []openai.ChatCompletionMessageParamUnion{}})
	return errors.Join(refused(unknown, 404, "model_not_found"), refused(limited, 429, "rate_limit_exceeded"), refused(invalid, 400, ""))
}

func (c chats) broken() error {
	_, err := c.stream(ask("gpt", check.Broken))
	return check.BreaksOff(err)
}
