package wire

import "testing"

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
		if got := VendorNamed(c.vendor).Owns(c.address); got != c.want {
			t.Errorf("%s owns %s: %t, want %t", c.vendor, c.address, got, c.want)
		}
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
