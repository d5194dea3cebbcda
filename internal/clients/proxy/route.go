package proxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/anthropic"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/openai"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

type kind int

const (
	unknown  kind = iota
	answer        // an answer of a model: a step
	embed         // vectors of texts
	count         // the number of tokens
	describe      // models
)

// route is what the address of a request says.
type route struct {
	kind     kind
	path     string // below the base address of the protocol
	protocol eval.ProtocolName
	model    string // where the address has it
	method   string // of the service's own protocol
}

// calls are the last words of addresses.
var calls = map[string]struct {
	kind     kind
	protocol eval.ProtocolName
}{
	"completions":          {answer, eval.OpenAI},
	"responses":            {answer, eval.Responses},
	"messages":             {answer, eval.Anthropic},
	wire.MethodGenerate:    {answer, eval.Generative},
	wire.MethodStream:      {answer, eval.Generative},
	"embeddings":           {embed, eval.OpenAI},
	wire.MethodEmbed:       {embed, eval.Generative},
	wire.MethodEmbedBatch:  {embed, eval.Generative},
	"count_tokens":         {count, eval.Anthropic},
	"input_tokens":         {count, eval.Responses},
	wire.MethodCountTokens: {count, eval.Generative},
}

func routeOf(method, below string) route {
	out := route{path: below}
	last := path.Base(below)
	if model, called, ok := strings.Cut(last, ":"); ok {
		out.model, _ = url.PathUnescape(model)
		last, out.method = called, called
	}
	words := strings.Split(below, "/")
	one, known := calls[last]
	switch {
	case slices.Contains(words, ".."): // may lead anywhere
	case known && method == http.MethodPost:
		out.kind, out.protocol = one.kind, one.protocol
	case slices.Contains(words, "models") && (method == http.MethodGet || method == http.MethodHead): // not files, say, of the account
		out.kind = describe
	}
	if out.protocol == "" {
		out.protocol = guess(below)
	}
	return out
}

// guess is the protocol in whose form an error is that is about no call.
func guess(below string) eval.ProtocolName {
	if strings.HasPrefix(below, "v1beta/") {
		return eval.Generative
	}
	return eval.OpenAI
}

// forms has what the proxy reads and writes in each protocol.
var forms = map[eval.ProtocolName]struct {
	parse   func([]byte) (*eval.Response, error) // an answer as it came
	list    string                               // the member of a request with the conversation
	results func(gjson.Result) []eval.CallResult // of tool calls, in an item of the list
	failure func(status int, words [2]string, why string) any
}{
	eval.OpenAI:    {openai.ParseBare, "messages", chatResult, failureOpenAI},
	eval.Responses: {openai.ParseResponses, "input", responsesResult, failureOpenAI},
	eval.Anthropic: {anthropic.ParseResponse, "messages", messageResults, func(_ int, words [2]string, why string) any {
		return map[string]any{"type": "error", "error": map[string]any{"type": words[1], "message": why}}
	}},
	eval.Generative: {generative.ParseReply, "contents", contentResults, func(status int, words [2]string, why string) any {
		return map[string]any{"error": map[string]any{"code": status, "message": why, "status": words[0]}}
	}},
}

func failureOpenAI(_ int, words [2]string, why string) any {
	return map[string]any{"error": map[string]any{"message": why, "type": words[1], "param": nil, "code": "evalrun"}}
}

// statusWords are the words for statuses in the service's own protocol, and in that of messages.
var statusWords = map[int][2]string{
	http.StatusUnauthorized:          {"UNAUTHENTICATED", "authentication_error"},
	http.StatusNotFound:              {"NOT_FOUND", "not_found_error"},
	http.StatusBadRequest:            {"INVALID_ARGUMENT", "invalid_request_error"},
	http.StatusRequestEntityTooLarge: {"INVALID_ARGUMENT", "request_too_large"},
	http.StatusTooManyRequests:       {"RESOURCE_EXHAUSTED", "rate_limit_error"},
}

// refuse is fail, and tells the libraries not to try again.
func (in *route) refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("X-Should-Retry", "false")
	in.fail(w, status, why)
}

