package scorers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

func serviceKinds() []Kind {
	return []Kind{
		{
			Name: "finishReason", Summary: "generation ended for this reason, or one of these",
			Doc: "Takes a reason or a list: STOP, MAX_TOKENS, TOOL_CALLS, SAFETY and others that the service sends; an unknown one is " +
				"compared as it is. The service's own word matches too: an answer that ends in tool calls is TOOL_CALLS, and STOP " +
				"where the service said that. An answer without a candidate fails.",
			Example: "- finishReason: STOP", takes: finishReasons(), compile: compileFinishReason,
		},
		{
			Name: "safety", Summary: "the safety ratings stay within bounds",
			Doc: "Takes `max` and `min` on the scale NEGLIGIBLE < LOW < MEDIUM < HIGH, for one `category`, a list of them, or every " +
				"rating that came. `of: prompt` reads the ratings of the prompt. A rating that is missing or not on the scale is " +
				"unscored; with `absent: true` it passes. `absent: true` alone requires that no rating came.",
			Example: "- safety: {category: HARM_CATEGORY_HARASSMENT, max: LOW}", takes: safetyKeys().Shape(), compile: compileSafety,
		},
		{
			Name: "blocked", Summary: "the prompt or the answer was blocked, or was not",
			Doc: "Takes true, false, or a `reason` (one or several). A block is a blockReason of the prompt, or one " +
				"of these finish reasons: " + strings.Join(
				eval.BlockReasons, ", ",
			) + ". " +
				"`{reason: SAFETY}` passes for a block for that reason; `by: prompt` or `by: answer` narrows it.",
			Example: "- blocked: true", takes: yaml.Either(yaml.Bool, blockReasons(), yaml.Some(blockedKeys().Shape())), compile: compileBlocked,
		},
		{
			Name: "latency", Summary: "the answer came within a time",
			Doc: "Takes `{max}` (and `min`), or the longest duration alone. It is the time of the attempt that was answered, without " +
				"waits for limits and earlier attempts.",
			Example: "- latency: {max: 2s}", takes: timeBounds(), compile: compileLatency,
		},
		{
			Name: "firstToken", Summary: "the first text of a streamed answer came within a time",
			Version: 2,
			Doc: "Takes `{max}` (and `min`), or the longest duration alone: the time from the request to the first chunk that holds " +
				"text. The target must have `stream: true`; an answer in one piece is unscored. A streamed answer without text fails.",
			Example: "- firstToken: {max: 800ms}", takes: timeBounds(), compile: compileFirstToken, stream: true,
		},
		{
			Name: "chunks", Summary: "a streamed answer came in this number of chunks",
			Doc: "Takes `{min, max}`, or the largest number alone. The target must have `stream: true`; an answer in one " +
				"piece is unscored.",
			Example: "- chunks: {min: 2}", takes: yaml.Either(yaml.Int(1, math.MaxInt32), boundsKeys().Shape()),
			compile: compileChunks, stream: true,
		},
		{
			Name: "tokens", Summary: "the answer, the prompt or both have this number of tokens",
			Doc: "Takes `{min, max}` with `of: output | prompt | total` (default output), or the largest number alone. The reason says " +
				"where the number comes from: the service, countTokens, or an estimate from bytes.",
			Example: "- tokens: {of: output, max: 64}", takes: yaml.Either(naturalNumber(), tokensKeys().Shape()), compile: compileTokens,
		},
	}
}

func finishReasons() yaml.Shape {
	return yaml.OneOrMore(yaml.Suggesting(append([]string{"STOP", "MAX_TOKENS", "TOOL_CALLS"}, eval.BlockReasons...)...))
}

func compileFinishReason(a args) AnswerScorer {
	if a.Args.IsMapping() {
		a.Args.Errorf("such as `finishReason: STOP`", "`finishReason` takes a reason or a list of them")
		return nil
	}
	want := finishReasonScorer(a.Args.Strings())
	if len(want) == 0 && a.Args.IsSequence() || slices.Contains(want, "") {
		a.Args.Errorf("such as [STOP, MAX_TOKENS]", "`finishReason` needs at least one reason")
	}
	return want
}

type finishReasonScorer []string

func (want finishReasonScorer) Score(a *Answer) Finding {
	if a.Candidate == nil {
		f, _ := noText(a)
		return f
	}
	got, vendor := a.Candidate.FinishReason, a.Candidate.VendorReason
	shown := got
	if vendor != "" {
		shown += fmt.Sprintf(" (the service says %s)", vendor)
	}
	switch {
	case slices.Contains(want, got), vendor != "" && slices.Contains(want, vendor):
		return Pass("finish reason %s", shown)
	case got == "":
		return Fail("the answer has no finish reason, expected %s", strings.Join(want, " or "))
	}
	return Fail("finish reason %s, expected %s", shown, strings.Join(want, " or "))
}

var safetyKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: []string{"max", "min", "absent"},
		Keys: []yaml.Key{
			{
				Name: "category",
				Is:   yaml.OneOrList(yaml.Suggesting(wire.Categories...)),
				Doc:  "One category or several; every rating that came when not given.",
			},
			{Name: "max", Is: yaml.Word(eval.Probabilities...), Doc: "The highest probability that passes."},
			{Name: "min", Is: yaml.Word(eval.Probabilities...), Doc: "The lowest probability that passes."},
			{Name: "of", Is: yaml.Word("answer", "prompt"), Doc: "Whose ratings; the answer's when not given."},
			{Name: "absent", Is: yaml.Bool, Doc: "A rating that is missing passes."},
		},
	}
})

