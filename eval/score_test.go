package eval

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// A score of a file is read as what it says, and written as it was, even where it contradicts itself.
func TestScoresOfFilesAreKept(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]string{
		`"value":0.5,"passed":true,%s`:                  `0.5 true true "" eval.Graded`,
		`"value":0,"passed":false,%s`:                   `0 true false "" eval.Graded`,
		`"value":null,"passed":false,%s,"unscored":"x"`: `0 false false "x" eval.Unscored`,
		`"value":null,"passed":false,%s`:                `0 false false "" <nil>`, // as in an export
		`"value":null,"passed":true,%s`:                 `0 false true "" eval.writtenGrade`,
		`"value":null,"passed":true,%s,"unscored":"x"`:  `0 false true "x" eval.writtenGrade`,
		`"value":1,"passed":false,%s,"unscored":"x"`:    `1 true false "x" eval.writtenGrade`,
	} {
		text := `{"scorer":"s","name":"n",` + fmt.Sprintf(part, `"weight":2,"required":true,"reason":"<r>"`) + `}`
		var s Score
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Errorf("%s: %v, want no error", text, err)
		}
		value, ok := s.Value()
		expect.Same(t, "read of "+text, fmt.Sprintf("%v %t %t %q %T", value, ok, s.Passed(), s.Unscored(), s.Grade), want)
		line, err := wirejson.Append(nil, &s)
		expect.OK(t, err)
		expect.Same(t, "written", string(line), text)
	}
}
