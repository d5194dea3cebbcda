package runner

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// JudgeCost is the cost of judging one answer with one judge, if no reply is malformed.
type JudgeCost struct {
	ModelRef
	Calls int
	// PromptTokens are the tokens of all calls, with an answer as long as it may be, and OutputTokens those of replies
	// as long as they may be. Known says whether both have a bound.
	PromptTokens, OutputTokens int
	Known                      bool
}

// JudgeCosts estimates what judging the answer takes: UTF-8 bytes / 4.
func (p *Plan) JudgeCosts(t *Planned) []JudgeCost {
	var out []JudgeCost
	answer := t.OutputLimit() / t.candidates()
	for _, use := range t.Judges() {
		calls := 1
		if use.EachCandidate {
			calls *= t.candidates()
		}
		if use.EachTurn {
			calls *= t.Request.UserTurns()
		}
		prompt := wire.Tokens(use.Bytes) + answer
		if turns := t.Request.Contents; use.Turn && len(turns) > 0 {
			prompt += wire.Prompt(turns[len(turns)-1:])
		}
		if use.Own != nil {
			prompt = wire.Tokens(len(use.Prompt(&t.Request, t.vars, ""))) + answer
		}
		known := answer > 0
		if use.Conversation {
			prompt += wire.Request(&t.Request) + t.MaxCalls()*answer
			known = known && t.tools == nil // how long results of calls are shows only when they come
		}
		planned := Planned{Request: requestTo(&use.Model, ""), Metadata: p.modelOf(p.configuredKey(&use.Model))}
		reply := planned.OutputLimit()
		out = append(out, JudgeCost{refOf(&use.Model), calls, calls * prompt, calls * reply, known && reply > 0})
	}
	return out
}

// JudgePrompt is a judge's prompt before the trial has an answer: answerPlace takes the answer's place.
type JudgePrompt struct {
	Judge            string                 `json:"judge"`
	Service          string                 `json:"service,omitempty"` // "" for the unnamed one
	Model            string                 `json:"model"`
	APIVersion       string                 `json:"apiVersion"`
	Calls            int                    `json:"calls"` // repeats, for one answer
	GenerationConfig *eval.GenerationConfig `json:"generationConfig"`
	Prompt           string                 `json:"prompt"`
}

// answerPlace is the text used instead of an answer that is not there yet.
const answerPlace = "(the answer)"

// JudgePrompts are the prompts of the judges of a trial. Repeats have one prompt.
func (p *Plan) JudgePrompts(t *Planned) []JudgePrompt {
	var out []JudgePrompt
	for _, use := range t.Judges() {
		service, _ := use.Model.Service.Identity()
		one := JudgePrompt{
			Judge: use.Name, Service: service, Model: use.Model.ID, APIVersion: p.configuredKey(&use.Model).apiVersion, Calls: 1,
			GenerationConfig: coolly(use.Model.GenerationConfig), Prompt: use.Prompt(&t.Request, t.vars, answerPlace),
		}
		same := func(o JudgePrompt) bool { return o.Judge == one.Judge && o.Prompt == one.Prompt }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Calls++
			continue
		}
		out = append(out, one)
	}
	return out
}
