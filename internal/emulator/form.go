package emulator

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Names of the other protocols' methods in Methods.
const (
	servedChat       = "chat/completions"
	servedResponses  = "responses"
	servedMessages   = "messages"
	servedCount      = "messages/count_tokens"
	servedEmbeddings = "embeddings"
)

// others serves the protocols of other vendors, each at its usual path.
func (e *Emulator) others() {
	for _, base := range []string{"", "/v1"} {
		e.mux.HandleFunc("POST "+base+"/chat/completions", e.ask(servedChat, completions{}, readChat))
		e.mux.HandleFunc("POST "+base+"/responses", e.ask(servedResponses, responses{}, readResponses))
		e.mux.HandleFunc("POST "+base+"/embeddings", e.embeddings)
	}
	e.mux.HandleFunc("POST /v1/messages", e.ask(servedMessages, messages{}, readMessages))
	e.mux.HandleFunc("POST /v1/messages/count_tokens", e.countMessages)
	e.mux.HandleFunc("GET /models", e.openModels(completions{}, e.listOther))
	one := e.openModels(completions{}, e.getOther)
	e.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		// http.ServeMux refuses GET /models/{id} next to GET /{version}/models as a conflict.
		if id, ok := strings.CutPrefix(r.URL.Path, "/models/"); ok && r.Method == http.MethodGet {
			r.SetPathValue("id", id)
			one(w, r)
			return
		}
		// The same holds for these next to GET /{version}/batches.
		if first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); first == "files" || first == "batches" {
			r.URL.Path = "/v1" + r.URL.Path
			e.mux.ServeHTTP(w, r)
			return
		}
		fail(w, notFound("there is no %s %s here", r.Method, r.URL.Path))
	})
}

// otherForm returns the form for a list of models at the path that several protocols share; nil means the
// service's own.
func (e *Emulator) otherForm(r *http.Request) answerWriter {
	switch _, token := bearer(r); {
	case r.Header.Get("Anthropic-Version") != "":
		return messages{}
	case !token || r.Header.Get(e.opts.HeaderPrefix+"-user-project") != "" || r.PathValue("version") != "v1":
		return nil
	case r.Header.Get(e.opts.HeaderPrefix+"-api-key") != "" || r.URL.Query().Has("key") || e.auth.good(tokenOf(r)):
		return nil
	}
	return completions{}
}

func tokenOf(r *http.Request) string {
	token, _ := bearer(r)
	return token
}

// shared serves a path that several protocols share.
func (e *Emulator) shared(own http.HandlerFunc, other func(http.ResponseWriter, *http.Request, answerWriter)) http.HandlerFunc {
	own = e.authorized(own)
	return func(w http.ResponseWriter, r *http.Request) {
		if in := e.otherForm(r); in != nil {
			e.openModels(in, other)(w, r)
			return
		}
		own(w, r)
	}
}

func (e *Emulator) openModels(in answerWriter, next func(http.ResponseWriter, *http.Request, answerWriter)) http.HandlerFunc {
	return e.withKey(in, func(w http.ResponseWriter, r *http.Request) {
		e.n["models"].Add(1)
		next(w, r, in)
	})
}

// checkOtherKey requires the key if the emulator has one. Without one it accepts all requests, as local
// servers of these protocols do.
func (e *Emulator) checkOtherKey(r *http.Request) *problem {
	key := r.Header.Get("X-Api-Key")
	if token, ok := bearer(r); ok {
		key = token
	}
	if itemOf(r) != nil || e.opts.Key == "" || key == e.opts.Key || key != "" && e.auth.good(key) {
		return nil
	}
	return &problem{
		http.StatusUnauthorized, "UNAUTHENTICATED", "the API key is missing, or is not valid",
		"API_KEY_INVALID",
	}
}

