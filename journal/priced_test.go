package journal

import (
	"math"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// What sessions without a price list have spent is priced call by call when a later one has a list: in single calls, in chats
// that are written turn by turn, and in what is run again after an error.
func TestEarlierCallsAreBilledOneByOne(t *testing.T) {
	t.Parallel()
	call := func(prompt int, batch bool) eval.Usage {
		u := eval.Usage{PromptTokens: prompt, OutputTokens: 100, TotalTokens: prompt + 100, Source: eval.UsageService}
		return *u.OfCall(batch)
	}
	price := eval.Price{Input: 1, Output: 4, Above: &eval.LongPrice{Tokens: 200_000, Price: eval.Price{Input: 2, Output: 6}}}
	list := eval.PriceList{Batch: new(0.5), Models: map[string]eval.Price{"m": price}}
	calls := []eval.Usage{call(250_000, false), call(150_000, false), call(250_000, true), call(1000, true)}
	want := 0.0
	for i := range calls {
		want += list.Of("m", &calls[i])
	}

	run := header
	w, err := Create(t.TempDir(), &run, nil)
	expect.OK(t, err)
	single, chat := result(0, eval.Pass), result(1, eval.Err)
	single.Model, single.Usage = "m", &calls[0]
	chat.Model = "m"
	chat.Usage, chat.Timing = &eval.Usage{}, &eval.Timing{StartedAt: time.Unix(5, 0).UTC()}
	for i := range calls[1:] {
		u := &calls[1+i]
		chat.Calls = append(chat.Calls, eval.AnsweredCall{Usage: *u, Timing: eval.Timing{StartedAt: time.Unix(int64(5+i), 0).UTC(), Attempts: 1}})
		chat.Usage.Add(u)
		if i < 2 {
			expect.OK(t, w.KeptCall(chat))
		}
	}
	expect.OK(t, w.Append(single), w.Append(chat), w.Append(chat)) // the chat was scored again: nothing new was paid
	d, err := Open(w.path)
	expect.OK(t, err)
	u := d.Unpriced["m"]
	if got := list.Of("m", &u); math.Abs(got-want) > 1e-9 {
		t.Errorf("%+v: got %g, want %g", u, got, want)
	}
	expect.OK(t, w.Close())
}