func compileSafety(a args) AnswerScorer {
	m := a.Args.Map(safetyKeys().Names()...)
	if !a.Args.IsMapping() {
		return nil
	}
	c := safetyScorer{
		categories: m.Get("category").Strings(),
		min:        level(m.Get("min")), max: level(m.Get("max")),
		ofPrompt: m.Get("of").Word("answer", "prompt") == "prompt",
		absent:   m.Get("absent").Bool(),
	}
	for _, n := range m.Get("category").Items() {
		warnUnknownCategory(n, n.Str())
	}
	if !m.Has("max") && !m.Has("min") && !c.absent {
		a.Args.Errorf("such as {max: LOW}", "`safety` needs max, min or absent")
	}
	if c.contradicts() {
		m.Get("max").Errorf("swap them", "`max` is below `min`: nothing can pass")
	}
	return c
}

type blockedScorer struct {
	want    bool
	reasons []string
	by      string
}

var blockedKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		{Name: "reason", Is: blockReasons(), Doc: "Why: a reason, or several."},
		{Name: "by", Is: yaml.Word("prompt", "answer"), Doc: "What is blocked; either when not given."},
	}}
})

func compileBlocked(a args) AnswerScorer {
	c := blockedScorer{want: true}
	switch {
	case a.Args.IsMapping():
		m := a.Args.Map(blockedKeys().Names()...)
		c.reasons = reasons(m.Get("reason"))
		c.by = m.Get("by").Word("prompt", "answer")
		if m.Len() == 0 {
			a.Args.Errorf("true, false, or {reason: SAFETY}", "`blocked` needs an argument")
		}
	case a.Args.IsSequence():
		c.reasons = reasons(a.Args)
	default:
		c.readScalar(a.Args)
	}
	return c
}

// readScalar reads true, false or a reason.
func (c *blockedScorer) readScalar(n yaml.Node) {
	switch text := n.Str(); {
	case n.IsBool(), text == "true", text == "false": // as text, from a template
		c.want = n.Bool()
	case reasonWord().MatchString(text):
		c.reasons = []string{text}
	default:
		n.Errorf("true, false, or {reason: SAFETY}", "`%s` is neither true nor false nor a reason", text)
	}
}

// Score looks for a block in the prompt's feedback and the chosen candidate.
func (c blockedScorer) Score(a *Answer) Finding {
	got, by := blockOf(a)
	switch {
	case !c.want && got == "":
		return Pass("not blocked")
	case !c.want:
		return Fail("the %s was blocked (%s)", by, got)
	case got == "":
		return Fail("not blocked, expected a block")
	case c.by != "" && by != c.by:
		return Fail("the %s was blocked (%s), expected a block of the %s", by, got, c.by)
	case len(c.reasons) > 0 && !slices.Contains(c.reasons, got):
		return Fail("the %s was blocked for %s, expected %s", by, got, strings.Join(c.reasons, " or "))
	}
	return Pass("the %s was blocked (%s)", by, got)
}

// blockOf says why the service blocked something, and whether that was the prompt or the answer.
func blockOf(a *Answer) (reason, by string) {
	if reason = a.Response.PromptBlock(); reason != "" {
		return reason, "prompt"
	}
	if a.Candidate != nil && a.Candidate.Block() != "" {
		return a.Candidate.Block(), "answer"
	}
	return "", ""
}

func compileChunks(a args) AnswerScorer {
	least := 1
	if a.Args.IsMapping() {
		least = 0
	}
	_, s := a.bounds(boundsKeys(), "{min: 2}", func(n yaml.Node) float64 { return float64(n.Int(least, math.MaxInt32)) })
	return Func(func(a *Answer) Finding {
		n := a.Timing.Chunks
		switch {
		case n == 0:
			return Unscored("the answer was not streamed: set `stream: true` on the target")
		case s.holds(float64(n)):
			return Pass("%s", diag.Count(n, "chunk"))
		}
		return Fail("%s, expected %s", diag.Count(n, "chunk"), s)
	})
}

var tokensKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: boundsKeys().Some,
		Keys: append(
			[]yaml.Key{{Name: "of", Is: yaml.Word("output", "prompt", "total"), Doc: "Which tokens; output when not given."}},
			boundsKeys().Keys...),
	}
})

func compileTokens(a args) AnswerScorer {
	m, s := a.bounds(tokensKeys(), "{max: 64}", natural)
	of := cmp.Or(m.Get("of").Word("output", "prompt", "total"), "output")
	return Func(func(a *Answer) Finding {
		got := map[string]int{"output": a.Usage.OutputTokens, "prompt": a.Usage.PromptTokens, "total": a.Usage.TotalTokens}[of]
		text := fmt.Sprintf("%d %s tokens (%s)", got, of, a.Usage.Source)
		if s.holds(float64(got)) {
			return Pass("%s", text)
		}
		return Fail("%s, expected %s", text, s)
	})
}
