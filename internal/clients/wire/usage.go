package wire

import (
	"encoding/json"
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// A larger number of tokens cannot be true.
const maxTokens = 1 << 40

// ArePossible reports whether numbers of tokens can be true.
func ArePossible(counts ...int) bool {
	return !slices.ContainsFunc(counts, func(n int) bool { return n < 0 || n > maxTokens })
}

// Limit returns the number as a limit of tokens: 0, which is an unknown one, if it cannot be true.
func (n LenientInt) Limit() int {
	if !ArePossible(int(n)) {
		return 0
	}
	return int(n)
}

// TokenCounts has the numbers of tokens that a vendor reports.
type TokenCounts struct {
	Input, Output, Total, Cached, Written, Hour, Reasoning LenientInt
}

// TakeCount moves a number, under one of its names, from a vendor's record. Other values are missing.
func (f Fields) TakeCount(to *LenientInt, names ...string) bool {
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

// TakeDetails moves numbers, by pairs of names and targets, from an object in a vendor's record. The rest stays, without zeros.
func (f Fields) TakeDetails(object string, pairs ...any) {
	if f[object] == nil {
		return
	}
	rest, _ := ReadObject(object, f[object], pairs...) // other values are missing
	rest.DropZeros()
	if delete(f, object); len(rest) > 0 {
		f[object], _ = json.Marshal(rest) //nolint:errchkjson // it was decoded from JSON
	}
}

// Usage sums up the counts, nil if they cannot be true. hasOutput says that they include output tokens.
func (c *TokenCounts) Usage(hasOutput bool, rest Fields) *eval.Usage {
	u := &eval.Usage{
		PromptTokens: int(c.Input), OutputTokens: int(c.Output), CachedTokens: int(c.Cached),
		WrittenTokens: int(c.Written), HourTokens: int(c.Hour),
		ReasoningTokens: int(c.Reasoning), TotalTokens: max(int(c.Total), int(c.Input)+int(c.Output)),
		Source: eval.UsageService, Extra: eval.NewExtra(rest),
	}
	if !hasOutput {
		u.Source = ""
	}
	all := []int{u.PromptTokens, u.OutputTokens, u.TotalTokens, u.CachedTokens, u.WrittenTokens, u.HourTokens, u.ReasoningTokens}
	if u.TotalTokens == 0 || !ArePossible(all...) {
		return nil
	}
	return u
}

// DropZeros removes zero and empty members.
func (f Fields) DropZeros() {
	for name, raw := range f {
		if string(raw) == "0" || IsEmpty(raw) {
			delete(f, name)
		}
	}
}

// Tokens guesses the tokens of n UTF-8 bytes: a quarter, rounded up.
func Tokens(n int) int { return (n + 3) / 4 }

// MostTokens is how many tokens a text may have that Tokens guesses to have n: a token is at least a byte.
func MostTokens(n int) int { return 4 * n }

// TokensPerImage is the fixed estimate for an image.
const TokensPerImage = 258

// Prompt guesses the tokens of contents.
func Prompt(contents []eval.Content) int { return Request(&eval.Request{Contents: contents}) }

// Request guesses the tokens of a prompt, its system text and its tools included. Any other file counts as an image.
func Request(r *eval.Request) int {
	return Tokens(PromptBytes(r)) + TokensPerImage*Files(r.Contents)
}

func output(r *eval.Response) int {
	n := 0
	for i := range r.Candidates {
		c := &r.Candidates[i]
		n += len(c.Text)
		for _, call := range c.FunctionCalls() {
			n += len(call.Name) + len(call.Args)
		}
	}
	return Tokens(n)
}

// Usage returns the usage of a call, as OfCall, with estimates for what the service did not report: the prompt, the
// output, or both. It does not estimate the output of an answer without text.
func Usage(c *eval.Call, r *eval.Response) *eval.Usage {
	u := reported(c, r)
	if c.To != nil || u.Long != nil || u.Batch != nil { // an application may have made several calls; or it is known already
		return u
	}
	return u.OfCall(false)
}

func reported(c *eval.Call, r *eval.Response) *eval.Usage {
	if r.Usage != nil && r.Usage.Source != "" {
		return r.Usage
	}
	u := eval.Usage{PromptTokens: c.PromptTokens, OutputTokens: output(r), Source: eval.UsageEstimated}
	if known := r.Usage; known != nil {
		u = *known
		if u.OutputTokens, u.Source = output(r), eval.UsageEstimated; u.OutputTokens == 0 {
			u.Source = eval.UsageService
		}
	}
	u.TotalTokens = max(u.TotalTokens, u.PromptTokens+u.OutputTokens+u.ToolUseTokens)
	return &u
}

// Texts guesses the tokens of texts to embed; countTokens does not cover embedding models.
func Texts(texts []string) int {
	n := 0
	for _, text := range texts {
		n += Tokens(len(text))
	}
	return n
}
