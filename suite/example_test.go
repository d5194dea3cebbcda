package suite_test

import (
	"fmt"
	"os"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// A suite is read from a file system, such as os.DirFS, and its problems come all at once.
func ExampleLoad() {
	files := fstest.MapFS{"capitals.yaml": {Data: []byte(`
version: 1
name: capitals
targets: [{name: pro, model: svc-pro}, {name: warm, model: svc-pro, generationConfig: {temperature: 1}}]
prompts: [{name: direct, text: "What is the capital of {{.country}}?"}]
cases:
  - {name: france, vars: {country: France}, scorers: [{equals: Paris}]}
  - {name: japan, vars: {country: Japan}, arms: ["pro/*"], scorers: [{contains: Tokyo}]}
`)}}
	var diags diag.List
	s := suite.Load(files, "capitals.yaml", scorers.Builtin(), suite.Options{}, &diags)
	if diags.HasErrors() {
		_ = diag.Renderer{}.Render(os.Stdout, &diags)
		return
	}
	for c := range s.Cases() {
		for _, arm := range c.Arms {
			prompt, err := s.Render(c, arm)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%s on %s: %s\n", c.Name, arm.Name(), prompt.Contents[0].Parts[0].(eval.TextPart).Text)
		}
	}
	// Output:
	// france on pro/direct: What is the capital of France?
	// france on warm/direct: What is the capital of France?
	// japan on pro/direct: What is the capital of Japan?
}
