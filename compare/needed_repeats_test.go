package compare

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// JSON has -1 where no number of repeats is enough, and nothing where nothing is known.
func TestNeededRepeatsAreANumberInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]NeededRepeats{
		`{}`:             {},
		`{"repeats":7}`:  {number: 7},
		`{"repeats":-1}`: {noneEnough: true},
	} {
		written, err := json.Marshal(MetricVerdict{Repeats: want})
		expect.OK(t, err)
		expect.Same(t, "written", string(written), text)
		var read MetricVerdict
		expect.OK(t, json.Unmarshal(written, &read))
		expect.Same(t, text, read.Repeats == want, true)
	}
}
