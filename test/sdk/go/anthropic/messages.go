package main

import (
	"errors"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/evalrun/evalrun/test/sdk/go/check"
)

// messages checks messages.
type messages struct{ anthropic.MessageService }

type sender func(anthropic.MessageNewParams) (*anthropic.Message, error)

func ask(model, text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: anthropic.Model(model), MaxTokens: 2000,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

func (m messages) send(request anthropic.MessageNewParams) (*anthropic.Message, error) {
	return check.Typed(m.New(ctx, request))
}

// stream is the message that the events of a stream make.
func (m messages) stream(request anthropic.MessageNewParams) (*anthropic.Message, error) {
	got, _, err := m.pieces(request)
	return got, err
}

// pieces is the message that the events of a stream make, and the number of these events.
func (m messages) pieces(request anthropic.MessageNewParams) (*anthropic.Message, int, error) {
	var whole anthropic.Message
	events, pieces := m.NewStreaming(ctx, request), 0
	for events.Next() {
		pieces++
		if err := errors.Join(whole.Accumulate(events.Current()), check.Fields(events.Current())); err != nil {
			return nil, pieces, err
		}
	}
	return &whole, pieces, events.Err()
}

func (m messages) whole() error {
	request := ask("gpt", check.Text)
	request.System = []anthropic.TextBlockParam{{Text: "be kind"}}
	request.StopSequences = []string{"nine"}
	got, err := m.send(request)
	if err != nil {
		return err
	}
	return errors.Join(check.Equal(got.Content[0].Text, check.Text[:len(check.Text)-4]),
		check.Equal([]string{string(got.StopReason), got.StopSequence}, []string{"stop_sequence", "nine"}),
		check.True(got.Usage.InputTokens > 0, "usage is counted"))
}

func (m messages) cutShort() error {
	request := ask("gpt", check.Text)
	request.MaxTokens = 2
	got, err := m.send(request)
	if err != nil {
		return err
	}
	return check.Equal(got.StopReason, anthropic.StopReasonMaxTokens)
}

func (m messages) streamed() error {
	got, pieces, err := m.pieces(ask("gpt", check.Text))
	if err != nil {
		return err
	}
	return errors.Join(check.Equal(got.Content[0].Text, check.Text), check.Equal(got.StopReason, anthropic.StopReasonEndTurn),
		check.True(got.Usage.OutputTokens > 0, "usage is counted"), check.True(pieces > 6, "it came in pieces"))
}

func (m messages) image() error {
	request := ask("gemini-pro-vision", "what is it?")
	request.Messages[0].Content = append(request.Messages[0].Content, anthropic.NewImageBlockBase64("image/png", check.Pixel))
	got, err := m.send(request)
	if err != nil {
		return err
	}
	return check.Equal(got.Content[0].Text, "what is it?")
}

// loop is a tool loop with a thought, whose signature must come back as it was.
func (m messages) loop(send sender) error {
	request := ask("gpt", check.Orders)
	request.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
	schema := anthropic.ToolInputSchemaParam{Properties: check.Schema()["properties"], Required: []string{"id"}}
	tool := anthropic.ToolUnionParamOfTool(schema, check.Tool)
	tool.OfTool.Description = anthropic.String("d")
	request.Tools = []anthropic.ToolUnionParam{tool}
	first, err := send(request)
	if err != nil {
		return err
	}
	results, ids := results(first)
	if err := errors.Join(check.Equal(first.Content[0].Type, "thinking"), check.Equal(ids, check.IDs()),
		check.Equal(first.StopReason, anthropic.StopReasonToolUse)); err != nil {
		return err
	}
	request.Messages = append(request.Messages, first.ToParam(), anthropic.NewUserMessage(results...))
	second, err := send(request)
	if err != nil {
		return err
	}
	return check.Equal(second.Content[0].Text, check.Answer)
}

// results are those of the calls in a message, and the orders that the calls ask for.
func results(got *anthropic.Message) (results []anthropic.ContentBlockParamUnion, ids []string) {
	for _, block := range got.Content {
		if call, ok := block.AsAny().(anthropic.ToolUseBlock); ok {
			ids = append(ids, check.ID(string(call.Input)))
			results = append(results, anthropic.NewToolResultBlock(call.ID, check.ResultOf(string(call.Input)), false))
		}
	}
	return results, ids
}

func (m messages) errors(send sender) error {
	_, unknown := send(ask("nobody", "x"))
	_, limited := send(ask("gpt", check.Flaky))
	_, invalid := send(anthropic.MessageNewParams{Model: "gpt", MaxTokens: 100, Messages: []anthropic.MessageParam{}})
	return errors.Join(refused(unknown, 404, "not_found_error"), refused(limited, 429, "rate_limit_error"),
		refused(invalid, 400, "invalid_request_error"))
}

func (m messages) broken() error {
	_, err := m.stream(ask("gpt", check.Broken))
	return check.BreaksOff(err)
}

func (m messages) count() error {
	got, err := m.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: "gpt", Messages: ask("gpt", "12345678").Messages})
	if err != nil {
		return err
	}
	return check.Equal(got.InputTokens, int64(2))
}
