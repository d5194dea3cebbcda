package wire

import (
	"encoding/json"

	"github.com/evalrun/evalrun/eval"
)

// A larger number of tokens cannot be true.
const maxTokens = 1 << 40

// Limit returns the number as a limit of tokens: 0, which is an unknown one, if it cannot be true.
func (n LenientInt) Limit() int {
	if n < 0 || n > maxTokens {
		return 0
	}
	return int(n)
}

// TokenCounts has the numbers of tokens that a vendor reports.
type TokenCounts struct {
	Input, Output, Total, Cached, Reasoning LenientInt
}

// TakeCount moves a number from a vendor's record, under one of its names. A value that is not a number
// counts as missing.
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

// TakeDetail moves a number from an object in a vendor's record. The rest of the object stays, without
// zeros.
func TakeDetail(f Fields, object string, to *LenientInt, name string) {
	var in Fields
	if f.Take(object, &in) != nil || in == nil {
		return
	}
	TakeCount(in, to, name)
	DropZeros(in)
	if len(in) > 0 {
		f[object], _ = json.Marshal(in) //nolint:errchkjson // it was decoded from JSON
	}
}

// Usage sums up the counts. hasOutput says that they include output tokens. It returns nil if they cannot be
// true.
func (c *TokenCounts) Usage(hasOutput bool, rest Fields) *eval.Usage {
	u := &eval.Usage{
		PromptTokens: int(c.Input), OutputTokens: int(c.Output), CachedTokens: int(c.Cached),
		ReasoningTokens: int(c.Reasoning), TotalTokens: max(int(c.Total), int(c.Input)+int(c.Output)),
		Source: eval.UsageService, Extra: eval.NewExtra(rest),
	}
	if !hasOutput {
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

// DropZeros removes zero and empty members.
func DropZeros(f Fields) {
	for name, raw := range f {
		if string(raw) == "0" || IsEmpty(raw) {
			delete(f, name)
		}
	}
}
