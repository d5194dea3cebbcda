package journal

import (
	"fmt"
	"strings"
	"testing"
)

// Names fill several texts, among them names that are longer than one.
func TestNamesAreKeptOnceAndUnchanged(t *testing.T) {
	var n names
	var want []string
	for i := range 30_000 {
		s := fmt.Sprint("case ", i)
		switch {
		case i == 0:
			s = ""
		case i%9_973 == 0:
			s += strings.Repeat("x", wholeText-len(s)-1+i%3)
		case i%997 == 0:
			s += strings.Repeat("é", 1_000)
		}
		want = append(want, s)
		if got := n.place(s); got != clip(i) {
			t.Fatalf("name %d: got the place %d, want the next", i, got)
		}
	}
	for i, s := range want {
		if got := n.at(clip(i)); got != s {
			t.Fatalf("name %d is %.40q with %d bytes, want %.40q with %d", i, got, len(got), s, len(s))
		}
		if got := n.place(s); got != clip(i) {
			t.Fatalf("name %d: got the place %d, want its own", i, got)
		}
	}
}