// otherModel returns a model in the list format of another protocol.
func otherModel(m *eval.Model, in answerWriter) json.RawMessage {
	id := m.ID()
	if _, ok := in.(messages); ok {
		return encoded(map[string]any{
			"type": "model", "id": id, "display_name": m.DisplayName, "created_at": "2026-01-01T00:00:00Z",
			"max_input_tokens": m.InputTokenLimit, "max_tokens": m.OutputTokenLimit,
		})
	}
	return encoded(map[string]any{
		"id": id, "object": "model", "created": created, "owned_by": "evalrun",
		"context_length": m.InputTokenLimit, "max_completion_tokens": m.OutputTokenLimit,
	})
}

func (e *Emulator) listOther(w http.ResponseWriter, _ *http.Request, in answerWriter) {
	all := e.allModels()
	data := make([]json.RawMessage, len(all))
	for i := range all {
		data[i] = otherModel(&all[i], in)
	}
	if _, ok := in.(messages); ok {
		reply(w, map[string]any{"data": data, "has_more": false, "first_id": all[0].ID(), "last_id": all[len(all)-1].ID()})
		return
	}
	reply(w, map[string]any{"object": "list", "data": data})
}

func (e *Emulator) getOther(w http.ResponseWriter, r *http.Request, in answerWriter) {
	m := e.model(r.PathValue("id"))
	if m == nil {
		in.fail(w, notFound("the model %q does not exist", r.PathValue("id")))
		return
	}
	reply(w, otherModel(m, in))
}

// convertedRequest is a request of another protocol, converted to the service's own.
type convertedRequest struct {
	*request
	stream bool
	usage  bool // a stream ends with the usage

	names    map[string]string // names of functions, by the ids of their calls
	answered []string          // ids of calls with a result
}

// ask serves a protocol's requests for answers.
func (e *Emulator) ask(method string, in answerWriter, read func(body []byte) (*convertedRequest, *problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, p := e.readOther(r, method, read)
		if p != nil {
			in.fail(w, p)
			return
		}
		m, real, p := e.modelOf(q.Model)
		if p == nil {
			p = q.checkModel(m, real).inWordsOf(method)
		}
		if p != nil {
			in.fail(w, p)
			return
		}
		own := in // for this request only
		if c, ok := in.(completions); ok {
			c.usage = q.usage
			own = c
		}
		e.serve(w, r, &query{q.request, m, real, q.stream, own})
	}
}

func (e *Emulator) readOther(r *http.Request, method string,
	read func(body []byte) (*convertedRequest, *problem),
) (*convertedRequest, *problem) {
	if p := e.checkOtherKey(r); p != nil {
		return nil, p
	}
	e.count(r, method)
	body, p := readBody(r)
	if p != nil {
		return nil, p
	}
	if p := checkShapes(method, body); p != nil {
		return nil, p
	}
	q, p := read(body)
	if p != nil {
		return nil, p
	}
	q.Raw = body
	if q.Model == "" {
		return nil, badRequest("model is required")
	}
	return q, cmp.Or(q.checkAnswered(), q.check().inWordsOf(method))
}

// modelOf returns a model that answers prompts. real is the model behind an alias.
func (e *Emulator) modelOf(id string) (m *eval.Model, real string, p *problem) {
	m = e.model(id)
	if m == nil || !supports(m, wire.MethodGenerate) {
		return nil, "", notFound("the model %q does not exist, or does not support this protocol", id)
	}
	return m, e.real(id), nil
}

// say adds parts to the conversation. It joins adjacent turns of one side.
func (q *convertedRequest) say(role string, parts ...wirePart) {
	if n := len(q.Contents); n > 0 && q.Contents[n-1].Role == role {
		q.Contents[n-1].Parts = append(q.Contents[n-1].Parts, parts...)
		return
	}
	if len(parts) == 0 {
		parts = []wirePart{textPart("")}
	}
	q.Contents = append(q.Contents, content{Role: role, Parts: parts})
}

func textPart(text string) wirePart { return wirePart{Text: &text} }

func (q *convertedRequest) instruct(text string) {
	if text == "" {
		return
	}
	if q.SystemInstruction == nil {
		q.SystemInstruction = &content{}
	}
	q.SystemInstruction.Parts = append(q.SystemInstruction.Parts, textPart(text))
}

