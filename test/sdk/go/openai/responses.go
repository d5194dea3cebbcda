package main

import (
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/evalrun/evalrun/test/sdk/go/check"
)

// replies checks Responses.
type replies struct{ responses.ResponseService }

type replySender func(responses.ResponseNewParams) (*responses.Response, error)

func input(model, text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}}
}

func (r replies) send(request responses.ResponseNewParams) (*responses.Response, error) {
	return check.Typed(r.New(ctx, request))
}

func (r replies) stream(request responses.ResponseNewParams) (*responses.Response, error) {
	got, _, err := r.pieces(request)
	return got, err
}

// pieces is the response of a stream's last event, and the text of the pieces before it.
func (r replies) pieces(request responses.ResponseNewParams) (*responses.Response, string, error) {
	events, said := r.NewStreaming(ctx, request), ""
	var last responses.ResponseStreamEventUnion
	for events.Next() {
		last = events.Current()
		if err := check.Fields(last); err != nil {
			return nil, said, err
		}
		if last.Type == "response.output_text.delta" {
			said += last.Delta
		}
	}
	if err := events.Err(); err != nil {
		return nil, said, err
	}
	return &last.Response, said, check.Equal(last.Type, "response.completed")
}

func (r replies) whole() error {
	request := input("gpt", check.Text)
	request.Instructions = openai.String("be kind")
	got, err := r.send(request)
	if err != nil {
		return err
	}
	return errors.Join(check.Equal(got.OutputText(), check.Text), check.Equal(got.Status, responses.ResponseStatusCompleted),
		check.True(got.Usage.InputTokens > 0, "usage is counted"))
}

func (r replies) cutShort() error {
	request := input("gpt", check.Text)
	request.MaxOutputTokens = openai.Int(2)
	got, err := r.send(request)
	if err != nil {
		return err
	}
	return errors.Join(check.Equal(got.Status, responses.ResponseStatusIncomplete),
		check.Equal(string(got.IncompleteDetails.Reason), "max_output_tokens"))
}

func (r replies) streamed() error {
	got, said, err := r.pieces(input("gpt", check.Text))
	if err != nil {
		return err
	}
	return errors.Join(check.Equal(said, check.Text), check.Equal(got.OutputText(), check.Text),
		check.True(got.Usage.OutputTokens > 0, "usage is counted"))
}

func (r replies) image() error {
	image := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
	image.OfInputImage.ImageURL = openai.String("data:image/png;base64," + check.Pixel)
	request := input("gemini-pro-vision", "")
	request.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
		responses.ResponseInputItemParamOfMessage(responses.ResponseInputMessageContentListParam{
			image, responses.ResponseInputContentParamOfInputText("what is it?"),
		}, responses.EasyInputMessageRoleUser),
	}}
	got, err := r.send(request)
	if err != nil {
		return err
	}
	return check.Equal(got.OutputText(), "what is it?")
}

func (r replies) loop(send replySender) error {
	items := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(check.Orders, responses.EasyInputMessageRoleUser)}
	request := responses.ResponseNewParams{Model: "gpt", Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
		Name: check.Tool, Description: openai.String("d"), Parameters: check.Schema(), Strict: openai.Bool(false),
	}}}}
	request.Input.OfInputItemList = items
	first, err := send(request)
	if err != nil {
		return err
	}
	output, ids := next(first)
	if err := check.Equal(ids, check.IDs()); err != nil {
		return err
	}
	request.Input.OfInputItemList = append(items, output...)
	second, err := send(request)
	if err != nil {
		return err
	}
	return errors.Join(check.Equal(first.Output[0].Type, "reasoning"), check.Equal(second.OutputText(), check.Answer))
}

// next is what goes back for a response with calls, its own items and the results, and the orders that the calls ask for.
func next(got *responses.Response) (items responses.ResponseInputParam, ids []string) {
	results := responses.ResponseInputParam{}
	for _, item := range got.Output {
		switch one := item.AsAny().(type) {
		case responses.ResponseReasoningItem:
			thought := one.ToParam()
			items = append(items, responses.ResponseInputItemUnionParam{OfReasoning: &thought})
		case responses.ResponseFunctionToolCall:
			call, result := one.ToParam(), responses.ResponseInputItemParamOfFunctionCallOutput(check.ResultOf(one.Arguments))
			result.OfFunctionCallOutput.CallID = openai.String(one.CallID)
			ids, results = append(ids, check.ID(one.Arguments)), append(results, result)
			items = append(items, responses.ResponseInputItemUnionParam{OfFunctionCall: &call})
		}
	}
	return append(items, results...), ids
}

func (r replies) errors(send replySender) error {
	_, unknown := send(input("nobody", "x"))
	_, limited := send(input("gpt", check.Flaky))
	empty := responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{}}
	_, invalid := send(responses.ResponseNewParams{Model: "gpt", Input: empty})
	return errors.Join(refused(unknown, 404, "model_not_found"), refused(limited, 429, "rate_limit_exceeded"), refused(invalid, 400, ""))
}

func (r replies) broken() error {
	_, err := r.stream(input("gpt", check.Broken))
	return check.BreaksOff(err)
}
