package wire

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Secrets is a set of secrets to mask.
type Secrets struct {
	keys    []string
	forms   finder            // of keys long enough to be masked in answers
	answers *strings.Replacer // for the same forms
	errors  *strings.Replacer
}

// minAnswer is the length from which a key is masked in answers too. A shorter one could be an ordinary
// word, and services hand out longer keys.
const minAnswer = 8

// minError is the length from which a key is masked in errors.
const minError = 4

// NewSecrets returns a Set of keys. Empty keys are ignored.
func NewSecrets(keys ...string) *Secrets {
	s := &Secrets{keys: keys}
	var all, long []string
	for _, key := range keys {
		forms := formsOf(key)
		all = append(all, forms...)
		if len(key) >= minAnswer {
			long = append(long, forms...)
		}
	}
	slices.Sort(long)
	long = slices.Compact(long)
	s.forms = newFinder(long)
	s.errors, s.answers = replacer(all), replacer(long)
	return s
}

// OfVariables returns a Set of the values of private variables, which a program reads from its environment.
func OfVariables(names []string) *Secrets {
	var keys []string
	for _, name := range names {
		if files.IsPrivate(name, nil) || strings.HasSuffix(name, "_API_KEY") {
			keys = append(keys, os.Getenv(name))
		}
	}
	return NewSecrets(keys...)
}

// replacer prefers the longest of several forms that begin at one position.
func replacer(forms []string) *strings.Replacer {
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, hidden)
	}
	return strings.NewReplacer(pairs...)
}

// formsOf lists the key in all encodings in which it may appear.
func formsOf(key string) []string {
	if key == "" {
		return nil
	}
	var percent strings.Builder
	for i := range len(key) {
		fmt.Fprintf(&percent, "%%%02x", key[i])
	}
	inJSON, inGo := string(wirejson.AppendString(nil, key)), strconv.Quote(key)
	forHTML, _ := json.Marshal(key) // a string always encodes
	forms := []string{
		key, string(forHTML[1 : len(forHTML)-1]), url.QueryEscape(key), url.PathEscape(key), inJSON[1 : len(inJSON)-1], inGo[1 : len(inGo)-1],
		percent.String(), strings.ToUpper(percent.String()), hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
		lowerDigits(url.QueryEscape(key)), lowerDigits(url.PathEscape(key)), html.EscapeString(key),
		strings.ReplaceAll(key, "/", `\/`), // JSON as some encoders write it
	}
	component := strings.ReplaceAll(url.QueryEscape(key), "+", "%20") // as most languages escape a component of a URL
	withSlashes := strings.ReplaceAll(component, "%2F", "/")
	forms = append(forms, component, lowerDigits(component), withSlashes, lowerDigits(withSlashes))
	forms = append(forms, url.QueryEscape(component), url.QueryEscape(lowerDigits(component)))
	for _, format := range []string{"&#%d;", "&#x%x;", "&#x%X;"} {
		forms = append(forms, references(key, format), characters(key, format))
	}
	for _, page := range []*strings.Replacer{ofGo, ofMustache} {
		forms = append(forms, page.Replace(html.EscapeString(key)))
	}
	for _, format := range []string{`\u%04x`, `\u%04X`, `\\u%04x`, `\\u%04X`} { // in JSON, and in JSON inside a JSON string
		forms = append(forms, characters(key, format))
	}
	for offset := range 3 {
		forms = append(forms, base64At(base64.StdEncoding, key, offset), base64At(base64.URLEncoding, key, offset))
	}
	return slices.DeleteFunc(forms, func(form string) bool { return len(form) < minError })
}

func characters(key, format string) string {
	var out strings.Builder
	for _, r := range key {
		fmt.Fprintf(&out, format, r)
	}
	return out.String()
}

// HTML escapes of template languages, besides the five characters that all of them escape.
var (
	ofGo       = strings.NewReplacer("+", "&#43;")
	ofMustache = strings.NewReplacer("/", "&#x2F;", "=", "&#x3D;", "`", "&#x60;", "&#34;", "&quot;")
)

// references escapes punctuation by number, as many HTML encoders do.
func references(key, format string) string {
	return punctuation().ReplaceAllStringFunc(key, func(mark string) string { return characters(mark, format) })
}

var punctuation = pattern(`[^\pL\pN_.~-]`)

func lowerDigits(escaped string) string {
	return percentEscape().ReplaceAllStringFunc(escaped, strings.ToLower)
}

var percentEscape = pattern(`%[0-9A-F]{2}`)

