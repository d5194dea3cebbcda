//go:build unix

package scorers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

func modelLimits() []limit {
	return []limit{
		{[]string{"similar"}, cosineFigures},
		{[]string{"judge"}, fenceFigures},
	}
}

func cosineFigures(t *testing.T) string {
	data, err := os.ReadFile("testdata/vector_similarity.json")
	expect.OK(t, err)
	var in struct {
		Cases []struct {
			A, B   []float64
			Cosine *float64
		}
	}
	expect.OK(t, json.Unmarshal(data, &in))
	var n tally
	for _, c := range in.Cases {
		got, ok := scorers.Cosine(c.A, c.B)
		n.add(ok == (c.Cosine != nil) && (!ok || math.Abs(got-*c.Cosine) < 1e-12))
	}
	return fmt.Sprintf("The cosine agrees with exact arithmetic on %s pairs of vectors, zero and very large ones "+
		"included. What it says of meaning depends on the model alone: measure it on answers that you have read. "+
		"Sentences that differ in a `not` or in a number are often near each other.", n)
}

// fenceFigures counts the hostile answers that reach a judge whole and stay within their fence.
func fenceFigures(t *testing.T) string {
	c := compile(t, "- judge: {closedQA: {reference: x, question: q}}")
	var n tally
	for _, text := range attacks() {
		if eval.IsBlank(text) {
			continue
		}
		_, questions := judged(t, c, answer(text), `{"reason": "no", "choice": "no"}`)
		got := fenced(t, questions[0].Contents[0].Parts[0].(eval.TextPart).Text)
		n.add(got["answer"] == text && got["reference"] == "x" && got["question"] == "q")
	}
	return fmt.Sprintf("Of answers made to break programs or to give orders to the judge, %s reach it whole and within their fence. Whether "+
		"a model obeys what is inside a fence, and how often it is right, depends on the model: `evalrun judge-check` measures it on answers "+
		"that people have labelled.", n)
}
