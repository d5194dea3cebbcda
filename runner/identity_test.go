package runner

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/suite"
)

// An arm whose requests are written in two pieces, the second of them once, gives trials the identity that they have by themselves.
func TestAnArmGivesTrialsTheirIdentity(t *testing.T) {
	t.Parallel()
	w := (&Plan{}).walk()
	config := &eval.GenerationConfig{Temperature: new(0.5), MaxOutputTokens: new(64), Extra: eval.Extra{"x": json.RawMessage(`{"y":[1]}`)}}
	text := func(s string) eval.Part { return eval.TextPart{Text: s} }
	for i, s := range append(hostile.Strings(), "", "plain", "a\nb", "<&>\u2028") {
		for _, contents := range [][]eval.Content{
			{{Role: "user", Parts: []eval.Part{text(s)}}},
			{{Role: "user", Parts: []eval.Part{text("a"), text(s)}}, {Role: "model", Parts: []eval.Part{text(s + "!")}}},
			{{Role: s, Parts: []eval.Part{text("a")}}},
			{{Role: "user", Parts: []eval.Part{eval.RawPart{Raw: json.RawMessage(`{"a":1}`)}}}},
			{{Role: "user", Parts: []eval.Part{}}},
			{{Role: "user"}},
			nil,
			{},
		} {
			r := eval.Request{
				Model: "m", APIVersion: "v1", Contents: contents, GenerationConfig: config, System: []string{"", s, "always"}[i%3],
				ToolResults: []string{"", "results"}[i%2], Extra: eval.Extra{"z": json.RawMessage("2")}, Service: "named", Protocol: "openai",
			}
			expect.Same(t, fmt.Sprintf("the identity of %+v", r), w.identity(suite.Arm{}, &r), identity(&r))
		}
	}
}
