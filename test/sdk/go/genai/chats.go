package main

import (
	"errors"

	"google.golang.org/genai"

	"github.com/evalrun/evalrun/test/sdk/go/check"
)

// chats checks chats whose function is called.
type chats struct{ *genai.Chats }

type turn func(*genai.Chat, []*genai.Part) (said string, calls []*genai.FunctionCall, err error)

var declared = []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
	{Name: check.Tool, Description: "d", ParametersJsonSchema: check.Schema()},
}}}

func whole(chat *genai.Chat, parts []*genai.Part) (string, []*genai.FunctionCall, error) {
	got, err := chat.Send(ctx, parts...)
	if err != nil {
		return "", nil, err
	}
	return got.Text(), got.FunctionCalls(), check.True(got.UsageMetadata.TotalTokenCount > 0, "usage is counted")
}

func streamed(chat *genai.Chat, parts []*genai.Part) (said string, calls []*genai.FunctionCall, err error) {
	for chunk, err := range chat.SendStream(ctx, parts...) {
		if err != nil {
			return said, calls, err
		}
		said, calls = said+chunk.Text(), append(calls, chunk.FunctionCalls()...)
	}
	return said, calls, nil
}

// loop answers calls in a chat. The thought's signature must come back as it was: the library keeps it in the chat's history.
func (c chats) loop(send turn) error {
	chat, err := c.Create(ctx, model, &genai.GenerateContentConfig{
		Tools: declared, SystemInstruction: genai.NewContentFromText("be kind", genai.RoleUser),
	}, nil)
	if err != nil {
		return err
	}
	_, calls, err := send(chat, []*genai.Part{genai.NewPartFromText(check.Orders)})
	if err != nil {
		return err
	}
	results, ids := results(calls)
	if err := check.Equal(ids, check.IDs()); err != nil {
		return err
	}
	said, _, err := send(chat, results)
	return errors.Join(err, check.Equal(said, check.Answer))
}

// results are those of calls, and the orders that the calls ask for.
func results(calls []*genai.FunctionCall) (results []*genai.Part, ids []string) {
	for _, call := range calls {
		id, _ := call.Args["id"].(string)
		result := &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: check.Result(id)}
		ids, results = append(ids, id), append(results, &genai.Part{FunctionResponse: result})
	}
	return results, ids
}
