package wire

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// Methods of the service by their names in eval.Model.SupportedGenerationMethods.
const (
	MethodGenerate    = "generateContent"
	MethodStream      = "streamGenerateContent"
	MethodCountTokens = "countTokens"
	MethodEmbed       = "embedContent"
	MethodEmbedBatch  = "batchEmbedContents"
)

// NamedModels are the seven models that the service's specification names, with the limits and sampling defaults it
// gives: what is known of them without a request.
func NamedModels() []eval.Model {
	model := func(id string, in, out int, methods ...string) eval.Model {
		return eval.Model{
			Name:                       "models/" + id,
			Version:                    "001",
			DisplayName:                id,
			InputTokenLimit:            in,
			OutputTokenLimit:           out,
			SupportedGenerationMethods: methods,
		}
	}
	sampling := func(m eval.Model, temperature, topP float64, topK int) eval.Model {
		m.Temperature = new(temperature)
		m.TopP = new(topP)
		m.TopK = new(topK)
		return m
	}
	return []eval.Model{
		sampling(model("chat-bison-001", 4096, 1024, "generateMessage", "countMessageTokens"), 0.25, 0.95, 40),
		sampling(model("text-bison-001", 8196, 1024, "generateText", "countTextTokens", "createTunedTextModel"), 0.7, 0.95, 40),
		model("embedding-gecko-001", 1024, 1, "embedText", "countTextTokens"),
		sampling(model("svc-pro", 30720, 2048, MethodGenerate, MethodCountTokens), 0.9, 1, 1),
		sampling(model("svc-pro-vision", 12288, 4096, MethodGenerate, MethodCountTokens), 0.4, 1, 32),
		model("embedding-001", 2048, 1, MethodEmbed),
		sampling(model("aqa", 7168, 1024, "generateAnswer"), 0.2, 1, 40),
	}
}

// NamedModel is the entry of NamedModels with the given id, nil when it is not
// among them.
func NamedModel(id string) *eval.Model {
	models := NamedModels()
	if i := slices.IndexFunc(models, func(m eval.Model) bool { return m.ID() == id }); i >= 0 {
		return &models[i]
	}
	return nil
}
