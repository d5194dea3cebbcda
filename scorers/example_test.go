package scorers_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// A custom kind of scorer takes its argument from the suite, and can refuse it there. What is next to every scorer
// works with it too, here `threshold`.
func ExampleNew() {
	quiet := scorers.New("quiet", func(arg struct {
		Marks string `json:"marks"`
	},
	) (scorers.Func, error) {
		if arg.Marks == "" {
			return nil, errors.New("name the marks that are loud")
		}
		return scorers.OnText(func(text string) scorers.Finding {
			loud := 0
			for _, r := range text {
				if strings.ContainsRune(arg.Marks, r) {
					loud++
				}
			}
			return scorers.Graded(1/float64(1+loud), loud == 0, "%d of %s", loud, arg.Marks)
		}), nil
	})
	kinds, err := scorers.Builtin().With(scorers.Table{quiet})
	if err != nil {
		fmt.Println(err)
		return
	}

	files := fstest.MapFS{"s.yaml": {Data: []byte(`
version: 1
name: manners
targets: [{name: pro, model: svc-pro}]
prompts: [{name: direct, text: "Greet {{.who}}."}]
cases:
  - name: greeting
    vars: {who: Ada}
    scorers:
      - quiet: {marks: "!?"}
        threshold: 0.5
`)}}
	var diags diag.List
	s := suite.Load(files, "s.yaml", kinds, suite.Options{}, &diags)
	if diags.HasErrors() {
		_ = diag.Renderer{}.Render(os.Stdout, &diags)
		return
	}
	for c := range s.Cases() {
		check := kinds.Compile(c.Scorers[0])
		for _, text := range []string{"Hello, Ada.", "Hello, Ada!", "Ada!!! How are you?"} {
			score, err := check.Score(&scorers.Answer{Response: &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}}})
			if err != nil {
				fmt.Println(err)
				return
			}
			value, _ := score.Value()
			fmt.Printf("%.2f %t: %s\n", value, score.Passed(), score.Reason)
		}
	}
	// Output:
	// 1.00 true: 0 of !?
	// 0.50 true: 1 of !?
	// 0.20 false: 4 of !?
}
