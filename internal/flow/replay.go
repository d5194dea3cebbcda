package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Replay answers from recorded answers. What was not recorded goes to next, or, when next is nil, is an error of
// kind replayMiss. of is the name of the service, "" for the unnamed one.
func Replay(store *Recordings, next Service, of string) Service {
	return &replay{store: store, next: next, of: of}
}

type replay struct {
	store *Recordings
	next  Service
	of    string
}

func (r *replay) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	a := r.store.answer(call.TrialID)
	switch {
	case (a == nil || call.Earlier == eval.EarlierRefused) && r.next != nil:
		return r.next.Generate(ctx, call)
	case a == nil && call.Judge != "":
		return nil, NeverCalled(call.Judge, ": its reply is not among the recorded answers")
	case a == nil && r.store.absent[call.TrialID]:
		return nil, miss("there is no recorded answer for this trial: nothing is recorded of it, or its call failed, which is not recorded")
	case a == nil:
		return nil, miss("there is no recorded answer for this trial: its request differs from the recorded ones")
	}
	return a.Replay(call), nil
}

func miss(format string, args ...any) *eval.Error {
	return &eval.Error{Kind: eval.KindReplayMiss, Retry: eval.RetryNever, Unsent: true, Message: fmt.Sprintf(format, args...)}
}

// NeverCalled is the error of a question that is not sent to its judge, and to which no reply is on record. why completes the
// sentence, its punctuation included.
func NeverCalled(judge, why string) *eval.Error {
	e := miss("the judge `%s` was never asked this question%s", judge, why)
	e.Cause = eval.NeverCalled
	return e
}

// CountTokens estimates, because there is no service to count. No limit depends on the number in a replay.
func (r *replay) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	if r.next != nil && r.store.answer(call.TrialID) == nil {
		return r.next.CountTokens(ctx, call)
	}
	return wire.Request(&call.Request), nil
}

func (r *replay) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	out := make([][]float64, len(call.Texts))
	rest := &eval.EmbedCall{Model: call.Model, APIVersion: call.APIVersion, Service: call.Service}
	var places []int
	for i, text := range call.Texts {
		if out[i] = r.store.vector(r.recorded(call.Model), text); out[i] == nil {
			rest.Texts, places = append(rest.Texts, text), append(places, i)
		}
	}
	switch {
	case len(places) == 0:
		return out, nil
	case r.next == nil:
		return nil, miss("%d of %s %s not recorded", len(places), diag.Count(len(out), "embedding"),
			diag.Verb(len(places), "was", "were"))
	}
	vectors, err := r.next.Embed(ctx, rest)
	call.Timing = rest.Timing
	if err != nil {
		return nil, err
	}
	for i, v := range vectors {
		out[places[i]] = v
		r.store.putVector(r.recorded(call.Model), rest.Texts[i], v)
	}
	return out, nil
}

// recorded is the name of a model in records: two services may have different models of one name.
func (r *replay) recorded(model string) string {
	if r.of == "" {
		return model
	}
	return r.of + "/" + model // no name of a service has a slash
}

// Model returns what was recorded of a model.
func (r *replay) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	if r.next != nil {
		return r.next.Model(ctx, apiVersion, id)
	}
	for i := range r.store.Models {
		if m := r.store.Models[i]; m.ID() == id && m.APIVersion == apiVersion && m.Service == r.of {
			return &m, nil
		}
	}
	return nil, miss("nothing is recorded of the model %s", id)
}

func (r *replay) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	if r.next != nil {
		return r.next.Models(ctx, apiVersion)
	}
	return slices.DeleteFunc(slices.Clone(r.store.Models), func(m eval.Model) bool { return m.Service != r.of }), nil
}
