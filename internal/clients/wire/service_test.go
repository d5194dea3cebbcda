package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	expect.Same(t, "models", got, want, cmp.AllowUnexported(known{}))
	expect.Same(t, "the model that embeds by default", NamedModel(eval.DefaultEmbeddingModel).Supports(MethodEmbed), true)
}

// A vendor's usual key is for its own hosts: not for hosts whose names contain them, and never over plain http.
func TestAVendorOwnsItsHostsOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vendor, address string
		want            bool
	}{
		{"openai", "https://api.openai.com/v1", true},
		{"openai", "https://api.openai.com/v1/", true},
		{"openai", "http://api.openai.com/v1", false},
		{"openai", "https://api.openai.com.evil.example/v1", false},
		{"openai", "https://api.openai.com:8443/v1", false},
		{"openai", "https://api.openai.com@evil.example/v1", false},
		{"openai", "https://evil.example/api.openai.com", false},
		{"openai", "http://127.0.0.1:8000/v1", false},
		{"azure", "https://mine.openai.azure.com/openai/v1", true},
		{"azure", "https://MINE.openai.azure.com/openai/v1", true},
		{"azure", "https://a.b.openai.azure.com/openai/v1", false},
		{"azure", "https://openai.azure.com.evil.example", false},
		{"bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", true},
		{"bedrock", "https://bedrock-runtime.s3.amazonaws.com/openai/v1", false},
		{"bedrock", "https://bucket.s3.us-east-1.amazonaws.com/openai/v1", false},
		{"openai-compatible", "https://models.example.com/v1", false},
	} {
		expect.Same(t, fmt.Sprintf("%s owns %s", c.vendor, c.address), VendorNamed(c.vendor).Owns(c.address), c.want)
	}
}

// What suites rely on is complete for each vendor.
func TestVendorsAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range Vendors() {
		switch {
		case seen[v.Name]:
			t.Errorf("%s is there twice", v.Name)
		case v.Protocol == "" || v.Model == "":
			t.Errorf("%s has no protocol or no example", v.Name)
		case (v.BaseURL == "") == (v.Address == ""):
			t.Errorf("%s has base URL %q and address %q, want one of them", v.Name, v.BaseURL, v.Address)
		case v.BaseURL != "" && CheckAddress(v.BaseURL) != "":
			t.Errorf("%s: %s", v.Name, CheckAddress(v.BaseURL))
		case v.BaseURL != "" && !v.Owns(v.BaseURL):
			t.Errorf("%s does not own %s", v.Name, v.BaseURL)
		}
		seen[v.Name] = true
	}
}
