package overview

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// What a target does not set is the model's, and is marked so.
func TestSamplingMarksWhatIsTheModels(t *testing.T) {
	t.Parallel()
	model := wire.NamedModel("svc-pro")
	for _, test := range []struct {
		c    *eval.GenerationConfig
		m    *eval.Model
		want string
	}{
		{nil, model, "temperature 0.9 (default), topP 1 (default), topK 1 (default)"},
		{&eval.GenerationConfig{Temperature: new(0.0)}, model, "temperature 0, topP 1 (default), topK 1 (default)"},
		{&eval.GenerationConfig{Temperature: new(0.5), TopP: new(0.1), TopK: new(3)}, model, "temperature 0.5, topP 0.1, topK 3"},
		{&eval.GenerationConfig{TopK: new(3)}, nil, "topK 3"},
		{nil, wire.NamedModel("embedding-001"), ""},
		{nil, nil, ""},
	} {
		if got := NewSampling(test.c, test.m).String(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
