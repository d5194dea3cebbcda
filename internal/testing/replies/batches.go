package replies

import (
	"bytes"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Said lists what became of the items of a batch, as "item text" or "item kind error", and the error that ends its results.
func Said(t testing.TB, b wire.Batcher, call *eval.Call, state *wire.BatchState) (got []string, failure error) {
	t.Helper()
	for reply, err := range b.Replies(t.Context(), call, state) {
		if failure != nil {
			t.Error("something follows an error")
		}
		if failure = err; err != nil {
			continue
		}
		if reply.Item == "" || reply.Error != nil && reply.Body != nil {
			t.Errorf("%+v has no item, or an error next to its answer", reply)
		}
		if resp, err := b.Read(call, reply); err != nil {
			got = append(got, reply.Item+" "+string(eval.AsError(err).Kind)+" "+err.Error())
		} else {
			got = append(got, reply.Item+" "+resp.Text())
		}
	}
	return got, failure
}

// FuzzBatch checks that whatever comes as the results of a batch is read to its end or to an error, and that no reply has the
// key in it. The seeds are the good results, cut off, twice, and with other things between.
func FuzzBatch(f *testing.F, client func(wire.Server) wire.Batcher, state wire.BatchState, good string, more []string) {
	const key = "sk-canary-0123456789"
	good = strings.ReplaceAll(good, "KEY", key)
	for _, seed := range append(more, good, good+good, good[:len(good)/2], good[:len(good)-1], "\xEF\xBB\xBF"+good, "<html>"+good) {
		f.Add([]byte(seed))
		f.Add([]byte(strings.Replace(good, "\n", seed+"\n", 1)))
	}
	call := &eval.Call{Request: eval.Request{Model: "m"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := client(wire.Server{BaseURL: "http://service.invalid", Key: key, Transport: &Canned{Body: data}})
		got, err := Said(t, b, call, &state)
		if e := eval.AsError(err); err != nil && (e.Kind == "" || e.Message == "") {
			t.Errorf("%+v, want an error of a kind", e)
		}
		if len(got) > 1+bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte(",")) {
			t.Errorf("%d replies from %q", len(got), data)
		}
		if text := strings.Join(got, "\n"); strings.Contains(text, key) || err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%q and %v show the key", text, err)
		}
	})
}
