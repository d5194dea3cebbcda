package eval

// EmbedCall requests the vectors of texts, in one call of the service.
type EmbedCall struct {
	Model      string
	APIVersion string
	Service    string   // by name; "" for the unnamed one
	Texts      []string // from 1 to wire.MaxEmbedTexts
	Timing     Timing
}
