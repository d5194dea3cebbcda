package page_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
)

// Long texts of a chat are cut and counted, those of judges too.
func TestLongTextsOfChatsAreCutAndCounted(t *testing.T) {
	t.Parallel()
	const long = 60_000
	text := pageOf(t, testrun.Chats(t, strings.Repeat("x", long), nil))
	var index struct{ Left struct{ Texts int } }
	decode(t, text, "index", &index)
	trials := trialsOf(t, text)
	if index.Left.Texts != 6 { // two replies and two judgements, one reply, one reply
		t.Errorf("%d texts are cut, want 6", index.Left.Texts)
	}
	whole, broken := trials[0], trials[1]
	for what, w := range map[string]*eval.Withheld{
		"reply":     whole.Calls[0].Candidates[0].Withheld,
		"answer":    whole.Response.Candidates[0].Withheld,
		"judgement": whole.Judgements[1].Withheld,
		"broken":    broken.Calls[0].Candidates[0].Withheld,
	} {
		if w == nil || w.Bytes <= long {
			t.Errorf("%s: %+v, want one of more than %d bytes", what, w, long)
		}
	}
}

// Of a chat the page has the user's texts, and the last answer in one place.
func TestChatsAreWrittenOnce(t *testing.T) {
	t.Parallel()
	trials := trialsOf(t, pageOf(t, testrun.Chats(t, "", nil)))
	whole, broken := trials[0], trials[1]
	if n := len(whole.Request.Contents); n != 2 || len(whole.Calls) != 2 {
		t.Fatalf("%d contents and %d turns, want 2 and 2", n, len(whole.Calls))
	}
	if last := whole.Calls[1]; last.Candidates != nil || last.Usage.TotalTokens != 7 {
		t.Errorf("the last turn is %+v, want one without its answer", last)
	}
	if broken.Response != nil {
		t.Errorf("a chat that broke off has the answer %+v, want none", broken.Response)
	}
}

func trialsOf(t *testing.T, page []byte) []eval.Result {
	t.Helper()
	var trials []eval.Result
	decode(t, page, "trials/0", &trials)
	return trials
}

func decode(t *testing.T, page []byte, id string, into any) {
	t.Helper()
	all := blocks(t, page)
	at := slices.IndexFunc(all, func(b block) bool { return b.id == id })
	if at < 0 {
		t.Fatalf("got no block %s on the page, want one", id)
	}
	expect.OK(t, json.Unmarshal([]byte(all[at].data), into))
}

// What was withheld of chats and judges is not in the page.
func TestWithheldChatsAreNotInThePage(t *testing.T) {
	t.Parallel()
	const secret = "a word that the page must not have "
	d := testrun.Chats(t, secret, (*eval.Result).Withhold)
	for _, b := range blocks(t, pageOf(t, d)) {
		if strings.Contains(b.data, strings.TrimSpace(secret)) || strings.Contains(b.data, "names no day") {
			t.Errorf("%s: got what was not kept, want none of it", b.id)
		}
	}
}
