// Package emulator imitates the generative-language service as an http.Handler, for demonstrations and
// tests. It has the seven named models with their limits, enforces the rules of the specification, and
// answers from a script, without a model. It also speaks chat completions, Responses and Messages, from the
// same script, and answers batches of each.
//
// It is deterministic for a seed: it draws from a hash of the seed, the trial (or the request body) and the
// number of earlier requests for the same.
//
// The usual order: LoadScript (or DemoScript), New, Start. NewApp is an application under test, to try out
// http targets.
package emulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Options configure an emulator. The zero value accepts any key and echoes every prompt.
type Options struct {
	Script       *Script           // nil: echo every prompt
	Key          string            // "" accepts any key, but requires one
	HeaderPrefix string            // default x-svc
	Alias        map[string]string // further names of the seven models
	AnyModel     bool              // accept every other name as a model with all methods and generous limits
	Seed         uint64
	// Consent is how logins are granted: ConsentPage (the default), ConsentAuto or ConsentDeny.
	Consent string
	// TokenLifetime is the lifetime of access tokens, one hour by default.
	TokenLifetime time.Duration
	// Project is the only cloud project in which the API is enabled; "" means all.
	Project string
	// CORS lets pages of any origin call the emulator.
	CORS bool
}

// Emulator serves the methods of the service. Use New.
type Emulator struct {
	opts   Options
	models []eval.Model
	mux    *http.ServeMux
	served
	echoed  atomic.Int64
	draws   draws
	batches batches
	bills   bills
	auth    *authServer
	stop    chan struct{}
}

// methods lists the methods that Stats counts, in order.
func methods() []string {
	return []string{
		wire.MethodGenerate, wire.MethodStream, wire.MethodCountTokens,
		wire.MethodEmbed, wire.MethodEmbedBatch, "models",
		servedChat, servedResponses, servedMessages, servedCount, servedEmbeddings,
		servedBatches, servedItems, servedAnswers, servedTwice,
	}
}

const noModel = "No model is behind this name: evalrun's emulator answers from a script."

// New returns an emulator.
func New(opts Options) *Emulator {
	if opts.HeaderPrefix == "" {
		opts.HeaderPrefix = wire.DefaultHeaderPrefix
	}
	if opts.Script == nil {
		opts.Script = &Script{}
	}
	e := &Emulator{
		opts:   opts,
		auth:   newAuthServer(opts.Consent, opts.TokenLifetime, opts.Project),
		mux:    http.NewServeMux(),
		served: newServed(methods()...),
		stop:   make(chan struct{}),
	}
	for _, m := range wire.NamedModels() {
		m.Description = noModel
		e.models = append(e.models, m)
	}
	e.draws.seen = map[uint64]uint64{}
	e.auth.register(e.mux)
	e.mux.HandleFunc("GET /emulator/stats", e.stats)
	e.mux.HandleFunc("GET /{version}/models", e.shared(e.listModels, e.listOther))
	e.mux.HandleFunc("GET /{version}/models/{id}", e.shared(e.getModel, e.getOther))
	e.others()
	e.fileBatches()
	e.messageBatches()
	e.contentBatches()
	e.mux.HandleFunc("POST /{version}/models/{call}", e.authorized(e.post))
	return e
}

// ServeHTTP implements http.Handler.
func (e *Emulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", wire.EmulatorName)
	if e.opts.CORS && r.Header.Get("Origin") != "" && !strings.HasPrefix(r.URL.Path, "/oauth/") { // a client in a browser
		allowOrigin(w, r)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	e.mux.ServeHTTP(w, r)
}

func allowOrigin(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
	if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
		w.Header().Set("Access-Control-Allow-Headers", wanted)
	}
}

// served counts requests by what they were for.
type served struct {
	names []string // in order
	n     map[string]*atomic.Int64
}

func newServed(names ...string) served {
	out := served{names, map[string]*atomic.Int64{}}
	for _, name := range names {
		out.n[name] = new(atomic.Int64)
	}
	return out
}

// Stats returns the number of requests by method or endpoint, including refused ones.
func (s *served) Stats() map[string]int64 {
	out := map[string]int64{}
	for name, n := range s.n {
		out[name] = n.Load()
	}
	return out
}

