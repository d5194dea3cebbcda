package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// canaries are the secrets of these tests. The beginning of each is found wherever it turns up; the rest are characters
// that are written in many ways.
var canaries = map[string]string{
	"key": `kEyqZ7w2Rt9bLm4/+=&"'<%k`, "password": `pAsHj6v1Ns8dXc3/+=&"'<%p`, "access": `aCcUy5g0Fo7eKb2/+=&"'<%a`,
	"refresh": `rEfTi4h9Gp6fJn1/+=&"'<%r`,
	"secret":  `sEcOw3k8Hq5gZv0/+=&"'<%s`, "code": `cOdPe2l7Ir4hVx9/+=&"'<%c`, "renewed": `nEwAr1m6Js3iUz8/+=&"'<%n`,
}

// encodings are the ways in which a service may write what it was sent.
var encodings = []struct {
	name string
	of   func(string) string
}{
	{"plain", func(s string) string { return s }},
	{"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
	{"unicode", func(s string) string { return eachByte(s, `\u00%02X`) }},
	{"query", url.QueryEscape},
	{"hex", func(s string) string { return fmt.Sprintf("%x", s) }},
	{"base64 at 1", func(s string) string { return base64.URLEncoding.EncodeToString([]byte(":" + s + ":")) }},
	{"percent", func(s string) string { return eachByte(s, "%%%02x") }},
	{"html", html.EscapeString},
	{"base64 at 2", func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("u:" + s)) }},
	{"upper hex", func(s string) string { return fmt.Sprintf("%X", s) }},
	{"path", url.PathEscape},
}

