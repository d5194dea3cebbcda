package flow

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func place(t *testing.T, path string, data []byte) {
	t.Helper()
	expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	expect.OK(t, os.WriteFile(path, data, 0o600))
}

// FuzzStoreFile checks that a file of answers is refused, or that all its answers can be replayed and new
// ones put.
func FuzzStoreFile(f *testing.F) {
	for _, s := range append(
		hostile.Strings()[:5],
		`{"version":1,"suite":"s","case":"c","answers":[{"id":"a","arm":"x","repeat":1,`+
			`"response":{"candidates":[{"text":"t"}]},"timing":{"latencyMs":1}}]}`,
		`{"answers":[{"id":"a","response":{}},{"id":"a","response":null}]}`, `{"answers":[{"id":"","response":{}}]}`,
		`{"answers":[{"id":"a","response":{},"turns":[{},{"response":{"candidates":[{"text":"t"}]}},null]}]}`, `{"version":2}`,
		`[{"name":"m"}]`, `{"m 0":[1,2]}`, "null",
	) {
		f.Add("s/c.json", []byte(s))
	}
	f.Add(modelsFile, []byte(`[{"name":"models/m","temperature":0}]`))
	f.Add(vectorsFile, []byte(`{"m 0":[1,2]}`))
	f.Add(vectorsFile, []byte("null"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if name != modelsFile && name != vectorsFile {
			name = "s/c.json"
		}
		dir := t.TempDir()
		place(t, filepath.Join(dir, name), data)
		s, err := Open(dir)
		if err != nil {
			expect.Contains(t, "err", err.Error(), "not a file of recorded answers")
			return
		}
		for id, a := range s.byID {
			if a.ID != id || s.answer(id).Replay(&eval.Call{}) == nil {
				t.Errorf("%q: %+v, want an answer that replays", id, a)
			}
		}
		s.putVector("m", "text", []float64{1})
		s.Put(result("new", "x/p", 1, "text"))
		if f := s.files[fileName("s", "new")]; f == nil || len(f.Answers) == 0 || len(s.vector("m", "text")) != 1 {
			t.Error("the answer or the vector that was put is missing, want both")
		}
	})
}

// FuzzPut checks that an answer of any texts is kept below the folder, in a file of its case alone. It reads back as
// it was put, in the cache too.
func FuzzPut(f *testing.F) {
	for group := range slices.Chunk(hostile.Strings(), 20) { // files each
		f.Add(group[0], strings.Join(group, "/"))
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		name := fileName(a, b)
		if !filepath.IsLocal(name) || strings.Count(name, "/") != 1 || len(name) > 60+20+len(a)+20 {
			t.Fatalf("got %v, want a short local name with one folder", name)
		}
		if name == fileName(a, b+"x") || name == fileName(a+"x", b) {
			t.Fatalf("%s: got one file for two cases, want two", name)
		}
		if len(a) > 100 { // names of files are not endless
			return
		}
		dir := filepath.Join(t.TempDir(), "store")
		s, err := Open(dir)
		expect.OK(t, err)
		r := result(b, a, 1, b)
		r.Suite, r.ID = a, "0123456789abcdef"
		s.Put(r)
		s.putVector(a, b, []float64{1, 0.5})
		expect.OK(t, s.Save())
		want := string([]rune(b)) // as JSON can hold it
		if s, err = Open(dir); err != nil || s.answer(r.ID) == nil {
			t.Fatalf("got %v, want an answer", err)
		}
		expect.Same(t, "the text", s.answer(r.ID).Response.Text(), want)
		expect.Same(t, "the arm", s.answer(r.ID).Arm, string([]rune(a)))
		fuzzCache(t, answerCache{Dir: filepath.Join(dir, "cache"), Service: a}, b, r)
	})
}

// fuzzCache puts the answer to a key into a cache, which must give it back, and to no other key or service.
func fuzzCache(t *testing.T, c answerCache, key string, r *eval.Result) {
	t.Helper()
	expect.OK(t, c.Put(key, r.Response, r.Timing))
	want := string([]rune(key))
	if got := c.answer(key); key == want && (got == nil || got.Response.Text() != want || got.Timing.LatencyMs != 5) {
		t.Errorf("%+v, want nothing, or %s after 5 ms", got, want)
	}
	if (answerCache{Dir: c.Dir, Service: c.Service + "x"}).answer(key) != nil || c.answer(key+"x") != nil {
		t.Error("got the answer of another service or key, want none")
	}
}

// FuzzCacheFile checks that a file of the cache is no answer, or one of its trial with the checksum it has.
func FuzzCacheFile(f *testing.F) {
	good, err := wirejson.Marshal(storedAnswer{ID: "id", Response: &eval.Response{}})
	expect.OK(f, err)
	for _, s := range append(hostile.Strings()[:20], string(good), `{"id":"other","response":{}}`, `{"id":"id"}`, "null") {
		f.Add([]byte(s), true)
	}
	f.Add([]byte(`{"answer":`+string(good)+`,"sha256":""}`), false)
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		c := answerCache{Dir: t.TempDir(), Service: "s"}
		if sealed && json.Valid(data) {
			file, err := wirejson.Marshal(cached{data, sumOf(data)})
			expect.OK(t, err)
			data = file
		}
		place(t, c.path("id"), data)
		if a := c.answer("id"); a != nil &&
			(a.ID != "id" || a.Replay(&eval.Call{}) == nil || !sealed && !strings.Contains(string(data), `"sha256"`) && !json.Valid(data)) {
			t.Errorf("%+v, want the answer of id that replays", a)
		}
	})
}