// fail answers with an error in the form of the protocol, which its libraries read.
func (in *route) fail(w http.ResponseWriter, status int, why string) {
	words, known := statusWords[status]
	if !known {
		words = [2]string{"UNAVAILABLE", "api_error"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(forms[in.protocol].failure(status, words, why)) // the program may have gone
}

// asked is what the body of a request says.
type asked struct {
	model   string
	stream  bool
	output  int // the most tokens of the answer; 0: it does not say
	tokens  int // of the request, about
	results []eval.CallResult
}

func (in *route) read(body []byte) asked {
	out := asked{model: in.model, stream: in.method == wire.MethodStream, tokens: tokensOf(body)}
	limit := func(value gjson.Result) {
		if n := int(value.Int()); wire.ArePossible(n) {
			out.output = max(out.output, n)
		}
	}
	gjson.ParseBytes(body).ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "model":
			out.model = cmp.Or(out.model, value.String())
		case "stream":
			out.stream = out.stream || value.Bool()
		case "max_completion_tokens", "max_tokens", "max_output_tokens":
			limit(value)
		case "generationConfig", "generation_config":
			limit(value.Get("maxOutputTokens"))
			limit(value.Get("max_output_tokens"))
		case "messages", "input", "contents":
			if in.kind == answer {
				out.results = append(out.results, in.results(name.Str, value)...)
			}
		}
		return true
	})
	return out
}

// longWord is the length, in bytes, from which a text without a space is taken for an encoded file.
const longWord = 4096

// ends are what words end with.
const ends = ` "`

// tokensOf guesses the tokens of a request. Encoded files count like images.
func tokensOf(body []byte) int {
	text, files := len(body), 0
	for len(body) >= longWord {
		if end := bytes.LastIndexAny(body[:longWord-1], ends); end >= 0 {
			body = body[end+1:]
			continue
		}
		word := bytes.IndexAny(body, ends) + 1
		if word == 0 {
			word = len(body)
		}
		text, files, body = text-word, files+1, body[word:]
	}
	return wire.Tokens(text) + files*wire.TokensPerImage
}

// results are the results of tool calls that a request sends to the model, if they are in a member of that name.
func (in *route) results(name string, value gjson.Result) (out []eval.CallResult) {
	of := forms[in.protocol]
	if name != of.list {
		return nil
	}
	value.ForEach(func(_, one gjson.Result) bool {
		if one.IsObject() {
			out = append(out, of.results(one)...)
		}
		return true
	})
	return out
}

func chatResult(m gjson.Result) []eval.CallResult {
	if role := m.Get("role").Str; role != "tool" && role != "function" {
		return nil
	}
	return []eval.CallResult{resultOf(m.Get("tool_call_id").Str, m.Get("name").Str, m.Get("content"))}
}

func responsesResult(m gjson.Result) []eval.CallResult {
	if !strings.HasSuffix(m.Get("type").Str, "call_output") {
		return nil
	}
	return []eval.CallResult{resultOf(m.Get("call_id").Str, "", m.Get("output"))}
}

func messageResults(m gjson.Result) (out []eval.CallResult) {
	for _, part := range m.Get("content").Array() {
		if part.Get("type").Str == "tool_result" {
			one := resultOf(part.Get("tool_use_id").Str, "", part.Get("content"))
			one.Failed = one.Failed || part.Get("is_error").Bool()
			out = append(out, one)
		}
	}
	return out
}

func contentResults(m gjson.Result) (out []eval.CallResult) {
	for _, part := range m.Get("parts").Array() {
		for _, key := range []string{"functionResponse", "function_response"} {
			if given := part.Get(key); given.Exists() {
				out = append(out, resultOf(given.Get("id").Str, given.Get("name").Str, given.Get("response")))
			}
		}
	}
	return out
}

// resultOf is a result of a text, a list of texts, or an object. One whose JSON has an `error`, or an `isError` as MCP has it, failed.
func resultOf(id, name string, content gjson.Result) eval.CallResult {
	text := content.Str
	switch {
	case content.IsArray():
		for _, part := range content.Array() {
			text += part.Get("text").Str
		}
	case content.Type != gjson.String && content.Type != gjson.Null:
		text = content.Raw
	}
	out := eval.CallResult{ID: id, Name: name, Text: strings.Clone(text)}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		said := gjson.Parse(text)
		failed := said.Get("error")
		out.Failed = said.Get("isError").Bool() || failed.String() != "" && failed.Type != gjson.False
	}
	return out
}
