package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func (s *site) connected() *Session {
	s.Helper()
	j, err := s.settle(Options{})
	expect.OK(s, err)
	session, err := Connect(j, "test", s.notice)
	expect.OK(s, err)
	s.Cleanup(session.Close)
	return session
}

// Vectors come in the order of their texts, and a call has at most 100 of these.
func TestEmbedKeepsTheOrderOverBatches(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var texts []textAt
	var want []string
	for i := range 201 {
		want = append(want, fmt.Sprintf("text %d", i))
		texts = append(texts, textAt{Where: "file", Text: want[i]})
	}
	var got []string
	vectors := map[string]int{}
	for e, err := range s.connected().Embed(t.Context(), "embedding-001", texts) {
		expect.OK(t, err)
		got = append(got, e.Text)
		vectors[fmt.Sprint(e.Values)]++
	}
	expect.Same(t, "texts", got, want)
	stats := s.service.Stats()
	if calls := stats[wire.MethodEmbed] + stats[wire.MethodEmbedBatch]; calls != 3 || len(vectors) != 201 {
		t.Errorf("%d calls and %d different vectors, want 3 and 201", calls, len(vectors))
	}
}

// A text that the model does not take is bad input that says where it is, before the first one is sent.
func TestEmbedRefusesBeforeItSends(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session := s.connected()
	good := textAt{Where: "a.txt:1", Text: "good"}
	for _, test := range []struct {
		model string
		bad   string
		says  []string
	}{
		{"embedding-001", "\xff", []string{"a.txt:2", "UTF-8"}},
		{"embedding-001", strings.Repeat("x", 4*2048+1), []string{"a.txt:2", "2049", "2048"}},
		{"embeding-001", "fine", []string{"embeding-001", "embedding-001"}},
		{"svc-pro", "fine", []string{"svc-pro", wire.MethodEmbed}},
	} {
		var refusal error
		for _, err := range session.Embed(t.Context(), test.model, []textAt{good, {Where: "a.txt:2", Text: test.bad}}) {
			if refusal = err; err == nil {
				t.Errorf("%s: a vector came, want an error", test.model)
			}
		}
		s.refused(refusal, eval.CodeBadInput, test.says...)
	}
	if stats := s.service.Stats(); stats[wire.MethodEmbed]+stats[wire.MethodEmbedBatch] != 0 {
		t.Errorf("calls were made: %v, want none", stats)
	}
}

// A model that is not there is bad input with the name that was meant; a service that refuses is not.
func TestModelNamesTheNearest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session := s.connected()
	if m, err := session.Model(t.Context(), "svc-pro"); err != nil || m.ID() != "svc-pro" {
		t.Errorf("svc-pro: %v, %v, want the model and no error", m, err)
	}
	_, err := session.Model(t.Context(), "svc-rpo")
	s.refused(err, eval.CodeBadInput, "svc-rpo", "`svc-pro`")
	s.env["EVALRUN_API_KEY"] = "another"
	_, err = s.connected().Model(t.Context(), "svc-rpo")
	s.refused(err, eval.CodeIncomplete, "EVALRUN_API_KEY")
	_, err = s.connected().Models(t.Context())
	s.refused(err, eval.CodeIncomplete, "EVALRUN_API_KEY")
}
