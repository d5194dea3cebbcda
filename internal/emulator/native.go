package emulator

import (
	"bytes"
	"encoding/json"
	"maps"
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
		`{"error": {"code": 500, "message": "`+scriptedFault+`", "status": "INTERNAL"}}`)
}

const scriptedFault = "this fault comes from the emulator's script"

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

const jsonType = "application/json; charset=UTF-8"

// plainly encodes an answer, or a chunk, with the documented fields only.
func plainly(answer wireResponse) []byte {
	body, err := json.Marshal(answer)
	if err != nil { // plain strings and numbers
		panic(err)
	}
	return body
}

// unknownOfCandidate and unknownOfAnswer are fields that services of this family send although the
// specification does not name them. They include objects and lists.
const (
	unknownOfCandidate = `{
  "citationMetadata": {"citationSources": [{"startIndex": 0, "endIndex": 4, "uri": "https://example.invalid/a?b=\"c\"", "license": ""}]},
  "groundingMetadata": {"webSearchQueries": ["one", "two\n"], "searchEntryPoint": {"renderedContent": "<b>x</b>"}, "retrievalMetadata": {}},
  "logprobsResult": {"chosenCandidates": [{"token": "P", "logProbability": -1.5e-7}], "topCandidates": [[], null]},
  "avgLogprobs": -0.25
}`
	unknownOfAnswer = `{"responseId": "r-1", "createTime": "2026-01-01T00:00:00Z", "modelStatus": {"stage": "STABLE", "notes": []}}`
	unknownOfUsage  = `{"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1}], "trafficType": "ON_DEMAND"}`
	unknownOfCall   = `{"partMetadata": {"index": 0, "notes": ["a", null]}}`
	unknownOfRating = `{"severity": {"name": "LOW", "score": 0.125}}`
)

// withUnknownFields encodes an answer with the fields above, and indented, so that clients are tested with both.
func withUnknownFields(answer wireResponse) []byte {
	body := object(plainly(answer))
	maps.Copy(body, object([]byte(unknownOfAnswer)))
	if usage, ok := body["usageMetadata"].(map[string]any); ok {
		maps.Copy(usage, object([]byte(unknownOfUsage)))
	}
	feedback, _ := body["promptFeedback"].(map[string]any)
	rated := []map[string]any{feedback}
	candidates, _ := body["candidates"].([]any)
	for _, one := range candidates {
		candidate, _ := one.(map[string]any)
		maps.Copy(candidate, object([]byte(unknownOfCandidate)))
		mergeIntoCalls(candidate)
		rated = append(rated, candidate)
	}
	for _, one := range rated {
		ratings, _ := one["safetyRatings"].([]any)
		for _, rating := range ratings {
			maps.Copy(rating.(map[string]any), object([]byte(unknownOfRating)))
		}
	}
	out, err := json.MarshalIndent(body, "", "  ")
	if err != nil { // it was decoded from JSON
		panic(err)
	}
	return append(out, '\n')
}

// mergeIntoCalls adds fields to the parts of a candidate that are calls.
func mergeIntoCalls(candidate map[string]any) {
	content, _ := candidate["content"].(map[string]any)
	parts, _ := content["parts"].([]any)
	for _, one := range parts {
		if p := one.(map[string]any); p["functionCall"] != nil {
			maps.Copy(p, object([]byte(unknownOfCall)))
		}
	}
}

func object(text []byte) map[string]any {
	out := map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil { // the source is a constant
		panic(err)
	}
	return out
}
