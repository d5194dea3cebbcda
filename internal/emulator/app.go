package emulator

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evalrun/evalrun/internal/clients/wire"
)

// app is a small HTTP application for trying out http targets. It answers without a model: capitals of some
// countries, orders that it looks up, the last question of a chat, and otherwise the question itself.
// Other paths misbehave. Use NewApp.
type app struct {
	served // by endpoint
	key    string
	mux    *http.ServeMux
	chats  keptChats
	stop   chan struct{}
}

// maxAppBody bounds the body of a request to the application, in bytes.
const maxAppBody = 1 << 20

// NewApp returns the application. It requires the key as a bearer token; "" accepts every request.
func NewApp(key string) *app {
	a := &app{key: key, mux: http.NewServeMux(), served: newServed(), stop: make(chan struct{})}
	a.chats.open = map[string]*keptChat{}
	a.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]string{"status": "ok"}) })
	a.mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { reply(w, a.Stats()) })
	a.handle("/chat", a.answering(chat))
	a.handle("/stream", a.answering(streamed))
	a.handle("/text", a.answering(plainText))
	a.count("/login", logIn)
	a.handle("/members/chat", members(a.answering(chat)))
	a.handle("/fail/{status}", failAs)
	a.handle("/fail/app", func(w http.ResponseWriter, _ *http.Request) { reply(w, appError("the order service is down")) })
	a.handle("/hang", a.hang)
	a.handle("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/chat", http.StatusFound) })
	a.handle("/empty", func(http.ResponseWriter, *http.Request) {})
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		message := fmt.Sprintf("there is no %s %s here; there is POST %s", r.Method, r.URL.Path, strings.Join(a.names, ", "))
		refuse(w, http.StatusNotFound, message)
	})
	return a
}

// count registers a handler for POST requests, and counts them.
func (a *app) count(path string, next http.HandlerFunc) {
	n := new(atomic.Int64)
	a.names, a.n[path] = append(a.names, path), n
	a.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		next(w, r)
	})
}

// handle is count for requests with the key.
func (a *app) handle(path string, next http.HandlerFunc) {
	a.count(path, func(w http.ResponseWriter, r *http.Request) {
		token, ok := bearer(r)
		if a.key != "" && (!ok || subtle.ConstantTimeCompare([]byte(token), []byte(a.key)) != 1) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "send the header Authorization: Bearer KEY with the key of --key")
			return
		}
		next(w, r)
	})
}

// ServeHTTP implements http.Handler.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// AppServer is an App that listens on an address of this machine.
type AppServer struct {
	*app
	*listening
}

// Start serves a on addr, such as 127.0.0.1:0.
func (a *app) Start(addr string) (*AppServer, error) {
	l, err := listen(a, "the application", addr, a.stop)
	return &AppServer{a, l}, err
}

// appReply is the body of an answer. Without its text, it is the last event of a stream.
type appReply struct {
	Reply *appText  `json:"reply,omitempty"`
	Steps []appStep `json:"steps"`
	Usage struct {
		Input  int `json:"inputTokens"`
		Output int `json:"outputTokens"`
	} `json:"usage"`
}

type appText struct {
	Text string `json:"text"`
}

type appStep struct {
	Name string            `json:"name"`
	Args map[string]string `json:"args"`
}

func appError(message string) any {
	return map[string]any{"error": map[string]string{"message": message}}
}

func refuse(w http.ResponseWriter, status int, message string) {
	failWith(w, status, appError(message))
}

func (a *app) answering(next func(w http.ResponseWriter, e exchange, out appReply)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAppBody))
		if err != nil {
			refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body cannot be read, or has more than %d bytes", maxAppBody))
			return
		}
		q, problem := readQuestion(body)
		if problem != "" {
			refuse(w, http.StatusBadRequest, problem)
			return
		}
		q.key = r.Header.Get("Idempotency-Key")
		before, e := a.chats.ask(q)
		next(w, e, e.wire(before))
	}
}

