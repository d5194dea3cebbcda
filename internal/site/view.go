package site

import (
	"context"
	"embed"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
)

//go:embed pages
var assets embed.FS

const (
	mostWatchers = 32 // readers of the events of runs, each with an open connection
	mostWork     = 2  // runs that are read or compared at once
	writeTime    = 2 * time.Minute
)

// Options configure a Server.
type Options struct {
	// Listen is the address to listen on, such as 127.0.0.1:0. Required.
	Listen string
	// Dir is the folder whose runs and history are shown.
	Dir rundir.Dir
	// Named lists further runs, and folders with runs. Optional.
	Named []string
	// Label lets people label answers of trusted runs under the name As. Without As it is git's user.name,
	// or else the account; Getenv is then required. Optional: the server only reads.
	Label  bool
	As     string
	Getenv func(string) string
	// Every is how often the server checks a run in progress. Optional, default one second.
	Every time.Duration
}

// Server serves the pages until it is closed. It only reads, unless Options.Label is set: then label.go appends what people
// say of answers to SUITE.labels.jsonl. Any program that reaches the address can read the runs, so guard.go refuses pages
// of other sites, and a request names a run by a key of the list: no text of a request ever becomes a path.
type Server struct {
	// URL is the address of the list of runs.
	URL string
	// Warning says that other machines can reach the server; "" when only this one can.
	Warning string

	options   Options
	labelling *labelling // nil: the server only reads
	hosts     hosts
	http      *http.Server
	done      chan struct{}
	stop      context.CancelFunc
	stopped   context.Context
	runs      *runs
	opened    *openRuns
	compared  *comparisons
	watchers  chan struct{}
	work      chan struct{}
	style     []byte
	program   []byte
	once      sync.Once
}

// Start begins to serve. It returns an error for a named run that is missing, or an address that it cannot
// listen on.
func Start(o Options) (*Server, error) {
	paths, err := o.Dir.FindRuns(o.Named)
	if err != nil {
		return nil, err
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	labelling, err := newLabelling(&o)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", o.Listen)
	if err != nil {
		return nil, eval.BadInput("the viewer cannot listen on %s: %w", o.Listen, err)
	}
	s := &Server{
		options: o, labelling: labelling,
		done: make(chan struct{}), runs: newRuns(o.Dir, o.Named, paths), opened: &openRuns{}, compared: &comparisons{},
		watchers: make(chan struct{}, mostWatchers), work: make(chan struct{}, mostWork),
	}
	s.hosts = newHosts(o.Listen, listener.Addr())
	s.URL, s.Warning = "http://"+s.hosts.own+"/", s.hosts.warning()
	if s.labelling != nil && !s.hosts.Local {
		_ = listener.Close() // not used
		return nil, eval.BadInput("--label is for this machine only, and others can reach %s: listen on 127.0.0.1", o.Listen)
	}
	s.style = []byte(page.Style() + page.RunsStyle() + asset("label.css"))
	s.program = []byte(program())
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s.guard(s.routes()),
		ErrorLog:          log.New(io.Discard, "", 0),
		BaseContext:       func(net.Listener) context.Context { return s.stopped },
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: writeTime, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 16,
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // Close ends it; if it ends before, requests get no reply
	}()
	return s, nil
}

// RunURL returns the address of the named run's page. When a folder or several runs were named, it is the
// list of runs.
func (s *Server) RunURL() string {
	if path := s.options.Dir.NamedRun(s.options.Named); path != "" {
		return s.URL + "run/" + keyOf(path) + "/"
	}
	return s.URL
}

// patience is how long Close waits for requests in progress.
const patience = 2 * time.Second

// Close ends the server and closes the runs.
func (s *Server) Close() {
	s.once.Do(func() {
		s.stop()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = s.http.Shutdown(ctx) // requests that are not finished by then are dropped
		_ = s.http.Close()
		<-s.done
		s.opened.close()
	})
}

func program() string {
	more := page.Scripts()
	for _, name := range []string{"live", "compare", "label", "view"} {
		more = append(more, asset(name+".js"))
	}
	return page.Program(asset("view_load.js"), more...)
}

func asset(name string) string {
	data, err := assets.ReadFile("pages/" + name)
	if err != nil { // the assets are embedded in the program
		panic(err)
	}
	return string(data)
}

func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", s.page("runs", "Runs"))
	m.HandleFunc("GET /trends", s.page("trends", "Trends"))
	m.HandleFunc("GET /compare", s.page("compare", "Compare"))
	m.HandleFunc("GET /style.css", static("text/css; charset=utf-8", s.style))
	m.HandleFunc("GET /program.js", static("text/javascript; charset=utf-8", s.program))
	m.HandleFunc("GET /data/runs", s.listRuns)
	m.HandleFunc("GET /data/runs/{run}", s.summary)
	m.HandleFunc("GET /data/trends", s.trends)
	m.HandleFunc("GET /run/{run}/{$}", s.runPage)
	m.HandleFunc("GET /run/{run}/data/{block...}", s.block)
	m.HandleFunc("GET /run/{run}/events", s.events)
	if s.labelling != nil {
		m.HandleFunc("GET /labels", s.page("labels", "Labels"))
		m.HandleFunc("GET /data/labels", s.listLabels)
		m.HandleFunc("GET /run/{run}/labelled", s.listLabelled)
		m.HandleFunc("GET /run/{run}/labels/{trial}", s.readLabels)
		m.HandleFunc("POST /token", s.giveToken)
		m.HandleFunc("POST /run/{run}/labels/{trial}", s.writeLabel)
	}
	m.HandleFunc("GET /compare/{base}/{run}/{$}", s.comparisonPage)
	m.HandleFunc("GET /compare/{base}/{run}/data/{block...}", s.comparisonBlock)
	return m
}

func (s *Server) links() []page.RunsLink {
	out := []page.RunsLink{
		{Name: "runs", Title: "Runs", Address: "/"},
		{Name: "trends", Title: "Trends", Address: "/trends"},
		{Name: "compare", Title: "Compare", Address: "/compare"},
	}
	if s.labelling != nil {
		out = append(out, page.RunsLink{Name: "labels", Title: "Labels", Address: "/labels"})
	}
	return out
}

func (s *Server) page(name, title string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { s.draw(w, page.RunsSource{Name: name, Title: title}) }
}

func (s *Server) draw(w http.ResponseWriter, p page.RunsSource) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	p.Maker, p.Area, p.Links, p.Style, p.Code = "evalrun view", "Viewer", s.links(), "/style.css", "/program.js"
	if s.labelling != nil {
		p.Who = s.labelling.who
	}
	_ = p.Draw(w) // the reader may have gone
}

func (s *Server) runPage(w http.ResponseWriter, r *http.Request) {
	one, ok := s.found(w, r.PathValue("run"))
	if ok {
		s.draw(w, page.RunsSource{Name: "run", Title: one.Title(), Data: fmt.Sprintf("/run/%s/", one.Key)})
	}
}

func static(kind string, data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // the reader may have gone
	}
}

// begin waits until fewer than mostWork slow requests run. It returns false when the reader has gone.
func (s *Server) begin(ctx context.Context) (end func(), ok bool) {
	select {
	case s.work <- struct{}{}:
		return func() { <-s.work }, true
	case <-ctx.Done():
		return nil, false
	}
}
