package proxy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// begin takes down a call that is about to be made, unless a limit has been reached.
func (t *Trial) begin(call *eval.Call, of kind) *eval.ModelCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	if limit, why := t.reached(of); limit != "" {
		t.reach(limit, why)
		return nil
	}
	if of == answer {
		t.steps++
	}
	entry := &eval.ModelCall{Service: call.Service, Model: call.Model}
	t.calls = append(t.calls, entry)
	return entry
}

// reached is the limit that the calls so far have reached, and why in words.
func (t *Trial) reached(of kind) (limit, why string) {
	most := t.Limits
	switch {
	case most.Steps > 0 && t.steps >= most.Steps && of == answer:
		return eval.LimitSteps, fmt.Sprintf(
			"the program has made %s, and `limits: {steps: %d}` allows no more", diag.Count(t.steps, "call"), most.Steps,
		)
	case most.Tokens > 0 && t.tokens >= most.Tokens:
		return eval.LimitTokens, fmt.Sprintf("the program has used %d tokens, and `limits: {tokens: %d}` allows no more", t.tokens, most.Tokens)
	case most.Money > 0 && t.money >= most.Money:
		return eval.LimitMoney, fmt.Sprintf("the program has spent %.4f, and `limits: {money: %g}` allows no more", t.money, most.Money)
	}
	return "", ""
}

// reach notes that the program has reached a limit, and ends it in a while.
func (t *Trial) reach(limit, why string) {
	if t.limit != "" {
		return
	}
	t.limit, t.why = limit, why
	timer := time.AfterFunc(patience, func() {
		t.mu.Lock()
		end := t.over
		t.mu.Unlock()
		if end != nil {
			end()
		}
	})
	context.AfterFunc(t.ctx, func() { timer.Stop() })
}

// spent notes that a budget of the run refused a call of the program.
func (t *Trial) spent(entry *eval.ModelCall, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = slices.DeleteFunc(t.calls, func(one *eval.ModelCall) bool { return one == entry })
	t.reach(eval.LimitMoney, why)
}

// note takes down how a call ended.
func (t *Trial) note(entry *eval.ModelCall, call *eval.Call, resp *eval.Response, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry.Timing = call.Timing
	if err != nil {
		entry.Error = eval.AsError(err)
		return
	}
	entry.Usage = *wire.Usage(call, resp)
	t.tokens += entry.Usage.TotalTokens
	t.money += t.Prices.Of(entry.Model, &entry.Usage)
	if len(resp.Candidates) > 0 || resp.PromptFeedback != nil {
		entry.Response = resp
	}
}

// take takes down the results of tool calls that a request sends to a model: with the earlier call that has the tool call. Requests
// repeat the results of earlier ones. Those without an id belong to the calls of their name in order.
func (t *Trial) take(results []eval.CallResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	used := map[*eval.FunctionCall]bool{}
	for _, one := range results {
		t.place(one, used)
	}
}

func (t *Trial) place(result eval.CallResult, used map[*eval.FunctionCall]bool) {
	for _, entry := range t.calls {
		if entry.Response == nil || len(entry.Response.Candidates) == 0 {
			continue
		}
		i := 0
		for _, piece := range entry.Response.Candidates[0].Pieces {
			made, ok := piece.(eval.CallPiece)
			if !ok {
				continue
			}
			if i++; used[made.Call] || made.Call.ID != result.ID || result.ID == "" && made.Call.Name != result.Name {
				continue
			}
			used[made.Call] = true
			if len(entry.Results) < i {
				result.Name = made.Call.Name
				entry.Results = append(entry.Results, result)
			}
			return
		}
	}
}

// embedded is the answer to a request for vectors: what it cost.
func embedded(data []byte) *eval.Response {
	n := int(gjson.GetBytes(data, "usage.prompt_tokens").Int())
	if n <= 0 || !wire.ArePossible(n) {
		return &eval.Response{}
	}
	return &eval.Response{Usage: &eval.Usage{PromptTokens: n, TotalTokens: n, Source: eval.UsageService}}
}

// Usage is what calls cost together, as far as their answers say; nil for none.
func Usage(calls []eval.ModelCall) *eval.Usage {
	if len(calls) == 0 {
		return nil
	}
	sum := &eval.Usage{Source: eval.UsageService}
	for i := range calls {
		if calls[i].Error == nil {
			sum.Add(&calls[i].Usage)
		}
	}
	return sum
}
