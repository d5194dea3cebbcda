package emulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Names of what the other protocols serve, as Methods lists them.
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
		// GET /models/{id} and GET /{version}/models are patterns that no router keeps apart.
		if id, ok := strings.CutPrefix(r.URL.Path, "/models/"); ok && r.Method == http.MethodGet {
			r.SetPathValue("id", id)
			one(w, r)
			return
		}
		fail(w, notFound("there is no %s %s here", r.Method, r.URL.Path))
	})
}

// otherForm is the form of a protocol in which a list of models is wanted at the path that several share; nil: the
// service's own.
func (e *Emulator) otherForm(r *http.Request) form {
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
func (e *Emulator) shared(own http.HandlerFunc, other func(http.ResponseWriter, *http.Request, form)) http.HandlerFunc {
	own = e.authorized(own)
	return func(w http.ResponseWriter, r *http.Request) {
		if in := e.otherForm(r); in != nil {
			e.openModels(in, other)(w, r)
			return
		}
		own(w, r)
	}
}

// openModels lets a request for models pass that brings a good key.
func (e *Emulator) openModels(in form, next func(http.ResponseWriter, *http.Request, form)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := e.checkOtherKey(r); p != nil {
			in.fail(w, p)
			return
		}
		e.served["models"].Add(1)
		next(w, r, in)
	}
}

// checkOtherKey wants the key, where there is one: servers of these protocols on one's own machine want none.
func (e *Emulator) checkOtherKey(r *http.Request) *problem {
	key := r.Header.Get("X-Api-Key")
	if token, ok := bearer(r); ok {
		key = token
	}
	if e.opts.Key == "" || key == e.opts.Key || key != "" && e.auth.good(key) {
		return nil
	}
	return &problem{
		http.StatusUnauthorized, "UNAUTHENTICATED", "the API key is missing, or is not valid",
		"API_KEY_INVALID",
	}
}

