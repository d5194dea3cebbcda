package judging

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzLabels holds that a file of labels is read, or refused with the line of each problem.
func FuzzLabels(f *testing.F) {
	for _, s := range append(
		hostile.Strings()[:20], "case,label\nc,pass\n\"a\nb\",fail", "\ufeffCASE , Label\r\nc,same\r\n", "case,label\n\"",
		"case,label,repeat\nc,pass,-1\nc,pass,x\nc", `{"case":"c","label":"pass"}`,
		`{"case":"c","label":"pass"} {}`, `{"case":"","label":"pass"}`, `{"case":"c","repeat":-1,"label":"fail"}`, "null",
		"case,label\n"+strings.Repeat("c,", 5000),
	) {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, lines bool) {
		path := filepath.Join(t.TempDir(), "l.csv")
		if lines {
			path = filepath.Join(filepath.Dir(path), "l.jsonl")
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := readLabels(path)
		if err != nil {
			namesFile(t, err, path)
			return
		}
		if err := l.err(); err != nil {
			namesFile(t, err, path)
		}
		for _, one := range l.all {
			if one.Case == "" || one.Label == "" || one.Repeat < 0 || one.line < 1 {
				t.Errorf("%+v, want a label with its case and line", one)
			}
			anywhere := one.Repeat == 0 && one.Arm == "" && one.Suite == ""
			if fits := one.fits(&eval.Result{Trial: eval.Trial{Repeat: one.Repeat + 1}}); fits != anywhere {
				t.Errorf("%+v fits another repeat: %t, want %t", one, fits, anywhere)
			}
		}
	})
}

// namesFile wants an error to be bad input, with the name of the file.
func namesFile(t *testing.T, err error, path string) {
	t.Helper()
	var coded *eval.CodedError
	if !errors.As(err, &coded) || coded.Code != eval.CodeBadInput || !strings.Contains(err.Error(), filepath.Base(path)) {
		t.Errorf("got %v, want exit code %d and the file %s", err, eval.CodeBadInput, filepath.Base(path))
	}
}

// The numbers of a check, worked out by hand: 60 cases, and people failed 23 of them.
func TestCheckNumbersAreThoseWorkedOutByHand(t *testing.T) {
	t.Parallel()
	var pairs []labelled
	add := func(n int, people, said string) {
		for range n {
			pairs = append(pairs, labelled{string(rune('A' + len(pairs))), people, said})
		}
	}
	add(19, failWord, failWord)
	add(4, failWord, passWord)
	add(1, passWord, failWord)
	add(36, passWord, passWord)
	c := newAgreement(checkKey{suite: "s", scorer: "q", judge: "j"}, pairs, false)
	for _, test := range []struct{ got, want float64 }{
		{*c.Agreement.Share, 55. / 60},
		{c.Agreement.Interval[0], 0.8385295580433538},
		{c.Agreement.Interval[1], 0.9588481097955877},
		{*c.Kappa, 0.8192771084337349},
		{c.KappaInterval[0], 0.6498231379253456},
		{c.KappaInterval[1], 0.9107549369060938},
		{*c.FalsePass.Share, 4. / 23},
		{c.FalsePass.Interval[1], 0.3359021320939197},
		{*c.FalseFail.Share, 1. / 37},
		{c.FalseFail.Interval[0], 0.006052795573242118},
		{float64(c.Confusion[0][1]), 4},
		{float64(c.Cases), 60},
	} {
		if math.Abs(test.got-test.want) > 1e-9 {
			t.Errorf("%.16g, want %.16g", test.got, test.want)
		}
	}
	// Complete agreement is not certainty; one word alone says nothing beyond chance; several answers to a case count as one.
	pairs = []labelled{{"a", passWord, passWord}, {"b", failWord, failWord}}
	if c := newAgreement(checkKey{}, pairs, false); *c.Kappa != 1 || c.KappaInterval[0] > 0 || c.KappaInterval[1] != 1 {
		t.Errorf("%+v, want a kappa of 1 with an interval from at most 0 to 1", c)
	}
	if c := newAgreement(checkKey{}, pairs[:1], false); c.Kappa != nil || c.FalsePass.Share != nil ||
		c.FalsePass.Interval != [2]float64{0, 1} {
		t.Errorf("%+v, want no kappa and no share, within 0 to 1", c)
	}
	pairs[1].caseName = "a"
	if one := newAgreement(checkKey{}, pairs, false); one.Cases != 1 || one.Agreement.Interval[0] >= c.Agreement.Interval[0] ||
		one.Agreement.Of != 2 {
		t.Errorf("%+v, want a wider interval of one case of 2 pairs", one)
	}
}