// call adds a call of the model. Its arguments are a text or an object.
func (q *convertedRequest) call(id, name string, args json.RawMessage) *problem {
	var text string
	if json.Unmarshal(args, &text) == nil {
		if args = json.RawMessage(text); !isObject(args) || !json.Valid(args) { // a model may have written invalid JSON
			args = json.RawMessage("{}")
		}
	}
	if id == "" {
		return badRequest("the call of %q has no id", name)
	}
	if q.names == nil {
		q.names = map[string]string{}
	}
	q.names[id] = name
	q.say(eval.RoleModel, wirePart{FunctionCall: &functionCall{ID: id, Name: name, Args: args}})
	return nil
}

func (q *convertedRequest) result(id, text string, failed bool) *problem {
	name, ok := q.names[id]
	if !ok {
		return badRequest("there is a result for the call %q, and no call of the model with this id before it", id)
	}
	q.answered = append(q.answered, id)
	response := json.RawMessage(text)
	if !isObject(response) || !json.Valid(response) {
		key := "result"
		if failed {
			key = "error"
		}
		response = encoded(map[string]string{key: text})
	}
	q.say(eval.RoleUser, wirePart{FunctionResponse: &functionResponse{ID: id, Name: name, Response: response}})
	return nil
}

func (q *convertedRequest) declare(name, description string, parameters json.RawMessage) {
	one := map[string]any{"name": name, "description": description}
	if isSet(parameters) {
		one["parameters"] = parameters
	}
	q.Tools = append(q.Tools, tool{FunctionDeclarations: []json.RawMessage{encoded(one)}})
}

// choose sets how functions may be called: auto, none, required or any, or the name of one.
func (q *convertedRequest) choose(word, name string) *problem {
	mode := &q.ToolConfig.FunctionCallingConfig
	switch word {
	case "", "auto":
	case "none":
		mode.Mode = modeNone
	case "required", "any":
		mode.Mode = modeAny
	case "function", "tool":
		mode.Mode, mode.AllowedFunctionNames = modeAny, []string{name}
	default:
		return badRequest("tool_choice: %q is not known", word)
	}
	return nil
}

// filePart returns a file from a data: URL, or one at another address.
func filePart(address string) wirePart {
	head, data, ok := strings.Cut(strings.TrimPrefix(address, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(address, "data:") {
		return wirePart{FileData: encoded(map[string]string{"fileUri": address})}
	}
	return wirePart{InlineData: &blob{MimeType: head, Data: data}}
}

type stringOrList []string

func (l *stringOrList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = stringOrList{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

const created = 1767225600

func encoded(v any) json.RawMessage {
	data, err := wirejson.Marshal(v)
	if err != nil { // plain values always encode
		panic(err)
	}
	return data
}

// event returns a server-sent event. An empty name is omitted.
func event(name string, data any) string {
	out := "data: " + string(encoded(data)) + "\n\n"
	if name != "" {
		out = "event: " + name + "\n" + out
	}
	return out
}

// wholly returns a complete answer, with unknown fields if the rule wants them.
func (a *outcome) wholly(body map[string]any) []byte {
	if !a.odd {
		return append(encoded(body), '\n')
	}
	body["x_notes"] = map[string]any{"severity": 0.125, "list": []any{"a", nil, map[string]any{}}}
	out, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		panic(err)
	}
	return out
}

// callID returns the id of a call: the script's, or a drawn one.
func (a *outcome) callID(prefix string, c *functionCall, n int) string {
	if c.ID != "" {
		return c.ID
	}
	return prefix + a.id + strconv.Itoa(n)
}

func failWith(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	writeJSON(w, body)
}

// grouped groups events into the chunks in which they are sent. Each chunk ends with a delta, and the last
// one with the last event.
func grouped(all []string) []string {
	var out []string
	piece := ""
	for i, e := range all {
		piece += e
		name, _, _ := strings.Cut(e, "\n")
		if i == len(all)-1 || strings.HasSuffix(name, "delta") && name != "event: message_delta" {
			out = append(out, piece)
			piece = ""
		}
	}
	return out
}

// sse is the framing for complete server-sent events.
func sse(finished string) framing {
	return framing{contentType: events.contentType, finished: finished}
}
