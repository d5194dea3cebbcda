package wire

// MaxPromptBytes bounds the encoded contents of a request, text and images
// together: the 4 MB of the service.
const MaxPromptBytes = 4 << 20

// MaxImages is how many images one prompt may hold.
const MaxImages = 16

// Categories and Thresholds are the values that the service's specification
// names; others exist and pass through.
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

// DefaultEmbeddingModel embeds where a suite names no model for it.
const DefaultEmbeddingModel = "embedding-001"
