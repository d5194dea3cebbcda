package proxy

import (
	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// begin takes down a call that is about to be made.
func (t *Trial) begin(call *eval.Call) *eval.ModelCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := &eval.ModelCall{Service: call.Service, Model: call.Model}
	t.calls = append(t.calls, entry)
	return entry
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

// Usage is what calls cost together, nil for none.
func Usage(calls []eval.ModelCall) *eval.Usage {
	var sum *eval.Usage
	for i := range calls {
		switch {
		case calls[i].Error != nil:
		case sum == nil:
			sum = new(calls[i].Usage)
			sum.Extra = nil
		default:
			sum.Add(&calls[i].Usage)
		}
	}
	return sum
}
