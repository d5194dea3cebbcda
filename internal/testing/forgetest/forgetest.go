// Package forgetest is a stand-in for GitHub and GitLab in tests. Its server keeps the notes of one thread, or the
// issues of one project, and counts what is written.
package forgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const pageSize = 100

// FakeForge keeps notes in memory. Notes that it receives are by `robot`, a bot.
type FakeForge struct {
	*httptest.Server
	// Pulls is the reply to a search for pull requests.
	Pulls string
	// Refuse is the status of what is written; 0: it is kept.
	Refuse int

	key      string // of a note's text: body, or description for issues of GitLab
	mu       sync.Mutex
	notes    []map[string]any
	requests []string
}

// New starts a server whose notes have their text in a key, body or description.
func New(t testing.TB, key string) *FakeForge {
	t.Helper()
	f := &FakeForge{key: key, Pulls: "[]"}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// AddNotes adds notes of an author, of a kind such as User or Bot.
func (f *FakeForge) AddNotes(author, kind string, bodies ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, body := range bodies {
		f.has(author, kind, body)
	}
}

func (f *FakeForge) has(author, kind, body string) (id int) {
	user := map[string]any{"login": author, "username": author, "type": kind}
	id = len(f.notes) + 1
	f.notes = append(f.notes, map[string]any{
		"id": id, "iid": id, "number": id, f.key: body, "user": user, "author": user, "html_url": fmt.Sprintf("https://forge.example/%d", id),
	})
	return id
}

// Notes are copies of all notes, each as JSON has it.
func (f *FakeForge) Notes() (out []map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, note := range f.notes {
		out = append(out, maps.Clone(note))
	}
	return out
}

// Writes are the requests that change something, as METHOD PATH.
func (f *FakeForge) Writes() (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.requests {
		if !strings.HasPrefix(one, "GET ") {
			out = append(out, one)
		}
	}
	return out
}

// Requests is the number of all requests.
func (f *FakeForge) Requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// ServeHTTP answers as GitHub does, or as GitLab does to its header.
func (f *FakeForge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	switch {
	case r.URL.Path == "/user" && r.Header.Get("Private-Token") == "":
		w.WriteHeader(http.StatusForbidden) // as for the token of a job
	case r.URL.Path == "/user":
		_, _ = fmt.Fprint(w, `{"username":"robot"}`)
	case strings.HasSuffix(r.URL.Path, "/pulls"):
		_, _ = fmt.Fprint(w, f.Pulls)
	case r.Method == http.MethodGet:
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		from, to := min((page-1)*pageSize, len(f.notes)), min(page*pageSize, len(f.notes))
		_ = json.NewEncoder(w).Encode(f.notes[from:to])
	case f.Refuse != 0:
		w.WriteHeader(f.Refuse)
		_, _ = fmt.Fprint(w, `{"message":"Resource not accessible by integration"}`)
	default:
		f.write(w, r)
	}
}

func (f *FakeForge) write(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id, _ := strconv.Atoi(path.Base(r.URL.Path))
	if r.Method == http.MethodPost {
		id = f.has("robot", "Bot", "")
	}
	if id < 1 || id > len(f.notes) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	maps.Copy(f.notes[id-1], in)
	_ = json.NewEncoder(w).Encode(f.notes[id-1])
}
