package main

import (
	"encoding/base64"
	"errors"

	"google.golang.org/genai"

	"github.com/evalrun/evalrun/test/sdk/go/check"
)

// answers checks what the library does with one request.
type answers struct{ *genai.Models }

type sender func(model string, contents []*genai.Content) (string, error)

func (a answers) send(model string, contents []*genai.Content) (string, error) {
	got, err := a.GenerateContent(ctx, model, contents, nil)
	if err != nil {
		return "", err
	}
	return got.Text(), nil
}

func (a answers) stream(model string, contents []*genai.Content) (string, error) {
	said, _, err := a.pieces(model, contents)
	return said, err
}

// pieces is the text of a streamed answer, and the number of chunks that it came in.
func (a answers) pieces(model string, contents []*genai.Content) (said string, pieces int, err error) {
	for chunk, err := range a.GenerateContentStream(ctx, model, contents, nil) {
		if err != nil {
			return said, pieces, err
		}
		said += chunk.Text()
		pieces++
	}
	return said, pieces, nil
}

func (a answers) whole() error {
	got, err := a.GenerateContent(ctx, model, genai.Text(check.Text), &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("be kind", genai.RoleUser), CandidateCount: 2, Temperature: new(float32(0)),
		StopSequences: []string{"nine"},
	})
	if err != nil {
		return err
	}
	return errors.Join(check.Equal(got.Text(), check.Text[:len(check.Text)-4]), check.Equal(len(got.Candidates), 2),
		check.Equal(got.Candidates[0].FinishReason, genai.FinishReasonStop),
		check.True(got.UsageMetadata.PromptTokenCount > 0, "usage is counted"))
}

func (a answers) cutShort() error {
	got, err := a.GenerateContent(ctx, model, genai.Text(check.Text), &genai.GenerateContentConfig{MaxOutputTokens: 2})
	if err != nil {
		return err
	}
	return check.Equal(got.Candidates[0].FinishReason, genai.FinishReasonMaxTokens)
}

func (a answers) streamed() error {
	said, pieces, err := a.pieces(model, genai.Text(check.Text))
	return errors.Join(err, check.Equal(said, check.Text), check.True(pieces > 1, "it came in pieces"))
}

func (a answers) image() error {
	pixel, err := base64.StdEncoding.DecodeString(check.Pixel)
	if err != nil {
		return err
	}
	parts := []*genai.Part{genai.NewPartFromBytes(pixel, "image/png"), genai.NewPartFromText("what is it?")}
	said, err := a.send("gemini-pro-vision", []*genai.Content{genai.NewContentFromParts(parts, genai.RoleUser)})
	return errors.Join(err, check.Equal(said, "what is it?"))
}

func (a answers) modes() error {
	call := func(mode genai.FunctionCallingConfigMode) (*genai.GenerateContentResponse, error) {
		choice := &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode}}
		return a.GenerateContent(ctx, model, genai.Text("an order"), &genai.GenerateContentConfig{Tools: declared, ToolConfig: choice})
	}
	must, mustErr := call(genai.FunctionCallingConfigModeAny)
	never, neverErr := call(genai.FunctionCallingConfigModeNone)
	if err := errors.Join(mustErr, neverErr); err != nil {
		return err
	}
	return errors.Join(check.Equal(must.FunctionCalls()[0].Name, check.Tool), check.Equal(never.Text(), "an order"),
		check.Equal(len(never.FunctionCalls()), 0))
}

func (a answers) errors(send sender) error {
	_, unknown := send("nobody", genai.Text("x"))
	_, limited := send(model, genai.Text(check.Flaky))
	_, invalid := send(model, []*genai.Content{{Role: genai.RoleUser}})
	return errors.Join(refused(unknown, 404, "NOT_FOUND"), refused(limited, 429, "RESOURCE_EXHAUSTED"),
		refused(invalid, 400, "INVALID_ARGUMENT"))
}

func (a answers) broken() error {
	_, err := a.stream(model, genai.Text(check.Broken))
	return check.BreaksOff(err)
}

func (a answers) count() error {
	got, err := a.CountTokens(ctx, model, genai.Text("12345678"), nil)
	if err != nil {
		return err
	}
	return check.Equal(got.TotalTokens, int32(2))
}

func (a answers) embeddings() error {
	got, err := a.EmbedContent(ctx, "gemini-embedding-001", append(genai.Text("a"), genai.Text("b")...),
		&genai.EmbedContentConfig{OutputDimensionality: new(int32(16))})
	if err != nil {
		return err
	}
	sizes := []int{}
	for _, e := range got.Embeddings {
		sizes = append(sizes, len(e.Values))
	}
	return check.Equal(sizes, []int{16, 16})
}

func (a answers) models() error {
	found, all := false, 0
	for m, err := range a.All(ctx) {
		if err != nil {
			return err
		}
		found, all = found || m.Name == "models/"+model, all+1
	}
	one, err := a.Get(ctx, model, nil)
	if err != nil {
		return err
	}
	return errors.Join(check.True(found, model+" is in the list"), check.True(all > 7, "the list is whole"),
		check.Equal(one.InputTokenLimit, int32(30720)))
}
