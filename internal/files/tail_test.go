package files

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// However a program writes its complaint, the end of it is kept, from a whole word on, and a mark says that it was longer.
func TestTheEndOfAComplaintIsKept(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all strings.Builder
		var kept tail
		for range random.IntN(12) {
			part := strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(maxComplaint)) + "."
			part = strings.Repeat(" ", random.IntN(2)) + part
			all.WriteString(part)
			if n, err := kept.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("got %d of %d bytes, want all: %v", n, len(part), err)
			}
		}
		want := strings.TrimSpace(all.String())
		if all.Len() > maxComplaint {
			if _, want, _ = strings.Cut(all.String()[all.Len()-maxComplaint:], " "); want == "" {
				want = all.String()[all.Len()-maxComplaint+maxKey:]
			}
			want = "…" + want
		}
		expect.Same(t, fmt.Sprintf("of %d bytes", all.Len()), kept.String(), want)
	}
}

func TestAComplaintOfOneWordKeepsItsEnd(t *testing.T) {
	t.Parallel()
	var kept tail
	_, err := kept.Write([]byte("key" + strings.Repeat("x", maxComplaint) + "\n"))
	expect.OK(t, err)
	expect.Same(t, "complaint", kept.String(), "…"+strings.Repeat("x", maxComplaint-maxKey-1))
}

func TestAComplaintIsValidText(t *testing.T) {
	t.Parallel()
	var kept tail
	text := strings.Repeat("日本", maxComplaint) + "\xff\n"
	if _, err := kept.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if got := kept.String(); !utf8.ValidString(got) || !strings.HasPrefix(got, "…") || strings.HasSuffix(got, "\n") {
		t.Errorf("got %q..., want the tail, in whole characters without a line break", got[:20])
	}
}

// Variables of evalrun, the key among them, stay with evalrun in whatever case they are written.
func TestProgramsDoNotGetVariablesOfEvalrun(t *testing.T) {
	t.Parallel()
	all := []string{
		"PATH=/bin", "EVALRUN_API_KEY=x", "evalrun_api_key=x", "Evalrun_Trust_Key=x", "MY_EVALRUN_API_KEY=y",
		"EVALRUNNER=z", "EVALRUN_=x", "=C:=C:\\",
	}
	before := append([]string{}, all...)
	want := []string{"PATH=/bin", "MY_EVALRUN_API_KEY=y", "EVALRUNNER=z", "=C:=C:\\"}
	expect.Same(t, "result", environment(all, nil, nil), want)
	expect.Same(t, "the environment after", all, before)
}

// What a suite passes on by name, a program gets; what holds a key, it does not get without.
func TestVariablesArePassedOnByName(t *testing.T) {
	t.Parallel()
	all := []string{"PATH=/bin", "EVALRUN_API_KEY=x", "EVALRUN_BASE_URL=u", "VENDOR_API_KEY=y", "OTHER_API_KEY=z", "EMPTY"}
	got := environment(all, []string{"VENDOR_API_KEY", "OTHER_API_KEY"}, []string{"EVALRUN_API_KEY", "OTHER_API_KEY", "UNSET"})
	want := []string{"PATH=/bin", "EVALRUN_API_KEY=x", "OTHER_API_KEY=z", "EMPTY"}
	expect.Same(t, "result", got, want)
}

func TestIsNameAcceptsOnlyNamesOfVariables(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"A": true, "_": true, "a_1": true, "EVALRUN_API_KEY": true, "": false, "1A": false, "A-B": false, "A=B": false, "É": false, "A B": false,
	} {
		expect.Same(t, fmt.Sprintf("%q", name), IsName(name), want)
	}
}
