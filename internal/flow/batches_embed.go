package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Embed gives the vectors once all of them are there. Until then the texts go into a batch, each as an item.
func (s batched) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	b := s.batches
	service, ok := b.cfg.Services[call.Service].Batcher.(wire.EmbedBatcher)
	if !ok {
		return s.Service.Embed(ctx, call)
	}
	texts := make([]embedItem, len(call.Texts))
	replied := 0
	for i, text := range call.Texts {
		texts[i] = b.embedItem(call, text)
		switch b.stateOf(texts[i].id) {
		case itemReplied:
			replied++
		case itemWaits:
		case itemUnknown:
			if b.cfg.Live {
				return s.Service.Embed(ctx, call)
			}
			line, err := service.ItemEmbed(texts[i].id, texts[i].own)
			if err == nil {
				err = b.putLine(outgoingItem{texts[i].id, texts[i].call, line, true})
			}
			if e := eval.AsError(err); e.Kind != eval.KindWaiting {
				return nil, err
			}
		}
	}
	if replied < len(texts) {
		b.hold(texts)
		return nil, errWaiting()
	}
	out := make([][]float64, len(texts))
	for i := range texts {
		vectors, err := b.vectors(service, &texts[i])
		if err != nil {
			return nil, err
		}
		out[i] = vectors[0]
	}
	return out, nil
}

type embedItem struct {
	id   string
	own  *eval.EmbedCall // of the text alone
	call *eval.Call      // what the books have of it
}

func (b *Batches) embedItem(of *eval.EmbedCall, text string) embedItem {
	own := *of
	own.Texts = []string{text}
	sum := sha256.Sum256([]byte(text))
	call := &eval.Call{
		Request: eval.Request{Service: of.Service, Model: of.Model, APIVersion: of.APIVersion},
		TrialID: "embed " + hex.EncodeToString(sum[:]), PromptTokens: wire.Texts(own.Texts),
	}
	return embedItem{b.id(call), &own, call}
}

// hold keeps the replies to some texts for the next process.
func (b *Batches) hold(texts []embedItem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range texts {
		if at := b.items[texts[i].id]; at.in != nil {
			at.in.held = true
		}
	}
}

func (b *Batches) vectors(service wire.EmbedBatcher, of *embedItem) ([][]float64, error) {
	c := b.came(of.call, of.id)
	out, err := service.ReadEmbed(of.own, c.reply)
	if err == nil && len(out) != 1 {
		err = eval.Errorf(eval.KindMalformed, "got %d vectors for a text", len(out))
	}
	usage := &eval.Usage{PromptTokens: of.call.PromptTokens, TotalTokens: of.call.PromptTokens}
	return out, b.settle(c, usage.OfCall(true), err)
}
