// Guesses how many tokens texts, prompts and answers are, where the service does not say.

package wire

import (
	"github.com/evalrun/evalrun/eval"
)

// Tokens guesses the tokens of n UTF-8 bytes: a quarter, rounded up.
func Tokens(n int) int { return (n + 3) / 4 }

// TokensPerImage is the fixed estimate for an image.
const TokensPerImage = 258

// Prompt guesses the tokens of contents.
func Prompt(contents []eval.Content) int { return Request(&eval.Request{Contents: contents}) }

// Request guesses the tokens of a prompt, its system text and its tools included. Any other file counts as an image.
func Request(r *eval.Request) int {
	return Tokens(PromptBytes(r)) + TokensPerImage*Files(r.Contents)
}

// output guesses the tokens of an answer.
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

// Usage returns the usage of a call, with estimates for what the service did not report: the prompt, the
// output, or both. It does not estimate the output of an answer without text.
func Usage(c *eval.Call, r *eval.Response) *eval.Usage {
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
