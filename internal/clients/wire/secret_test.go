package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"math/rand/v2"
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

const alphabet = `abcXYZ0189-_./+=&"<>\ %é`

// newKey is a key of 12 to 40 characters.
func newKey(random *rand.Rand) string {
	letters := []rune(alphabet)
	var b strings.Builder
	for range 12 + random.IntN(28) {
		b.WriteRune(letters[random.IntN(len(letters))])
	}
	return b.String()
}

func TestNoFormOfAKeyShowsInErrors(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		key := newKey(random)
		s := NewSecrets(key)
		inJSON, err := json.Marshal(key)
		expect.OK(t, err)
		plain := new(bytes.Buffer)
		encoder := json.NewEncoder(plain)
		encoder.SetEscapeHTML(false)
		expect.OK(t, encoder.Encode(key))
		for name, form := range map[string]string{
			"itself": key, "query": url.QueryEscape(key), "path": url.PathEscape(key), "JSON": strings.Trim(string(inJSON), `"`),
			"component": strings.ReplaceAll(url.QueryEscape(key), "+", "%20"), "slashes in JSON": strings.ReplaceAll(key, "/", `\/`),
			"path of slashes":   strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(key)),
			"JSON without HTML": strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(plain.String()), `"`), `"`),
			"Go":                fmt.Sprintf("%q", key), "hex": hex.EncodeToString([]byte(key)), "HEX": fmt.Sprintf("%X", key),
			"basic": base64.StdEncoding.EncodeToString([]byte("user:" + key)), "basic for addresses": base64.URLEncoding.EncodeToString(
				[]byte(":" + key),
			),
		} {
			got := s.OutOf("Get \"https://x.invalid/" + form + "\": refused")
			if strings.Contains(got, form) || !strings.Contains(got, "[key]") || !strings.HasPrefix(got, "Get ") ||
				!strings.HasSuffix(got, ": refused") {
				t.Errorf("%s of %q: %q, want [key] instead of the key, and the rest kept", name, key, got)
			}
		}
	}
}

// An answer in which the key is taken out is the same JSON otherwise.
func TestAnswersStayJSON(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		key := newKey(random)
		in := map[string]any{"text": "before " + key + " after", "other": "é\n\"\\ \u2028 /", "n": 1.5, "list": []any{key, nil, true}}
		want := map[string]any{"text": "before [key] after", "other": "é\n\"\\ \u2028 /", "n": 1.5, "list": []any{"[key]", nil, true}}
		data, err := json.Marshal(in)
		expect.OK(t, err)
		escaped := escapeAll(data)
		for name, data := range map[string][]byte{"as it is": data, "all escaped": escaped} {
			var got map[string]any
			if err := json.Unmarshal(NewSecrets(key).OutOfAnswer(data), &got); err != nil {
				t.Errorf("%s, %q: %v, want no error", name, key, err)
				continue
			}
			expect.Same(t, fmt.Sprintf("%s, %q", name, key), got, want)
		}
	}
}

// escapeAll writes the ASCII letters of a JSON text's strings as escapes, which means the same.
func escapeAll(data []byte) []byte {
	var out bytes.Buffer
	inString := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			n := 2
			if data[i+1] == 'u' {
				n = 6
			}
			out.Write(data[i : i+n])
			i += n - 1
		case c == '"':
			inString = !inString
			out.WriteByte(c)
		case inString && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9'):
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			out.WriteByte(c)
		}
	}
	return out.Bytes()
}

// Short keys may be words of an answer; no key at all changes nothing.
func TestWordsOfAnswersStay(t *testing.T) {
	t.Parallel()
	const answer = `{"text":"the key is short \u0041\/ \"x\""}`
	for _, keys := range [][]string{nil, {""}, {"key"}, {"short"}, {"the", "is", "text"}} {
		s := NewSecrets(keys...)
		expect.Same(t, fmt.Sprintf("%q in an answer", keys), string(s.OutOfAnswer([]byte(answer))), answer)
		expect.Same(t, fmt.Sprintf("%q in a text", keys), s.OutOfText(answer), answer)
	}
	expect.Same(t, "in an error", NewSecrets("short").OutOf("a short key"), "a [key] key")
}

// Where one key is the beginning of another, nothing of the longer one is left.
func TestTheLongestKeyGoesFirst(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"secret-one", "secret-one-and-more"}, {"secret-one-and-more", "secret-one"}} {
		expect.Same(t, fmt.Sprintf("%q", keys), NewSecrets(keys...).OutOf("x secret-one-and-more y secret-one z"), "x [key] y [key] z")
	}
}

func TestPasswordsOfProxiesAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		address string
		want    []string
	}{
		"a password":          {"http://user:pass-word@proxy.invalid:3128", []string{"pass-word"}},
		"one that is escaped": {"http://user:p%40ss@proxy.invalid", []string{"p%40ss", "p@ss"}},
		"an @ inside":         {"http://user:p@ss@proxy.invalid", []string{"p@ss"}},
		"a user alone":        {"http://token@proxy.invalid", []string{"token"}},
		"no scheme":           {"user:pass-word@proxy.invalid:3128", []string{"pass-word"}},
		"neither":             {"http://proxy.invalid:3128", nil},
		"no proxy":            {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
				t.Setenv(variable, test.address)
			}
			expect.Same(t, test.address, OfProxies(), test.want)
		})
	}
}

func TestFingerprintsHideTheKey(t *testing.T) {
	t.Parallel()
	a, b := Fingerprint("a key"), Fingerprint("another key")
	if a == b || len(a) != 16 || Fingerprint("") != "" || a != Fingerprint("a key") {
		t.Errorf("got %v, %v, want the same 16 digits of one key, others of another, and none of none", a, b)
	}
}
