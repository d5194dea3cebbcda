package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// maxExcerpt bounds how much of an unexpected body an error quotes, in code points.
const maxExcerpt = 300

// Excerpt returns the beginning of a body on one line without control characters, for messages.
func Excerpt(data []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(data[:min(len(data), 4*maxExcerpt)]), "\uFFFD")), " ")
	return diag.CleanLine(cutRunes(text, maxExcerpt))
}

// maxMessage bounds the service's message in an error, in code points.
const maxMessage = 1000

// errorBody is the error object of the service, as observed; the specification has none. Each member is
// read separately, so that an odd one does not spoil the others.
type errorBody struct {
	Code    int
	Message string
	Status  string
	Words   []string // codes and types as the vendor spells them
	Details []errorDetail
}

type errorDetail struct {
	reason     string
	retryDelay time.Duration
	exhausted  bool   // a quota for which waiting does not help: per day, or of zero
	help       string // an address with help
}

func newErrorBody(raw []byte) *errorBody {
	f := Fields{}
	if json.Unmarshal(raw, &f) != nil {
		return nil
	}
	var b errorBody
	_ = f.Take("Message", &b.Message) // another type leaves it empty, as below
	_ = f.Take("message", &b.Message)
	_ = f.Take("status", &b.Status)
	b.readCode(f)
	var details []json.RawMessage
	if f.Take("details", &details) != nil {
		details = []json.RawMessage{f["details"]}
	}
	for _, raw := range details {
		b.Details = append(b.Details, newErrorDetail(raw))
	}
	return &b
}

// readCode reads what says the kind of error: a number, or words of a vendor.
func (b *errorBody) readCode(f Fields) {
	for _, name := range []string{"code", "type", "status_code"} {
		var code Word
		_ = f.Take(name, &code)                                          // see above
		if n, err := strconv.Atoi(string(code)); err == nil && n < 600 { // a larger one is no status
			b.Code = cmp.Or(b.Code, n)
		} else if code != "" {
			b.Words = append(b.Words, string(code))
			b.Status = cmp.Or(b.Status, string(code))
		}
	}
	if word := f.minimaxWord(); word != "" {
		b.Words = append(b.Words, word)
	}
	var metadata struct {
		Raw     string  `json:"raw"`
		Flagged *string `json:"flagged_input"`
	}
	_ = f.Take("metadata", &metadata) // a router's: the vendor's own error
	if metadata.Raw != "" {
		b.Message += ": " + metadata.Raw
	}
	if metadata.Flagged != nil {
		b.Status = flagged
	}
}

func newErrorDetail(raw []byte) errorDetail {
	var d errorDetail
	f := Fields{}
	if json.Unmarshal(raw, &f) != nil {
		return d
	}
	_ = f.Take("reason", &d.reason) // see above
	var metadata struct {
		ActivationURL string `json:"activationUrl"`
	}
	_ = f.Take("metadata", &metadata)
	var links []struct {
		URL string `json:"url"`
	}
	_ = f.Take("links", &links)
	if d.help = metadata.ActivationURL; d.help == "" && len(links) > 0 {
		d.help = links[0].URL
	}
	d.retryDelay = delay(f["retryDelay"])
	var violations []Fields
	_ = f.Take("violations", &violations)
	for _, v := range violations {
		var id, value Word
		_ = v.Take("quotaId", &id)
		_ = v.Take("quotaValue", &value)
		d.exhausted = d.exhausted || strings.Contains(string(id), "PerDay") || value == "0"
	}
	return d
}

