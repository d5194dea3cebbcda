package lazy

import (
	"fmt"
	"sync"
	"testing"
)

func TestPatternsAreCompiledOnce(t *testing.T) {
	t.Parallel()
	const number Regex = `^[0-9]+$`
	if !number.Matches("12") || number.Matches("1b") {
		t.Errorf("12 matches %s: %t, want true; 1b: %t, want false", number, number.Matches("12"), number.Matches("1b"))
	}
	if first, second := number.Regexp(), number.Regexp(); first != second {
		t.Errorf("%s was compiled twice: got %p, want %p", number, first, second)
	}
}

func TestPatternsAreCompiledSideBySide(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			if p := Regex(fmt.Sprintf("^%d$", i)); !p.Matches(fmt.Sprint(i)) || p.Matches(fmt.Sprint(i+1)) {
				t.Errorf("%s matches %d: %t, want true; %d: %t, want false", p, i, p.Matches(fmt.Sprint(i)), i+1, p.Matches(fmt.Sprint(i+1)))
			}
		})
	}
	all.Wait()
	for i := range 64 {
		if p := Regex(fmt.Sprintf("^%d$", i)); (*compiled.Load())[p] == nil {
			t.Errorf("got no %s after others were compiled at the same time, want it", p)
		}
	}
}