// Served lists the methods or endpoints that were used, each with how often.
func (s *served) Served() []string {
	var out []string
	for _, name := range s.names {
		if n := s.n[name].Load(); n > 0 {
			out = append(out, fmt.Sprintf("%s %d", name, n))
		}
	}
	return out
}

// Echoed is how many calls got their prompt back, because no rule of the script is for it.
func (e *Emulator) Echoed() int64 { return e.echoed.Load() }

func (e *Emulator) stats(w http.ResponseWriter, _ *http.Request) { reply(w, e.Stats()) }

type problem struct {
	Status  int
	Code    string
	Message string
	Reason  string
}

func (p *problem) Error() string { return p.Message }

func badRequest(format string, args ...any) *problem {
	return &problem{http.StatusBadRequest, "INVALID_ARGUMENT", fmt.Sprintf(format, args...), ""}
}

func notFound(format string, args ...any) *problem {
	return &problem{http.StatusNotFound, "NOT_FOUND", fmt.Sprintf(format, args...), ""}
}

type wireError struct {
	Error struct {
		Code    int          `json:"code"`
		Message string       `json:"message"`
		Status  string       `json:"status"`
		Details []wireDetail `json:"details,omitempty"`
	} `json:"error"`
}

type wireDetail struct {
	Type   string `json:"@type"`
	Reason string `json:"reason,omitempty"`
	Domain string `json:"domain,omitempty"`
}

func fail(w http.ResponseWriter, p *problem) {
	var body wireError
	body.Error.Code = p.Status
	body.Error.Message = p.Message
	body.Error.Status = p.Code
	if p.Reason != "" {
		body.Error.Details = []wireDetail{{
			Type:   "type.googleapis.com/google.rpc.ErrorInfo",
			Reason: p.Reason,
			Domain: "service.invalid",
		}}
	}
	failWith(w, p.Status, body)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", jsonType)
	writeJSON(w, v)
}

func writeJSON(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

// authorized requires a valid key, or a valid token and a project.
func (e *Emulator) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := e.checkKey(r)
		if token, ok := bearer(r); ok {
			p = e.checkToken(token, r.Header.Get(e.opts.HeaderPrefix+"-user-project"))
		}
		if itemOf(r) != nil {
			p = nil
		}
		switch {
		case p != nil:
			fail(w, p)
		case !slices.Contains(wire.APIVersions, r.PathValue("version")):
			fail(w, notFound("there is no version %q", r.PathValue("version")))
		default:
			next(w, r)
		}
	}
}

func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

func (e *Emulator) checkKey(r *http.Request) *problem {
	key := cmp.Or(r.Header.Get(e.opts.HeaderPrefix+"-api-key"), r.URL.Query().Get("key"))
	switch {
	case key == "":
		return denied("the request has no API key: send the header "+e.opts.HeaderPrefix+"-api-key or the query parameter key", "")
	case e.opts.Key != "" && key != e.opts.Key: // the words of services of this family
		return &problem{http.StatusBadRequest, "INVALID_ARGUMENT", "the API key is not valid", "API_KEY_INVALID"}
	}
	return nil
}

func denied(message, reason string) *problem {
	return &problem{http.StatusForbidden, "PERMISSION_DENIED", message, reason}
}

func (e *Emulator) checkToken(token, project string) *problem {
	switch {
	case !e.auth.good(token):
		return &problem{http.StatusUnauthorized, "UNAUTHENTICATED", "the access token is not valid, or has expired", "ACCESS_TOKEN_EXPIRED"}
	case project == "":
		return denied("the request names no project: send the header "+e.opts.HeaderPrefix+"-user-project", "USER_PROJECT_MISSING")
	case e.opts.Project != "" && project != e.opts.Project:
		return denied("the API has not been used in project "+project+" before or it is disabled", "SERVICE_DISABLED")
	}
	return nil
}

// defaultPage is the number of models on a page if the request does not say.
const defaultPage = 50

func (e *Emulator) listModels(w http.ResponseWriter, r *http.Request) {
	e.n["models"].Add(1)
	models := e.allModels()
	from, to, p := pageOf(r.URL.Query(), len(models))
	if p != nil {
		fail(w, p)
		return
	}
	out := struct {
		Models []eval.Model `json:"models"`
		Next   string       `json:"nextPageToken,omitempty"`
	}{Models: models[from:to]}
	if to < len(models) {
		out.Next = "from-" + strconv.Itoa(to)
	}
	reply(w, out)
}