// delay reads a duration: "46.5s", a number of seconds, or {"seconds": 46}.
func delay(raw []byte) time.Duration {
	var text Word
	if json.Unmarshal(raw, &text) == nil {
		return seconds(strings.TrimSuffix(string(text), "s"))
	}
	var parts struct {
		Seconds Word `json:"seconds"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		return seconds(string(parts.Seconds))
	}
	return 0
}

// seconds reads a number of seconds. It caps values that would overflow a Duration.
func seconds(text string) time.Duration {
	s, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(s > 0) {
		return 0
	}
	return time.Duration(min(s, 1e9) * float64(time.Second))
}

// parseErrorBody finds an error object: {"error": {...}}, the same in a one-element array, {"error":
// "text"} or {"message": "text"}; nil if there is none.
func parseErrorBody(data []byte) *errorBody {
	data = firstElement(bytes.TrimSpace(data))
	var outer struct {
		Error json.RawMessage `json:"error"`
		Given json.RawMessage `json:"message"`
	}
	if json.Unmarshal(data, &outer) != nil {
		return nil
	}
	var message string
	_ = json.Unmarshal(outer.Given, &message) // another type leaves the message empty
	if len(outer.Error) == 0 && message != "" {
		return newErrorBody(data)
	}
	if len(outer.Error) == 0 || string(outer.Error) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(outer.Error, &text) == nil {
		return &errorBody{Message: strings.TrimSpace(text + " " + message)}
	}
	return newErrorBody(outer.Error)
}

// readInto reads an error in any form. In one that is not known its messages still tell the kind.
func readInto(e *eval.Error, data []byte) (known bool) {
	b := parseErrorBody(data)
	if b != nil {
		b.fill(e)
		return true
	}
	texts := []string{Excerpt(data)}
	if json.Valid(data) {
		texts = messagesIn(data, 6) // as deep as errors, error_chain and message
	}
	if b = newErrorBody(data); b == nil {
		b = &errorBody{}
	}
	for _, b.Message = range append(texts, "") { // the last one for the words alone
		if b.fill(e); e.Kind != eval.KindStatus {
			break
		}
	}
	e.Message = Excerpt(data)
	return false
}

// messagesIn returns the messages of an error. Other texts may quote the request, as in a list of details.
func messagesIn(raw json.RawMessage, depth int) (out []string) {
	var text string
	var list []json.RawMessage
	var f Fields
	switch {
	case depth == 0 || Read(raw, &f) != nil && Read(raw, &list) != nil && Read(raw, &text) != nil:
		return nil
	case f == nil && list == nil:
		return []string{text}
	}
	if f["detail"] != nil && f["detail"][0] == '[' {
		delete(f, "detail")
	}
	for _, name := range []string{
		"message", "Message", "msg", "error_msg", "status_msg", "title", "detail", "error", "errors", "error_chain", "base_resp",
	} {
		list = append(list, f[name])
	}
	for _, one := range list {
		out = append(out, messagesIn(one, depth-1)...)
	}
	return out
}

// firstElement returns the first element of an array, nil if it is empty, and other values as they are.
func firstElement(data []byte) []byte {
	if len(data) == 0 || data[0] != '[' {
		return data
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil || len(list) == 0 {
		return nil
	}
	return list[0]
}

// IsError reports whether a body has an error in a form that services send: an object, also in an array, or a text.
func IsError(data []byte) bool { return parseErrorBody(data) != nil }

func statusError(resp *http.Response, data []byte) *eval.Error {
	e := &eval.Error{Kind: eval.KindStatus, Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	if readInto(e, data); e.Message == "" {
		e.Message = http.StatusText(resp.StatusCode)
	}
	classify(e)
	return e
}

func (b *errorBody) fill(e *eval.Error) {
	e.Message, e.Code = cutRunes(b.Message, maxMessage), cutRunes(b.Status, 100)
	for _, d := range b.Details {
		e.RetryAfter = max(e.RetryAfter, d.retryDelay)
		if d.exhausted {
			e.Retry = eval.RetryNever
		}
		if strings.HasPrefix(d.reason, "API_KEY_") {
			e.Kind = eval.KindAuth
		}
	}
	if b.disabled() {
		e.Message += "; " + b.enabling()
	}
	e.Status = cmp.Or(e.Status, b.Code)
	for _, word := range b.Words {
		e.Status = cmp.Or(e.Status, statusOf[word])
	}
	if said := saidWait().FindStringSubmatch(b.Message); said != nil && e.Status == http.StatusTooManyRequests {
		e.RetryAfter = cmp.Or(e.RetryAfter, waitOf(said[1], said[2] != ""))
	}
	b.classify(e)
}

// waitOf reads a wait in a message: "7m12s", or a number of seconds.
func waitOf(text string, isSeconds bool) time.Duration {
	text = strings.TrimRight(text, ".")
	if isSeconds {
		return seconds(text)
	}
	d, _ := time.ParseDuration(text)
	return d
}

// notEnabled matches messages about an API that is not enabled in a project.
var notEnabled = pattern(`(?i)\bAPI\b.*(not enabled|is disabled|not been used)`)

func (b *errorBody) disabled() bool {
	return notEnabled().MatchString(b.Message) ||
		slices.ContainsFunc(b.Details, func(d errorDetail) bool { return d.reason == "SERVICE_DISABLED" })
}

func (b *errorBody) enabling() string {
	where := "in the cloud console, under APIs and services"
	for _, d := range b.Details {
		if d.help != "" {
			where = "at " + cutRunes(d.help, maxExcerpt)
		}
	}
	return "the service's API is not enabled in the cloud project: enable it " + where + ", wait a few minutes, and try again"
}

func cutRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "..."
}

// maxWait is the longest wait of a run for a service. After a longer one, resume the run later.
const maxWait = 120 * time.Second

// classify derives the kind of an error from its status.
func classify(e *eval.Error) {
	switch {
	case e.Kind != eval.KindStatus: // the body had a kind
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		e.Kind = eval.KindAuth
	case e.Status == http.StatusTooManyRequests:
		e.Kind = eval.KindQuota
	case e.Status == http.StatusPaymentRequired:
		e.Kind, e.Retry = eval.KindQuota, eval.RetryNever
	}
	if mustWait := e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests || e.Status >= 500; mustWait &&
		e.RetryAfter > maxWait {
		e.Kind, e.Retry = eval.KindQuota, eval.RetryNever
	}
}

// ErrorIn returns the error in a reply with status 200.
func ErrorIn(data []byte) *eval.Error {
	e := &eval.Error{Kind: eval.KindStatus}
	known := readInto(e, data)
	classify(e)
	if e.Message == "" || !known {
		e.Message = strings.TrimSuffix("the answer holds an error: "+Excerpt(data), ": ")
	}
	return e
}

// HasError reports whether a member `error` contains an error.
func HasError(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
