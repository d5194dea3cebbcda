package page_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testrun"
)

// A page holds each text of a chat once, and long ones are cut and counted, those of judges too.
func TestChats(t *testing.T) {
	t.Parallel()
	const long = 60_000
	var index struct{ Left struct{ Texts int } }
	var trials []eval.Result
	into := map[string]any{"index": &index, "trials/0": &trials}
	for _, b := range blocks(t, pageOf(t, testrun.Chats(t, strings.Repeat("x", long), nil))) {
		if into[b.id] == nil {
			continue
		}
		if err := json.Unmarshal([]byte(b.data), into[b.id]); err != nil {
			t.Fatal(err)
		}
	}
	if index.Left.Texts != 6 { // two replies and two judgements, one reply, one reply
		t.Errorf("%d texts are cut, want 6", index.Left.Texts)
	}
	whole, broken := trials[0], trials[1]
	for what, w := range map[string]*eval.Withheld{
		"reply":     whole.Turns[0].Candidates[0].Withheld,
		"answer":    whole.Response.Candidates[0].Withheld,
		"judgement": whole.Judgements[1].Withheld,
		"broken":    broken.Turns[0].Candidates[0].Withheld,
	} {
		if w == nil || w.Bytes <= long {
			t.Errorf("%s: %+v, want one of more than %d bytes", what, w, long)
		}
	}
	if last := whole.Turns[1]; last.Candidates != nil || last.Usage.TotalTokens != 7 {
		t.Errorf("the last turn is %+v, want one without its answer", last)
	}
	if n := len(whole.Request.Contents); n != 2 || len(whole.Turns) != 2 {
		t.Errorf("%d contents and %d turns, want 2 and 2", n, len(whole.Turns))
	}
	if broken.Response != nil {
		t.Errorf("a chat that broke off has the answer %+v", broken.Response)
	}
}

// What was withheld of chats and judges is not in the page.
func TestChatsWithoutContent(t *testing.T) {
	t.Parallel()
	const secret = "a word that nobody may read "
	d := testrun.Chats(t, secret, (*eval.Result).Withhold)
	for _, b := range blocks(t, pageOf(t, d)) {
		if strings.Contains(b.data, strings.TrimSpace(secret)) || strings.Contains(b.data, "names no day") {
			t.Errorf("%s holds what was not kept", b.id)
		}
	}
}
