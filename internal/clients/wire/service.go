package wire

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// Names in headers.
const (
	// DefaultHeaderPrefix begins the service's own headers: x-svc-api-key.
	DefaultHeaderPrefix = "x-svc"
	// TrialHeader names the trial of a request, for evalrun's own emulator. It is sent nowhere else.
	TrialHeader = "X-Evalrun-Trial"
	// EmulatorName is how evalrun's emulator calls itself in the Server header.
	EmulatorName = "evalrun-emulator"
)

// APIVersions are the versions of the service's interface, the default first.
var APIVersions = []string{"v1", "v1beta"}

// ImageTypes are the media types of images that the service takes.
var ImageTypes = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}

// MaxPromptBytes bounds the encoded texts and images of a request: the 4 MB of the service.
const MaxPromptBytes = 4 << 20

// MaxImages is how many images one prompt may hold.
const MaxImages = 16

// Categories and Thresholds are those of the service's specification; others pass through.
var (
	Categories = []string{
		"HARM_CATEGORY_SEXUALLY_EXPLICIT", "HARM_CATEGORY_HATE_SPEECH",
		"HARM_CATEGORY_HARASSMENT", "HARM_CATEGORY_DANGEROUS_CONTENT",
	}
	Thresholds = []string{"BLOCK_ONLY_HIGH"}
)

// MaxEmbedTexts is how many texts one call may embed.
const MaxEmbedTexts = 100

// MaxEmbedBytes is how long the texts of one call are together at most, unless one alone is longer.
const MaxEmbedBytes = MaxPromptBytes / 2

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

// NamedModel is the entry of NamedModels with an id, nil for none.
func NamedModel(id string) *eval.Model {
	models := NamedModels()
	if i := slices.IndexFunc(models, func(m eval.Model) bool { return m.ID() == id }); i >= 0 {
		return &models[i]
	}
	return nil
}
