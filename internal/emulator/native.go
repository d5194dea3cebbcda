package emulator

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// native is the form of the service's own protocol.
type native struct{}

func (native) framing(r *http.Request) framing {
	if q := r.URL.Query(); q.Get("alt") == "sse" || q.Get("$alt") == "sse" {
		return events
	}
	return jsonArray
}

func (native) whole(a *outcome) []byte { return a.encode(a.wireResponse) }

func (a *outcome) encode(one wireResponse) []byte {
	if a.odd {
		return withUnknownFields(one)
	}
	return plainly(one)
}

func (native) pieces(a *outcome, n int) []string {
	chunks := split(a.wireResponse, n)
	out := make([]string, len(chunks))
	for i, c := range chunks {
		out[i] = string(a.encode(c))
	}
	return out
}

func (native) raw(text string) string { return text }

func (native) fail(w http.ResponseWriter, p *problem) { fail(w, p) }

func (native) failure(message string) string {
	return `{"error":{"code":500,"message":` + quoted(message) + `,"status":"INTERNAL"}}`
}

func (native) endless() string {
	return `{"candidates":[{"content":{"role":"model","parts":[{"text":"and so on "}]},"index":0}]}`
}

func (native) malformed(how string) string {
	return misshaped(how, `{"candidates": [}`, `{"candidates": "none"}`, `{"candidates": []}`,
		`{"error": {"code": 500, "message": "this fault comes from the emulator's script", "status": "INTERNAL"}}`)
}

// misshaped selects one of a form's malformed bodies.
func misshaped(how, noJSON, wrongType, none, failure string) string {
	switch how {
	case "json":
		return noJSON
	case "html":
		return "<!DOCTYPE html><html><body>Bad gateway</body></html>"
	case "type":
		return wrongType
	case "none":
		return none
	case "error":
		return failure
	}
	return "" // "empty"
}

// oneLine puts a JSON text on one line, as events require.
func oneLine(body string) string {
	var line bytes.Buffer
	if json.Compact(&line, []byte(body)) != nil { // broken on purpose
		return body
	}
	return line.String()
}
