package wire

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestNamedModelsAreFoundByTheirID(t *testing.T) {
	t.Parallel()
	for _, m := range NamedModels() {
		found := NamedModel(m.ID())
		if found == nil {
			t.Fatalf("%s: got no model, want one", m.ID())
		}
		expect.Same(t, m.ID(), *found, m)
	}
	for _, id := range []string{"", "svc", "models/svc-pro", "SVC-PRO"} {
		if m := NamedModel(id); m != nil {
			t.Errorf("%q is %s, want no model", id, m.Name)
		}
	}
	changed := NamedModel("svc-pro")
	*changed.Temperature, changed.SupportedGenerationMethods[0] = 7, "other"
	expect.Same(t, "temperature, when another copy was changed", *NamedModel("svc-pro").Temperature, 0.9)
	expect.Same(t, "its methods", NamedModel("svc-pro").Supports(MethodGenerate), true)
}

func TestNamedModelsAreAsSpecified(t *testing.T) {
	t.Parallel()
	type known struct {
		in, out  int
		generate bool
		sampling string
	}
	want := map[string]known{
		"chat-bison-001": {4096, 1024, false, "set"}, "text-bison-001": {8196, 1024, false, "set"},
		"embedding-gecko-001": {1024, 1, false, ""}, "svc-pro": {30720, 2048, true, "set"},
		"svc-pro-vision": {12288, 4096, true, "set"}, "embedding-001": {2048, 1, false, ""}, "aqa": {7168, 1024, false, "set"},
	}
	got := map[string]known{}
	for _, m := range NamedModels() {
		k := known{m.InputTokenLimit, m.OutputTokenLimit, m.Supports(MethodGenerate), ""}
		if m.Temperature != nil && m.TopP != nil && m.TopK != nil {
			k.sampling = "set"
		}
		got[m.ID()] = k
		if !strings.HasPrefix(m.Name, "models/") || m.Version == "" || m.DisplayName == "" {
			t.Errorf("got %+v, want a name, a version and a display name", m)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d models, want %d", len(got), len(want))
	}
	for id, k := range want {
		if got[id] != k {
			t.Errorf("%s: got %+v, want %+v", id, got[id], k)
		}
	}
	expect.Same(t, "the model that embeds by default", NamedModel(eval.DefaultEmbeddingModel).Supports(MethodEmbed), true)
}