func eachByte(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

// needles are the beginning of a canary in every form, and whether case matters in it.
func needles(canary string) map[string]bool {
	begin := canary[:14]
	out := map[string]bool{
		strings.ToLower(begin):      false,
		fmt.Sprintf("%x", begin):    false,
		eachByte(begin, "%%%02x"):   false,
		eachByte(begin, `\u00%02x`): false,
	}
	for _, before := range []string{"", "\x00", "\x00\x00"} {
		one := base64.RawStdEncoding.EncodeToString([]byte(before + begin + "\x00"))
		two := base64.RawStdEncoding.EncodeToString([]byte(strings.ReplaceAll(before, "\x00", "\xff") + begin + "\xff"))
		core := ""
		for i := range one {
			if one[i] == two[i] {
				core += one[i : i+1]
			}
		}
		out[core] = true
		out[strings.NewReplacer("+", "-", "/", "_").Replace(core)] = true
	}
	return out
}

// leaks finds canaries in a text and shows them with the text around them.
func leaks(text string) []string {
	var out []string
	lower := strings.ToLower(text)
	for name, canary := range canaries {
		for needle, exact := range needles(canary) {
			in := lower
			if exact {
				in = text
			}
			if i := strings.Index(in, needle); i >= 0 && len(in) == len(text) {
				out = append(out, fmt.Sprintf("%s: ...%q...", name, text[max(0, i-60):min(len(text), i+60)]))
			}
		}
	}
	return out
}

// given is what a request gave away, for an answer to repeat: the secrets in it, in one encoding.
func given(r *http.Request, encode func(string) string) string {
	form := url.Values{}
	if strings.Contains(r.Header.Get("Content-Type"), "form") {
		body, _ := io.ReadAll(r.Body)
		form, _ = url.ParseQuery(string(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	values := []string{r.Header.Get("X-Svc-Api-Key"), r.URL.Query().Get("key")}
	for _, name := range []string{"Proxy-Authorization", "Authorization"} {
		kind, value, _ := strings.Cut(r.Header.Get(name), " ")
		plain, err := base64.StdEncoding.DecodeString(value)
		if kind == "Basic" && err == nil {
			values = append(values, strings.TrimPrefix(string(plain), "user:"))
		}
		values = append(values, value)
	}
	for _, name := range []string{"refresh_token", "client_secret", "code", "token"} {
		values = append(values, form.Get(name))
	}
	var out []string
	for _, v := range values {
		if v != "" {
			out = append(out, encode(v))
		}
	}
	return strings.Join(out, " ")
}

func givenInAll(r *http.Request) string {
	out := ""
	for _, e := range encodings {
		out += e.name + " " + given(r, e.of) + " "
	}
	return out
}

// inJSON writes a JSON string, and leaves the escapes of characters in it alone.
func inJSON(text string) string {
	out, _ := json.Marshal(text)
	return strings.ReplaceAll(string(out), `\\u00`, `\u00`)
}

// plain is given without any encoding.
func plain(r *http.Request) string { return given(r, encodings[0].of) }

// raw takes over the connection and writes an answer that breaks the rules of HTTP.
func raw(format string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		text := strings.ReplaceAll(format, "TOLD", plain(r))
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}
}

// body answers with a status and a text in which QUOTED, PLAIN and ALL stand for the secrets.
func body(status int, encoding int, text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		one := given(r, encodings[encoding%len(encodings)].of)
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = strings.NewReplacer("QUOTED", inJSON(one), "PLAIN", one, "ALL", inJSON(givenInAll(r))).WriteString(w, text)
	}
}

const aModel = `"name": "models/svc-pro", "version": "1", "displayName": ALL, "description": ALL,
	"inputTokenLimit": 30720, "outputTokenLimit": 2048,
	"supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens", "embedContent", "batchEmbedContents", QUOTED]`

// good is an answer to everything, full of echoes.
const good = `{` + aModel + `, "models": [{` + aModel + `}], "totalTokens": 3, "embedding": {"values": [1, 2]}, "nextPageToken": QUOTED,
	QUOTED: ALL,
	"candidates": [{"content": {"role": ALL, "parts": [{"text": ALL}, {"thought": true, "text": ALL}]}, "finishReason": "STOP",
	"finishMessage": ALL, "own": {QUOTED: [ALL]},
	"safetyRatings": [{"category": QUOTED, "probability": QUOTED}], "citationMetadata": {"citationSources": [{"uri": ALL}]}}],
	"modelVersion": ALL, "promptFeedback": {"safetyRatings": [{"category": ALL, "probability": "LOW"}]}}`

// failure is a row of the table: how a service goes wrong.
type failure struct {
	name   string
	answer func(http.ResponseWriter, *http.Request)
	base   string // of the service; default: the hostile one, through the proxy where the key is not in the query
	proxy  string // default: with user and password
}

func failures(plainHost, tlsURL string) []failure {
	out := []failure{
		{name: "good answer", answer: body(200, 0, good)},
		{
			name: "good token",
			answer: body(
				200, 0,
				strings.TrimSuffix(good, "}")+`, "token_type": "Bearer", "scope": QUOTED, "access_token": `+inJSON(canaries["renewed"])+"}",
			),
		},
		{name: "html", answer: body(200, 7, "<html><p>PLAIN</p></html>")},
		{name: "malformed", answer: body(200, 0, `{"candidates": [ALL`)},
		{
			name: "types",
			answer: body(
				200, 0,
				`{"candidates": ALL, "totalTokens": ALL, "name": [ALL], "models": ALL, "embedding": ALL, "access_token": [ALL], "error": ALL}`,
			),
		},
		{name: "error in 200", answer: body(200, 2, `{"error": {"message": QUOTED, "status": QUOTED, "code": QUOTED}}`)},
		{
			name:   "stream error",
			answer: body(200, 0, `[{"candidates": [{"content": {"parts": [{"text": ALL}]}}]}, {"error": {"message": QUOTED}}, PLAIN`),
		},
		{name: "events", answer: body(200, 3, "event: error\ndata: {\"error\": {\"message\": QUOTED}}\n\ndata: PLAIN\n\n")},
		{
			name: "not enabled",
			answer: body(
				403, 0,
				`{"error": {"message": "API not enabled", "details": [{"reason": QUOTED, "metadata": {"activationUrl": QUOTED}}]}}`,
			),
		},
		{name: "spread", answer: spread},
		{name: "headers", answer: func(w http.ResponseWriter, r *http.Request) {
			for _, name := range []string{"X-Echo", "Retry-After", "Content-Type", "Server", "Www-Authenticate", "Set-Cookie"} {
				w.Header().Set(name, plain(r))
			}
			w.WriteHeader(500)
		}},
		{name: "content encoding", answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", plain(r))
			w.WriteHeader(200)
		}},
		{name: "redirect", answer: func(w http.ResponseWriter, r *http.Request) {
			to := &url.URL{Scheme: "http", Host: "elsewhere.invalid", Path: "/" + plain(r), RawQuery: plain(r), User: url.User(plain(r))}
			w.Header().Set("Location", to.String())
			w.WriteHeader(307)
		}},
		{name: "status line", answer: raw("HTTP/1.1 400 TOLD\r\nContent-Length: 0\r\n\r\n")},
		{name: "no http", answer: raw("TOLD\r\n")},
		{name: "status", answer: raw("HTTP/1.1 TOLD\r\n\r\n")},
		{name: "switched", answer: raw("HTTP/1.1 101 TOLD\r\n\r\n")},
		{name: "header", answer: raw("HTTP/1.1 200 OK\r\nTOLD\r\n\r\n")},
		{name: "length", answer: raw("HTTP/1.1 200 OK\r\nContent-Length: TOLD\r\n\r\n")},
		{name: "transfer", answer: raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: TOLD\r\n\r\n")},
		{name: "chunk", answer: raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nTOLD\r\n")},
		{name: "unasked", answer: raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 TOLD\r\n\r\n")},
	}
	return slices.Concat(out, unreachable(plainHost, tlsURL), statuses())
}

// unreachable are the rows of services behind no way, or a wrong one.
func unreachable(plainHost, tlsURL string) []failure {
	password := url.UserPassword("user", canaries["password"]).String()
	echo := body(500, 0, `{"error": {"message": QUOTED}}`)
	return []failure{
		{name: "no answer", base: "http://127.0.0.1:1"},
		{name: "no TLS", base: "https://" + plainHost, answer: echo},
		{name: "unknown TLS", base: tlsURL, answer: echo},
		{name: "proxy refuses", base: "https://service.invalid"},
		{name: "proxy without scheme", answer: echo, proxy: password + "@" + plainHost},
		{name: "proxy by token", answer: echo, proxy: "http://" + url.User(canaries["password"]).String() + "@" + plainHost},
		{name: "proxy is no address", base: "https://service.invalid", proxy: "http://" + password + "@proxy.invalid:no port"},
	}
}

// statuses are the rows of HTTP statuses, each with a body of another form.
func statuses() (out []failure) {
	shapes := []string{
		`{"error": {"message": QUOTED, "status": QUOTED, "code": 1, "details": [{"reason": QUOTED, "retryDelay": QUOTED}]}}`, `<h1>PLAIN</h1>`,
		`[{"error": {"message": QUOTED}}]`, `{"error": QUOTED, "error_description": QUOTED}`, `PLAIN`, `{"message": QUOTED}`,
		`{"unknown": QUOTED}`,
	}
	for i, status := range []int{400, 401, 403, 404, 408, 409, 413, 429, 500, 501, 502, 503, 504} {
		out = append(out, failure{name: strconv.Itoa(status), answer: body(status, i, shapes[i%len(shapes)])})
	}
	return out
}

// spread answers with the secrets in two parts, or in two chunks.
func spread(w http.ResponseWriter, r *http.Request) {
	text := plain(r)
	half := len(text) / 2
	if !strings.Contains(strings.ToLower(r.URL.Path), "generate") {
		half = 0
	}
	format := `{"candidates": [{"content": {"parts": [{"text": %s}, {"text": %s}]}, "finishReason": "STOP"}]}`
	if strings.Contains(r.URL.Path, ":stream") {
		format = `[{"candidates": [{"content": {"parts": [{"text": %s}]}}]}, ` +
			`{"candidates": [{"content": {"parts": [{"text": %s}]}, "finishReason": "STOP"}]}]`
	}
	fmt.Fprintf(w, format, inJSON(text[:half]), inJSON(text[half:]))
}

// canaryService is a service, an authorization server and a proxy. A path begins with the failure's name, and with
// "call" when the models are listed without it.
type canaryService map[string]failure

func (h canaryService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		raw("HTTP/1.1 407 TOLD\r\nContent-Length: 0\r\n\r\n")(w, r)
		return
	}
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) > 2 && parts[2] == "call" && r.Method == http.MethodGet {
		body(200, 0, strings.ReplaceAll(good, `"svc-pro"`, `"`+parts[len(parts)-1]+`"`))(w, r)
		return
	}
	f := h[parts[1]]
	if f.name == "good token" && parts[2] != "token" {
		f.answer = body(401, 0, "PLAIN")
	}
	if f.answer != nil {
		f.answer(w, r)
	}
}