// otherModel is a model as the other protocols list it.
func otherModel(m *eval.Model, in form) json.RawMessage {
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

func (e *Emulator) listOther(w http.ResponseWriter, _ *http.Request, in form) {
	all := slices.Clone(e.models)
	for _, alias := range sortedKeys(e.opts.Alias) {
		if m := e.model(alias); m != nil {
			all = append(all, *m)
		}
	}
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

func (e *Emulator) getOther(w http.ResponseWriter, r *http.Request, in form) {
	m := e.model(r.PathValue("id"))
	if m == nil {
		in.fail(w, notFound("the model %q does not exist", r.PathValue("id")))
		return
	}
	reply(w, otherModel(m, in))
}

// reading is a request of another protocol in the words of the service's own.
type reading struct {
	*request
	stream bool
	usage  bool // a stream ends with the usage

	names map[string]string // of functions, by the ids of their calls
}

// ask serves the requests of a protocol for answers.
func (e *Emulator) ask(method string, in form, read func(body []byte) (*reading, *problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, p := e.readOther(r, method, read)
		if p != nil {
			in.fail(w, p)
			return
		}
		m, real, p := e.modelOf(q.Model)
		if p == nil {
			p = q.checkModel(m, real)
		}
		if p != nil {
			in.fail(w, p)
			return
		}
		own := in // of this request alone
		if c, ok := in.(completions); ok {
			c.usage = q.usage
			own = c
		}
		e.serve(w, r, &query{q.request, m, real, q.stream, own})
	}
}

// readOther reads a request of another protocol and checks it.
func (e *Emulator) readOther(r *http.Request, method string,
	read func(body []byte) (*reading, *problem),
) (*reading, *problem) {
	if p := e.checkOtherKey(r); p != nil {
		return nil, p
	}
	e.served[method].Add(1)
	body, p := readBody(r)
	if p != nil {
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
	return q, q.check()
}

// modelOf is a model that answers, with the one behind an alias.
func (e *Emulator) modelOf(id string) (m *eval.Model, real string, p *problem) {
	m = e.model(id)
	if m == nil || !supports(m, service.MethodGenerate) {
		return nil, "", notFound("the model %q does not exist, or does not support this protocol", id)
	}
	real = id
	if to, ok := e.opts.Alias[id]; ok {
		real = to
	}
	return m, real, nil
}

// say adds parts to the conversation. Turns of one side that follow each other are one turn.
func (q *reading) say(role string, parts ...part) {
	if n := len(q.Contents); n > 0 && q.Contents[n-1].Role == role {
		q.Contents[n-1].Parts = append(q.Contents[n-1].Parts, parts...)
		return
	}
	if len(parts) == 0 {
		parts = []part{textPart("")}
	}
	q.Contents = append(q.Contents, content{Role: role, Parts: parts})
}

func textPart(text string) part { return part{Text: &text} }

// instruct adds to the system text.
func (q *reading) instruct(text string) {
	if text == "" {
		return
	}
	if q.SystemInstruction == nil {
		q.SystemInstruction = &content{}
	}
	q.SystemInstruction.Parts = append(q.SystemInstruction.Parts, textPart(text))
}

// call adds a call of the model; its arguments are a text or an object.
func (q *reading) call(id, name string, args json.RawMessage) *problem {
	var text string
	if json.Unmarshal(args, &text) == nil {
		if args = json.RawMessage(text); !isObject(args) || !json.Valid(args) { // what a model wrote may be broken
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
	q.say(eval.RoleModel, part{FunctionCall: &functionCall{ID: id, Name: name, Args: args}})
	return nil
}

// result adds what a call came to.
func (q *reading) result(id, text string, failed bool) *problem {
	name, ok := q.names[id]
	if !ok {
		return badRequest("there is a result for the call %q, and no call of the model with this id before it", id)
	}
	response := json.RawMessage(text)
	if !isObject(response) || !json.Valid(response) {
		key := "result"
		if failed {
			key = "error"
		}
		response = encoded(map[string]string{key: text})
	}
	q.say(eval.RoleUser, part{FunctionResponse: &functionResponse{ID: id, Name: name, Response: response}})
	return nil
}

// declare adds a function.
func (q *reading) declare(name, description string, parameters json.RawMessage) {
	one := map[string]any{"name": name, "description": description}
	if isSet(parameters) {
		one["parameters"] = parameters
	}
	q.Tools = append(q.Tools, tool{FunctionDeclarations: []json.RawMessage{encoded(one)}})
}

// choose says how functions may be called: auto, none, required or any, or the name of one.
func (q *reading) choose(word, name string) *problem {
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

// filePart is a file in an address that holds it, or one elsewhere.
func filePart(address string) part {
	head, data, ok := strings.Cut(strings.TrimPrefix(address, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(address, "data:") {
		return part{FileData: encoded(map[string]string{"fileUri": address})}
	}
	return part{InlineData: &blob{MimeType: head, Data: data}}
}

// strings or a list of them.
type stringOrList []string

func (l *stringOrList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = stringOrList{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// created is the time at which every answer was made: the same each time.
const created = 1767225600

func encoded(v any) json.RawMessage {
	data, err := wirejson.Marshal(v)
	if err != nil { // plain values
		panic(err)
	}
	return data
}

// event is a server-sent event, without a name where that is "".
func event(name string, data any) string {
	out := "data: " + string(encoded(data)) + "\n\n"
	if name != "" {
		out = "event: " + name + "\n" + out
	}
	return out
}

// wholly writes an answer in one piece, with what no client knows where that is wanted.
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

// callID is the id of a call: the script's, or one that is drawn.
func (a *outcome) callID(prefix string, c *functionCall, n int) string {
	if c.ID != "" {
		return c.ID
	}
	return prefix + a.id + strconv.Itoa(n)
}

// failWith writes an error of a protocol.
func failWith(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	writeJSON(w, body)
}

// grouped are events in the pieces in which they are sent: each piece ends with a delta, the last one with the last
// event.
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

// sse are server-sent events that are written whole.
func sse(finished string) framing {
	return framing{contentType: events.contentType, finished: finished}
}