// base64At returns the part of the key's base64 form that does not depend on its surroundings, when the key
// is at an offset of a longer text.
func base64At(enc *base64.Encoding, key string, offset int) string {
	out := enc.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, offset), key...))
	from := []int{0, 2, 3}[offset]
	to := (offset + len(key)) * 8 / 6
	if to-from < 4 {
		return "" // too short to be recognized
	}
	return out[from:to]
}

// Keys returns the secrets in the set.
func (s *Secrets) Keys() []string { return s.keys }

// OutOf masks secrets in evalrun's own texts, such as errors.
func (s *Secrets) OutOf(text string) string { return s.errors.Replace(text) }

// OutOfText masks secrets in the decoded text of an answer.
func (s *Secrets) OutOfText(text string) string {
	if !hasAny(&s.forms, text) {
		return text
	}
	return s.answers.Replace(text)
}

// OutOfAnswer masks secrets in a reply. It resolves escapes such as \u0041, which could hide the key.
func (s *Secrets) OutOfAnswer(data []byte) []byte {
	if len(s.forms.words) == 0 {
		return data
	}
	if bytes.IndexByte(data, '\\') >= 0 {
		data = plainEscapes(data)
	}
	if hasAny(&s.forms, data) {
		return []byte(s.answers.Replace(string(data)))
	}
	return data
}

// OutOfCandidate masks secrets in a candidate that was joined from pieces, since a key may be split across them, and reports whether
// there was one in its texts.
func (s *Secrets) OutOfCandidate(one *eval.Candidate) (found bool) {
	mask := func(texts ...*string) {
		for _, text := range texts {
			clean := s.OutOfText(*text)
			found = found || clean != *text
			*text = clean
		}
	}
	mask(&one.Text, &one.FinishReason, &one.VendorReason)
	for i := range one.Pieces {
		switch p := one.Pieces[i].(type) {
		case eval.TextPiece:
			mask(&p.Text)
			one.Pieces[i] = p
		case eval.ReasoningPiece:
			mask(&p.Reasoning)
			one.Pieces[i] = p
		case eval.CallPiece:
			mask(&p.Call.ID, &p.Call.Name)
			if p.Call.Args != nil {
				p.Call.Args = s.OutOfAnswer(p.Call.Args)
			}
		case eval.OtherPiece:
			one.Pieces[i] = eval.OtherPiece{Other: s.OutOfAnswer(p.Other)}
		}
	}
	if one.Raw != nil {
		one.Raw = s.OutOfAnswer(one.Raw)
	}
	return found
}

// plainEscapes writes the escapes of printable ASCII in their shortest form. The JSON means the same.
func plainEscapes(data []byte) []byte {
	var out []byte
	copied := 0
	for i := 0; ; {
		next := bytes.IndexByte(data[i:], '\\')
		if i += next; next < 0 || i+1 == len(data) {
			break
		}
		n := 2
		if data[i+1] == 'u' || data[i+1] == '/' { // others are short
			out = append(out, data[copied:i]...)
			out, n = plainEscape(out, data[i:])
			copied = i + n
		}
		i += n
	}
	if copied == 0 {
		return data
	}
	return append(out, data[copied:]...)
}

// plainEscape appends the escape at the beginning of data in its shortest form, and returns its length in data.
func plainEscape(out, data []byte) ([]byte, int) {
	code := escapedCode(data)
	switch {
	case code == '"' || code == '\\':
		return append(out, '\\', byte(code)), 6
	case code >= ' ' && code <= '~':
		return append(out, byte(code)), 6
	case data[1] == '/':
		return append(out, '/'), 2
	}
	return append(out, '\\', data[1]), 2
}

// escapedCode returns the character of the \uXXXX escape at the beginning of data, 0 if there is none.
func escapedCode(data []byte) uint64 {
	if len(data) < 6 || data[1] != 'u' {
		return 0
	}
	code, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return code
}

// OfProxies returns the passwords in the proxy addresses of the environment, which some errors quote. A
// user name without a password counts as a password.
func OfProxies() []string {
	var out []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		password := passwordIn(os.Getenv(name))
		if password == "" {
			continue
		}
		out = append(out, password)
		if plain, err := url.PathUnescape(password); err == nil && plain != password {
			out = append(out, plain)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func passwordIn(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	end := strings.LastIndexByte(address, '@')
	if end < 0 {
		return ""
	}
	user, password, _ := strings.Cut(address[:end], ":")
	return cmp.Or(password, user)
}

// Fingerprint identifies a key without revealing it. It is the beginning of an HMAC (RFC 2104, with
// SHA-256) under the key: everyone with the key gets the same value, from which the key cannot be computed.
// It is "" without a key.
func Fingerprint(key string) string {
	if key == "" {
		return ""
	}
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte("evalrun ledger"))
	return hex.EncodeToString(sum.Sum(nil))[:16]
}
