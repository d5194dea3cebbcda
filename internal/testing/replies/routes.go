package replies

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Routes starts a server that answers by method and address, as in "GET /v1/models?limit=1", and returns its address and what it was asked.
// An answer is a body, after a status other than 200: "404 no". Requests without the key in a header are refused.
func Routes(t testing.TB, key string, answers map[string]string) (baseURL string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route := r.Method + " " + r.URL.RequestURI()
		mu.Lock()
		all = append(all, route)
		mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		said, ok := answers[route]
		if !ok || !strings.Contains(fmt.Sprint(r.Header), key) {
			said = `404 {"error":{"message":"no such route, or key","type":"invalid_request_error"}}`
		}
		var status int
		if n, _ := fmt.Sscanf(said, "%3d ", &status); n == 1 && status > 99 {
			w.WriteHeader(status)
			said = said[4:]
		}
		_, _ = io.WriteString(w, said)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}
