//go:build unix

package scorers_test

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/scorers"
)

func serviceLimits() []limit {
	return []limit{
		{[]string{"finishReason"}, finishFigures},
		{[]string{"safety"}, safetyFigures},
		{[]string{"promptFeedback"}, feedbackFigures},
		{[]string{"blocked"}, blockFigures},
		{[]string{"latency"}, atBounds("- latency: {%s: %dms}", timed, "It is the time that this machine sees: the network counts, and so does "+
			"a machine that has too much to do.")},
		{[]string{"firstToken"}, atBounds("- firstToken: {%s: %dms}", timed, "Chunks of white space alone are no text. A service that holds "+
			"text back, or a proxy in between, makes it late.")},
		{[]string{"chunks"}, atBounds("- chunks: {%s: %d}", timed, "How a service cuts its answers is no promise of it.")},
		{[]string{"tokens"}, atBounds("- tokens: {%s: %d}", spending, "Where the service reports no number it is an estimate from bytes, which "+
			"says little about code and other scripts than Latin.")},
		{[]string{"cost"}, atBounds("- cost: {%s: 0.%06d}", spending, "It knows the prices of the list and nothing of discounts, and where the "+
			"service reports no tokens it is an estimate.")},
		{[]string{"candidates"}, candidateFigures},
		{[]string{"steps"}, atBounds("- steps: {%s: %d}", timed, "Applications are refused: their steps are not seen.")},
		{[]string{"toolErrors"}, atBounds("- toolErrors: {%s: %d}", timed, "Results that say in words that something went wrong do not "+
			"count. Applications are refused.")},
		{[]string{"label"}, labelFigures},
		{[]string{"unscored"}, unscoredFigures},
	}
}

func unscoredFigures(t *testing.T) string {
	scored, texts := 0, append(hostile.Strings(), "")
	for _, text := range texts {
		for _, entry := range []string{"- unscored: later", "- not: {unscored: later}", "- any: [{unscored: later}]"} {
			if letter(score(t, entry, answer(text))) != "u" {
				scored++
			}
		}
	}
	return fmt.Sprintf("Of %d answers, also negated and in `any`, %d have a score.", len(texts), scored)
}

// boundary is where the numbers of an answer are tried.
const boundary = 5

// timed is an answer with these numbers of milliseconds, chunks, steps and failed calls.
func timed(n int) *scorers.Answer {
	var steps [][]string
	for range n - 1 {
		steps = append(steps, []string{"get_order {}"})
	}
	a := looping("x", steps...)
	a.Calls[0].Results = nil
	for range n {
		a.Calls[0].Results = append(a.Calls[0].Results, eval.CallResult{Name: "get_order", Text: "no", Failed: true})
	}
	a.Timing.LatencyMs, a.Timing.FirstTokenMs, a.Timing.Chunks = float64(n), float64(n), n
	return a
}

// spending is an answer of this number of output tokens; a million cost one.
func spending(n int) *scorers.Answer {
	a := costing("m", 0, n)
	a.Context.Prices.Models["m"] = eval.Price{Output: 1}
	return a
}

// atBounds tries min and max of a kind below, at and above its bound.
func atBounds(entry string, made func(n int) *scorers.Answer, more string) func(t *testing.T) string {
	return func(t *testing.T) string {
		var n tally
		for _, key := range []string{"min", "max"} {
			for value := boundary - 2; value <= boundary+2; value++ {
				want := value >= boundary
				if key == "max" {
					want = value <= boundary
				}
				s := score(t, fmt.Sprintf(entry, key, boundary), made(value))
				n.add(isScored(s) && s.Passed() == want)
			}
		}
		return fmt.Sprintf("It is exact: %s values below, at and above a bound are scored as they should be.\n%s", n, more)
	}
}

func finishFigures(t *testing.T) string {
	words := append([]string{"STOP", "MAX_TOKENS", "TOOL_CALLS", "NEWLY_INVENTED", ""}, eval.BlockReasons...)
	var n tally
	for _, got := range words {
		for _, want := range words {
			if want != "" {
				n.add((letter(score(t, "- finishReason: "+want, rated(got))) == "p") == (got == want))
			}
		}
	}
	return fmt.Sprintf("It compares words: %s pairs of reasons are scored as they should be. What a reason means is the service's to "+
		"say: one "+
		"that stops at its limit and says STOP passes.", n)
}

// safetyFigures tries all bounds with all ratings.
func safetyFigures(t *testing.T) string {
	return "It compares what the service says: " + rateds(t, "- safety: {max: %s, min: %s}", func(p string) *scorers.Answer {
		return rated("STOP", "A="+p)
	}) + ". Whether the service is right is not looked at: an answer can be toxic and rated NEGLIGIBLE. For that use `judge`, or `exec` " +
		"with a classifier."
}

func feedbackFigures(t *testing.T) string {
	figures := rateds(t, "- promptFeedback: {max: %s, min: %s}", func(p string) *scorers.Answer { return promptRated("", "A="+p) })
	return "It compares what the service says of the prompt: " + figures + ". Whether the service is right is not looked at."
}

func rateds(t *testing.T, entry string, made func(probability string) *scorers.Answer) string {
	t.Helper()
	var n tally
	unknown := 0
	for high, most := range eval.Probabilities {
		for low, least := range eval.Probabilities[:high+1] {
			for level, p := range append(eval.Probabilities, "EXTREME") {
				got := letter(score(t, fmt.Sprintf(entry, most, least), made(p)))
				switch {
				case p == "EXTREME" && got == "u":
					unknown++
				case p != "EXTREME":
					n.add((got == "p") == (level >= low && level <= high))
				}
			}
		}
	}
	return fmt.Sprintf("%s combinations of bounds and ratings are scored as they should be. With a rating that is "+
		"not on the scale, %d of 10 are unscored", n, unknown)
}

func blockFigures(t *testing.T) string {
	var n tally
	for _, got := range append([]string{"STOP", "MAX_TOKENS", "OTHER"}, eval.BlockReasons...) {
		for _, want := range []string{"true", "false", "SAFETY", "{reason: RECITATION}"} {
			block := eval.IsBlock(got)
			expected := map[string]bool{"true": block, "false": !block, "SAFETY": got == "SAFETY", "{reason: RECITATION}": got == "RECITATION"}[want]
			n.add((letter(score(t, "- blocked: "+want, rated(got))) == "p") == expected)
		}
	}
	return fmt.Sprintf("It knows a block by the %d words of the service above: %s combinations are scored as they should be. An answer in "+
		"which the model declines in words is not blocked; that is `refusal`.", len(eval.BlockReasons), n)
}

func candidateFigures(t *testing.T) string {
	var same tally
	for _, pair := range corpus(t, "lookalikes") {
		same.add(letter(score(t, "- candidates: {agreement: {min: 1}}", several(pair[0], pair[1]))) == "p")
	}
	var others tally
	for _, pair := range corpus(t, "mentions") {
		others.add(letter(score(t, "- candidates: {agreement: {min: 1}}", several(pair[0], pair[1]))) == "p")
	}
	return fmt.Sprintf("Agreement is one of wordings: of %d pairs of texts that look the same or mean the same, %d agree, and of %d "+
		"pairs that do "+
		"not, %d. Candidates that say the same in other words disagree.", same.all, same.right, others.all, others.right)
}
