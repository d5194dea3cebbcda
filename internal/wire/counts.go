package wire

import (
	"encoding/json"

	"github.com/evalrun/evalrun/eval"
)

// maxTokens is the largest number of tokens that can be true.
const maxTokens = 1 << 40

// TokenCounts are numbers of tokens that a vendor reports.
type TokenCounts struct {
	Input, Output, Total, Cached, Reasoning LenientInt
}

// TakeCount takes a number out of a vendor's record, under one of its names. One that is no number counts as missing.
func TakeCount(f Fields, to *LenientInt, names ...string) bool {
	found := false
	for _, name := range names {
		raw := f[name]
		if len(raw) == 0 || string(raw) == "null" || found {
			continue
		}
		found = f.Take(name, to) == nil
	}
	return found
}

// TakeDetail takes a number out of an object in a vendor's record, and leaves what else is in it, zeros aside.
func TakeDetail(f Fields, object string, to *LenientInt, name string) {
	var in Fields
	if f.Take(object, &in) != nil || in == nil {
		return
	}
	TakeCount(in, to, name)
	DropZeros(in)
	if len(in) > 0 {
		f[object], _ = json.Marshal(in) //nolint:errchkjson // it was decoded
	}
}

// Usage adds up the counts; known says that the number of output tokens is among them. It is nil where they cannot be
// true.
func (c *TokenCounts) Usage(known bool, rest Fields) *eval.Usage {
	u := &eval.Usage{
		PromptTokens: int(c.Input), OutputTokens: int(c.Output), CachedTokens: int(c.Cached),
		ReasoningTokens: int(c.Reasoning), TotalTokens: max(int(c.Total), int(c.Input)+int(c.Output)),
		Source: eval.UsageService, Extra: eval.NewExtra(rest),
	}
	if !known {
		u.Source = ""
	}
	for _, n := range []int{u.PromptTokens, u.OutputTokens, u.TotalTokens, u.CachedTokens, u.ReasoningTokens} {
		if n < 0 || n > maxTokens {
			return nil
		}
	}
	if u.TotalTokens == 0 {
		return nil
	}
	return u
}

// DropZeros drops members that say nothing: zeros, and what is empty.
func DropZeros(f Fields) {
	for name, raw := range f {
		if string(raw) == "0" || IsEmpty(raw) {
			delete(f, name)
		}
	}
}
