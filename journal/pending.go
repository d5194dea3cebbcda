package journal

import (
	"hash/fnv"
	"io"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// unsettledAnswer is an answer that was paid for before its trial could be settled: it waits for judges or embeddings. It has a
// line so that a crash does not lose it. The last answered call of a trial that has further calls to come is one as well: if it
// starts programs, it has one line before they run, and a second one with their results.
type unsettledAnswer struct {
	ID       string              `json:"id"` // of the trial
	N        int                 `json:"n"`
	Model    string              `json:"model"`
	Number   int                 `json:"turn,omitempty"` // of a call, from 1
	Request  *eval.Request       `json:"request,omitempty"`
	Response *eval.Response      `json:"response"`
	Calls    []eval.AnsweredCall `json:"turns,omitempty"`
	Results  []eval.CallResult   `json:"results,omitempty"` // of a call
	Usage    *eval.Usage         `json:"usage,omitempty"`
	Timing   *eval.Timing        `json:"timing,omitempty"`
	TraceID  string              `json:"traceId,omitempty"`
}

// KeptAnswer writes the answer of a trial that is not settled yet.
func (w *Writer) KeptAnswer(r *eval.Result) error {
	return w.write(answerKind, &unsettledAnswer{
		ID: r.ID, N: r.N, Model: r.Model, Request: r.Request, Response: r.Response, Calls: r.Calls,
		Usage: r.Usage, Timing: r.Timing, TraceID: r.TraceID,
	})
}

// KeptCall writes the last answered call of a trial that has further calls to come.
func (w *Writer) KeptCall(r *eval.Result) error {
	n := len(r.Calls)
	last := &r.Calls[n-1]
	return w.write(answerKind, &unsettledAnswer{
		ID: r.ID, N: r.N, Model: r.Model, Number: n, Request: r.Request, Response: &last.Response, Results: last.Results,
		Usage: &last.Usage, Timing: &last.Timing,
	})
}

// judgementLine is a reply of a judge about the answer of a trial that is not settled yet.
type judgementLine struct {
	Trial string `json:"trial"`
	eval.Judgement
}

// KeptJudgement writes what a judge replied about the answer of a trial that is not settled yet.
func (w *Writer) KeptJudgement(trialID string, j *eval.Judgement) error {
	return w.write(judgementKind, judgementLine{trialID, *j})
}

// pending locates the lines of an unsettled trial: its answer or its calls so far, and the replies of judges.
type pending struct {
	answer     Place
	turns      []Place
	judgements []Place
	paid       paid
	failed     bool   // its line is an error, which has what is pending as well, unless more was paid since
	last       uint64 // when the last of the calls was made, as in paid
}

// paid is the cost of a trial's calls so far.
type paid struct {
	began    uint64 // a hash of when the first of them was made
	model    string
	attempts int
	usage    eval.Usage
}

// since subtracts an earlier cost that p includes. It does so only if both began at the same time: they are of the same
// calls then.
func (p paid) since(before paid) paid {
	if before.began == 0 || before.began != p.began {
		return p
	}
	p.attempts = max(0, p.attempts-before.attempts)
	p.usage = p.usage.Since(&before.usage)
	return p
}

func (r *scannedTrial) paid() paid {
	p := paid{model: r.Model, attempts: r.Timing.Attempts, usage: r.Usage.Usage}
	if r.Timing.StartedAt != "" {
		h := fnv.New64a()
		_, _ = io.WriteString(h, r.Timing.StartedAt)
		p.began = h.Sum64()
	}
	return p
}

// unsettled are the trials without a final result. A trial is pending until the line of its result comes. If more lines
// may follow, what it has cost so far is counted: each line adds only the rest.
type unsettled struct {
	pending map[trialID]*pending // answers, turns and replies
	counted map[trialID]paid
}

func (u *unsettled) of(id trialID) *pending {
	if u.pending == nil {
		u.pending = map[trialID]*pending{}
	}
	p := u.pending[id]
	if p == nil {
		p = &pending{}
		u.pending[id] = p
	}
	return p
}

// take adds the line of an answer. turn is the number of a call, 0 for the answers of all calls. A call may have two
// lines, the second one with the results of function calls.
func (p *pending) take(turn int, now paid, line Place) {
	p.failed = false
	rewritten := turn > 1 && turn == len(p.turns) && now.began != 0 && now.began == p.last
	p.last = now.began
	switch {
	case turn == 0:
		p.answer, p.turns = line, nil
	case turn == 1:
		p.turns, p.answer = []Place{line}, Place{}
	case rewritten:
		p.turns[turn-1], now = line, p.paid
	default:
		p.turns = append(p.turns, line)
		sum := p.paid
		sum.attempts += now.attempts
		sum.usage.Add(&now.usage)
		now = sum
	}
	p.paid = now
}

// settle records that a trial has its line, and returns the cost that was not counted before. What was paid for a trial without a
// verdict is kept, since its next process needs it: all of a skipped one, and of an error the calls of the chat and the replies of
// judges.
func (u *unsettled) settle(r *scannedTrial) paid {
	all := r.paid()
	rest := all.since(u.counted[r.id])
	switch failed := r.Error.Kind != ""; {
	case r.Outcome == string(eval.Skip):
		return paid{}
	case !failed:
		delete(u.pending, r.id)
		delete(u.counted, r.id)
	case all.began != 0: // it may be scored again, or its chat continue
		u.count(r.id, all)
		if p := u.pending[r.id]; p != nil {
			all.model = p.paid.model
			p.answer, p.paid, p.failed = Place{}, all, true
		}
	}
	return rest
}

// count notes the cost of a trial that may get another line.
func (u *unsettled) count(id trialID, p paid) {
	if u.counted == nil {
		u.counted = map[trialID]paid{}
	}
	p.model = ""
	u.counted[id] = p
}

func (u *unsettled) rests(yield func(paid) bool) {
	for id, p := range u.pending {
		rest := p.paid.since(u.counted[id])
		if p.paid.began != 0 {
			u.count(id, p.paid)
		}
		if !yield(rest) {
			return
		}
	}
}

// keptAnswer takes up the scanned line of an answer. If a trial with several calls was answered completely, its line
// has their answers.
func (d *Document) keptAnswer(line Place) {
	r := &d.file.trial
	now := r.paid()
	now.model = strings.Clone(now.model)
	d.unsettled.of(r.id).take(r.Turn, now, line)
}

// keptJudgement takes up the scanned line of a judge's reply and counts its cost. The line of the trial marks the
// reply as noted, so that it does not count twice.
func (d *Document) keptJudgement(line Place) {
	j := &d.file.judgement
	d.spendJudge(&j.scannedJudgement)
	p := d.unsettled.of(newTrialID(j.Trial))
	p.judgements = append(p.judgements, line)
}

func (d *Document) spendPending() {
	for rest := range d.unsettled.rests {
		d.spend(rest.model, rest.attempts, rest.usage)
	}
}

// Pending reads what the run file has of an unsettled trial: its complete answer or its calls so far, and the replies of
// judges. It is nil when there is nothing, or when it cannot be read.
func (d *Document) Pending(id string) *eval.Result {
	p := d.unsettled.pending[newTrialID(id)]
	if p == nil {
		return nil
	}
	out := &eval.Result{}
	if p.answer.length > 0 {
		var a unsettledAnswer
		if d.file.decode(p.answer, &a) != nil {
			return nil
		}
		out.Response = a.Response
		out.Calls = a.Calls
		out.Usage = a.Usage
		out.Timing = a.Timing
		out.Request = a.Request
		out.TraceID = a.TraceID
	}
	out.Calls = append(out.Calls, d.pendingTurns(p)...)
	for _, line := range p.judgements {
		var j judgementLine
		if d.file.decode(line, &j) == nil {
			j.Noted = true
			out.Judgements = append(out.Judgements, j.Judgement)
		}
	}
	return out
}

// pendingTurns are the calls of a trial up to the first that is missing or cannot be read.
func (d *Document) pendingTurns(p *pending) (out []eval.AnsweredCall) {
	for i, line := range p.turns {
		var a unsettledAnswer
		if d.file.decode(line, &a) != nil || a.Number != i+1 || a.Response == nil || a.Usage == nil || a.Timing == nil {
			break
		}
		out = append(out, eval.AnsweredCall{Response: *a.Response, Results: a.Results, Usage: *a.Usage, Timing: *a.Timing})
	}
	return out
}

// PendingCalls is how many calls of unsettled trials the file has.
func (d *Document) PendingCalls() int {
	n := 0
	for _, p := range d.unsettled.pending {
		if !p.failed {
			n += p.paid.attempts + len(p.judgements)
		}
	}
	return n
}

// PendingJudgements yields the replies of judges about answers of unsettled trials.
func (d *Document) PendingJudgements(yield func(eval.Judgement) bool) {
	for _, p := range d.unsettled.pending {
		for _, line := range p.judgements {
			var j judgementLine
			if d.file.decode(line, &j) == nil && !yield(j.Judgement) {
				return
			}
		}
	}
}
