package genlang

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
)

// maxExcerpt is how much of an unexpected body an error shows.
const maxExcerpt = 300

// excerpt is the beginning of a body for an error message, on one line.
func excerpt(data []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(data[:min(len(data), 4*maxExcerpt)]), "\uFFFD")), " ")
	if utf8.RuneCountInString(text) > maxExcerpt {
		return string([]rune(text)[:maxExcerpt]) + "..."
	}
	return text
}

func base64Of(s string) string {
	return strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "=")
}

// errorBody is the error object of the service as it has been seen; the specification shows none.
type errorBody struct {
	Code    json.RawMessage `json:"code"`
	Message string          `json:"message"`
	Status  string          `json:"status"`
	Details []errorDetail   `json:"details"`
}

type errorDetail struct {
	Type       string `json:"@type"`
	Reason     string `json:"reason"`
	RetryDelay string `json:"retryDelay"`
	Violations []struct {
		QuotaID    string `json:"quotaId"`
		QuotaValue string `json:"quotaValue"`
	} `json:"violations"`
}

// parseErrorBody finds an error object: {"error": {...}}, the same in a one-element
// array, {"error": "text"} or {"message": "text"}; nil when there is none.
func parseErrorBody(data []byte) *errorBody {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return nil
		}
		data = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(data, &outer) != nil {
		return nil
	}
	var text string
	switch {
	case len(outer.Error) == 0 && outer.Message != "":
		return &errorBody{Message: outer.Message}
	case len(outer.Error) == 0 || string(outer.Error) == "null":
		return nil
	case json.Unmarshal(outer.Error, &text) == nil:
		return &errorBody{Message: strings.TrimSpace(text + " " + outer.Message)}
	}
	var b errorBody
	if json.Unmarshal(outer.Error, &b) != nil {
		// Some field has another type than usual: the message is what matters.
		var m struct {
			Message string `json:"message"`
			Status  string `json:"status"`
		}
		_ = json.Unmarshal(outer.Error, &m)
		return &errorBody{Message: m.Message, Status: m.Status}
	}
	return &b
}

// statusError makes the typed error of an answer with an error status.
func statusError(resp *http.Response, data []byte) *eval.Error {
	e := &eval.Error{Kind: eval.KindStatus, Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	if body := parseErrorBody(data); body != nil {
		body.fill(e)
	} else {
		e.Message = excerpt(data)
	}
	if e.Message == "" {
		e.Message = http.StatusText(resp.StatusCode)
	}
	classify(e)
	return e
}

// fill copies what the body says into the error.
func (b *errorBody) fill(e *eval.Error) {
	e.Message, e.Code = b.Message, b.Status
	for _, d := range b.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
			e.RetryAfter = max(e.RetryAfter, wait)
		}
		if strings.HasPrefix(d.Reason, "API_KEY_") {
			e.Kind = eval.KindAuth
		}
		for _, v := range d.Violations {
			if strings.Contains(v.QuotaID, "PerDay") || v.QuotaValue == "0" {
				e.Permanent = true
			}
		}
	}
}

// maxWait is the longest wait that the service may ask for before a run is better
// resumed later.
const maxWait = 120 * time.Second

func classify(e *eval.Error) {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Kind = eval.KindAuth
	case http.StatusTooManyRequests:
		e.Kind = eval.KindQuota
		e.Permanent = e.Permanent || e.RetryAfter > maxWait
	}
}