// pageOf returns the range of n models that a request selects.
func pageOf(query url.Values, n int) (from, to int, p *problem) {
	size := 0
	var err error
	if v := cmp.Or(query.Get("pageSize"), query.Get("page_size")); v != "" {
		if size, err = strconv.Atoi(v); err != nil || size < 0 {
			return 0, 0, badRequest("pageSize must be a number that is not negative")
		}
	}
	if v := cmp.Or(query.Get("pageToken"), query.Get("page_token")); v != "" {
		if from, err = strconv.Atoi(strings.TrimPrefix(v, "from-")); err != nil || from < 0 || from > n {
			return 0, 0, badRequest("the pageToken is not known")
		}
	}
	return from, min(n, from+cmp.Or(size, defaultPage)), nil
}

func (e *Emulator) getModel(w http.ResponseWriter, r *http.Request) {
	e.n["models"].Add(1)
	m := e.model(r.PathValue("id"))
	if m == nil {
		fail(w, notFound("models/%s is not found", r.PathValue("id")))
		return
	}
	reply(w, m)
}

// allModels lists the models, and then the aliases by name.
func (e *Emulator) allModels() []eval.Model {
	out := slices.Clone(e.models)
	for _, alias := range slices.Sorted(maps.Keys(e.opts.Alias)) {
		if m := e.model(alias); m != nil {
			out = append(out, *m)
		}
	}
	return out
}

// real returns the id of the model behind an alias.
func (e *Emulator) real(id string) string { return cmp.Or(e.opts.Alias[id], id) }

// model returns a model by id or alias. The result has the name of the request.
func (e *Emulator) model(id string) *eval.Model {
	real := e.real(id)
	i := slices.IndexFunc(e.models, func(m eval.Model) bool { return m.ID() == real })
	switch {
	case i < 0 && e.opts.AnyModel:
		return anyModel(id)
	case i < 0:
		return nil
	}
	m := e.models[i]
	m.Name = "models/" + id
	return &m
}

// anyModel returns a model that is known only by name.
func anyModel(id string) *eval.Model {
	return &eval.Model{
		Name: "models/" + id, Version: "001", DisplayName: id, Description: noModel,
		InputTokenLimit: 1 << 20, OutputTokenLimit: 1 << 16,
		SupportedGenerationMethods: []string{wire.MethodGenerate, wire.MethodCountTokens, wire.MethodEmbed},
	}
}

// supports reports whether a model has a method. The metadata of models does not list streaming and
// batches.
func supports(m *eval.Model, method string) bool {
	switch method {
	case wire.MethodStream, methodBatch:
		method = wire.MethodGenerate
	case wire.MethodEmbedBatch, methodEmbedLater:
		method = wire.MethodEmbed
	}
	return m.Supports(method)
}

func (e *Emulator) post(w http.ResponseWriter, r *http.Request) {
	id, method := r.PathValue("call"), ""
	if i := strings.LastIndexByte(id, ':'); i >= 0 { // ids of other vendors may have colons too
		id, method = id[:i], id[i+1:]
	}
	m := e.model(id)
	if m == nil {
		fail(w, notFound("models/%s is not found", id))
		return
	}
	if !supports(m, method) {
		fail(w, notFound("models/%s does not support %s", id, method))
		return
	}
	e.count(r, method)
	switch method {
	case wire.MethodGenerate, wire.MethodStream:
		e.generate(w, r, m, e.real(id), method == wire.MethodStream)
	case methodBatch, methodEmbedLater:
		e.submit(w, r, native{}, func() (*batch, *problem) { return e.readContentBatch(r, m, method) },
			func(b *batch) any { return contentBatch(b) })
	case wire.MethodCountTokens:
		e.countTokens(w, r, m)
	case wire.MethodEmbed:
		e.embedOne(w, r, m)
	case wire.MethodEmbedBatch:
		e.embedBatch(w, r, m)
	default:
		fail(w, notFound("the method %s is not emulated", method))
	}
}

// Server is an emulator that listens on an address of this machine.
type Server struct {
	*Emulator
	*listening
}

// Start serves e on addr, such as 127.0.0.1:0.
func (e *Emulator) Start(addr string) (*Server, error) {
	l, err := listen(e, "the emulator", addr, e.stop)
	return &Server{e, l}, err
}
