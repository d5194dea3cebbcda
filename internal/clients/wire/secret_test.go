package wire

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestSecretIsHiddenInEveryForm(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"CANARYaB3xY9q7Wzlongkey", `k/e+y=w&i"t<h odd%`} {
		s := NewSecrets(key)
		for name, text := range disguises(key) {
			got := string(s.OutOfAnswer([]byte("before " + text + " after")))
			if !strings.Contains(got, "[key]") || strings.Contains(got, key) || strings.Contains(got, text) {
				t.Errorf("%s: %s, want [key] instead of the key", name, got)
			}
			if name == "json escapes" || name == "slashes" {
				continue // errors are no JSON
			}
			expect.Contains(t, name+": in an error", s.OutOf(text), "[key]")
		}
	}
}

func TestOtherEscapesStay(t *testing.T) {
	t.Parallel()
	expect.Same(t, "out of answer", string(NewSecrets("longenoughkey").OutOfAnswer([]byte(`"a\u0022\u0041\\u0042\n"`))), `"a\"A\\u0042\n"`)
}

// disguises are the ways in which a key may appear, by name.
func disguises(key string) map[string]string {
	var escaped, percent strings.Builder
	for _, r := range key {
		fmt.Fprintf(&escaped, `\u%04X`, r)
		fmt.Fprintf(&percent, "%%%02X", r)
	}
	twice := url.QueryEscape(strings.ReplaceAll(url.QueryEscape(key), "+", "%20"))
	return map[string]string{
		"plain": key, "address in an address": twice, "characters of a page": characters(key, "&#%d;"),
		"a page of Go": template.HTMLEscapeString(key), "a page of mustache": strings.NewReplacer(
			"&", "&amp;", `"`, "&quot;", "<", "&lt;", "/", "&#x2F;", "=", "&#x3D;",
		).Replace(key),
		"punctuation of a page": references(key, "&#%d;"), "hex punctuation of a page": references(key, "&#x%x;"),
		"JSON in JSON": strings.ReplaceAll(strings.ToLower(escaped.String()), `\u`, `\\u`),
		"query":        "?key=" + url.QueryEscape(key), "path": url.PathEscape(key), "go": fmt.Sprintf("%q", key),
		"json escapes": escaped.String(), "upper hex": fmt.Sprintf("%X", key),
		"slashes":     strings.ReplaceAll(strings.ReplaceAll(key, `"`, `\"`), "/", `\/`),
		"lower query": lowerDigits(url.QueryEscape(key)), "percent": percent.String(),
		"lower percent": strings.ToLower(percent.String()), "hex": fmt.Sprintf("%x", key),
		"base64": base64.StdEncoding.EncodeToString([]byte(key)), "base64 at 1": base64.StdEncoding.EncodeToString([]byte(":" + key)),
		"base64 of a pair": base64.StdEncoding.EncodeToString([]byte("us:" + key + "xyz")),
	}
}
