package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// TestMatricesAreNoWiderThanTheTable draws up to 14 classes with short and wide names and with large and fractional counts.
func TestMatricesAreNoWiderThanTheTable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"c%d", "a name that goes on and on %d", "日本語のとても長い名前です%d"} {
		for _, count := range []float64{1, 0.5, 123456} {
			for n := 2; n <= 14; n++ {
				m := eval.NewMatrix(nil)
				for i := range n {
					label := fmt.Sprintf(name, i)
					m.Add(eval.Pair{Expected: label, Answer: label}, count)
					m.Add(eval.Pair{Expected: label}, count)
				}
				r := m.Report()
				report := screen{o: Options{Width: defaultWidth}}
				report.classification(&classified{"s", "t/p", &r, m.Confusions(maxConfusions)})
				text := report.out.String()
				for line := range strings.Lines(text) {
					if w := displaywidth.String(strings.TrimRight(line, " \n")); w > defaultWidth {
						t.Errorf("%d classes %s, count %v: got %d columns, want fewer: %s", n, name, count, w, line)
					}
				}
				expect.Same(t, fmt.Sprintf("the last of %d classes %s is shown", n, name), strings.Contains(text, "0.5"), true)
			}
		}
	}
}