// wire returns the answer with its usage. The input includes the conversation before.
func (e exchange) wire(before []exchange) (out appReply) {
	out.Reply, out.Steps = &appText{e.reply}, e.steps
	in := len(e.question)
	for _, b := range before {
		in += len(b.question) + len(b.reply)
	}
	out.Usage.Input, out.Usage.Output = wire.Tokens(in), wire.Tokens(len(e.reply))
	return out
}

func chat(w http.ResponseWriter, _ exchange, out appReply) { reply(w, out) }

func plainText(w http.ResponseWriter, e exchange, _ appReply) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, e.reply) // the client may have gone
}

// streamed sends an event for each word, and a last one with the steps and the usage.
func streamed(w http.ResponseWriter, e exchange, out appReply) {
	s := newStreamWriter(w, events, nil)
	for _, word := range strings.SplitAfter(e.reply, " ") {
		s.chunk(`{"delta":` + quoted(word) + `}`)
	}
	out.Reply = nil
	last, err := json.Marshal(out)
	if err != nil { // texts and numbers always encode
		panic(err)
	}
	s.chunk(string(last))
	s.end()
}

// failAs replies with the status in the path, as proxies do: with a page of HTML, and with Retry-After
// where that is usual.
func failAs(w http.ResponseWriter, r *http.Request) {
	status, err := strconv.Atoi(r.PathValue("status"))
	if err != nil || status < 400 || status > 599 {
		refuse(w, http.StatusNotFound, "/fail/STATUS takes a status from 400 to 599")
		return
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!DOCTYPE html><html><body><h1>%d %s</h1></body></html>\n", status, http.StatusText(status))
}

// hang never replies. It ends when the client goes away, which net/http only notices once the body is read.
func (a *app) hang(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxAppBody))
	select {
	case <-r.Context().Done():
	case <-a.stop:
	}
	panic(http.ErrAbortHandler)
}

// memberPassword opens the door of /login.
const memberPassword = "open sesame"

// logIn gives a token for /members, and the same as a cookie.
func logIn(w http.ResponseWriter, r *http.Request) {
	var in struct{ User, Password string }
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAppBody)).Decode(&in) != nil || in.Password != memberPassword {
		refuse(w, http.StatusUnauthorized, "send {\"user\": NAME, \"password\": \""+memberPassword+"\"}")
		return
	}
	token := "member-" + in.User
	w.Header().Set("Set-Cookie", "member="+token+"; Path=/; HttpOnly; SameSite=Strict") // of this machine, without TLS
	reply(w, map[string]string{"token": token})
}

// members lets requests with the token or the cookie of a login pass.
func members(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, _ := bearer(r)
		if cookie, err := r.Cookie("member"); err == nil {
			token = cookie.Value
		}
		if !strings.HasPrefix(token, "member-") {
			refuse(w, http.StatusUnauthorized, "log in at /login first")
			return
		}
		next(w, r)
	}
}

// listening is a handler that is served on an address of this machine.
type listening struct {
	URL     string
	Warning string // that other machines can reach it; "" when only this one can
	http    *http.Server
	stop    chan struct{} // is closed to end hanging requests
	done    chan struct{}
	once    sync.Once
}

// listen serves h on addr, to requests for a name of this machine, until stop is closed. what names it in messages.
func listen(h http.Handler, what, addr string, stop chan struct{}) (*listening, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s cannot listen on %s: %w", what, addr, err)
	}
	hosts := wire.NewHosts(addr, listener.Addr())
	l := &listening{URL: "http://" + listener.Addr().String(), stop: stop, done: make(chan struct{})}
	if !hosts.Local {
		l.Warning = "anyone who reaches this address can use " + what + "; without --listen only this machine can"
	}
	l.http = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hosts.Allow(r.Host) {
			http.Error(w, "this is not a host name of "+what+": use "+l.URL+", or name it with --listen", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})}
	go func() {
		defer close(l.done)
		_ = l.http.Serve(listener) // close ends it; if it ends before, callers get no reply
	}()
	return l, nil
}

// Close ends the server and all requests, including hanging ones.
func (l *listening) Close() {
	l.once.Do(func() {
		close(l.stop)
		_ = l.http.Close() // open connections are dropped on purpose
		<-l.done
	})
}
