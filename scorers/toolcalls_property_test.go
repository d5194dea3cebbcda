package scorers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/scorers"
)

// randomCalls are few tools with few arguments, so that many fit each other.
func randomCalls(random *rand.Rand, most int) (listed, got []string) {
	one := func() (yaml, json string) {
		args := []string{}
		for _, key := range []string{"a", "b"} {
			if random.IntN(2) == 0 {
				args = append(args, fmt.Sprintf("%q: %d", key, random.IntN(2)))
			}
		}
		name, object := string("fg"[random.IntN(2)]), "{"+strings.Join(args, ", ")+"}"
		return "name: " + name + ", args: " + object, name + " " + object
	}
	for range 1 + random.IntN(most) {
		l, _ := one()
		listed = append(listed, l)
	}
	for range random.IntN(most + 1) {
		_, g := one()
		got = append(got, g)
	}
	return listed, got
}

// fitsByHand tries all ways of pairing each listed call with one that was made.
func fitsByHand(fits func(i, j int) bool, listed int, free []int) bool {
	if listed == 0 {
		return true
	}
	for k, j := range free {
		rest := append(append([]int{}, free[:k]...), free[k+1:]...)
		if fits(listed-1, j) && fitsByHand(fits, listed-1, rest) {
			return true
		}
	}
	return false
}

func TestToolCallsPairsAsWellAsCanBe(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	counts := map[bool]int{}
	fits := map[[2]string]bool{}
	for range 500 {
		listed, got := randomCalls(random, 5)
		single := func(i, j int) bool {
			pair := [2]string{listed[i], got[j]}
			if _, known := fits[pair]; !known {
				fits[pair] = letter(score(t, toolCalls(", args: subset", pair[0]), calling(pair[1]))) == "p"
			}
			return fits[pair]
		}
		table := map[[2]int]bool{}
		var free []int
		for j := range got {
			free = append(free, j)
			for i := range listed {
				table[[2]int{i, j}] = single(i, j)
			}
		}
		want := fitsByHand(func(i, j int) bool { return table[[2]int{i, j}] }, len(listed), free)
		counts[want]++
		if s := score(t, toolCalls(", args: subset, mode: superset", listed...), calling(got...)); (letter(s) == "p") != want {
			t.Fatalf("%v and %v: %s (%s), want %v", listed, got, letter(s), s.Reason, want)
		}
	}
	if counts[true] < 30 || counts[false] < 30 {
		t.Errorf("%d pass and %d fail, want many of both", counts[true], counts[false])
	}
}

func TestToolCallsOnHostileAnswersAreBounded(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	nested := "f " + deep(9_000)
	tooDeep := "f " + deep(100_000)
	var many, listed []string
	for i := range 10_000 {
		many = append(many, fmt.Sprintf(`f {"a":%d,"b":%d}`, i%7, i))
	}
	for i := range 200 {
		listed = append(listed, fmt.Sprintf("name: f, args: {a: %d}", i%7))
	}
	entries := []string{"- toolCalls: none", "- expr: len(calls) < 0", "- contains: x"}
	for _, mode := range []string{"exact", "unordered", "inOrder", "superset", "subset"} {
		for _, args := range []string{"exact", "subset"} {
			entries = append(entries, toolCalls(", mode: "+mode+", args: "+args, listed...), toolCalls(", mode: "+mode+", args: "+args,
				"name: f, args: {a: {a: {a: 1}}}"))
		}
	}
	long := "f {\"a\": " + strings.Repeat("9", 1<<20) + "}"
	for _, a := range []*scorers.Answer{calling(nested, nested), calling(tooDeep), calling(many...), calling(long, long)} {
		for _, entry := range entries {
			if s := score(t, entry, a); len(s.Reason) > 8<<10 || len(s.Diff) > 256<<10 {
				t.Errorf("%.80s: a reason of %d bytes and a diff of %d, want less", entry, len(s.Reason), len(s.Diff))
			}
		}
	}
	for _, text := range hostile.Strings() {
		args, err := json.Marshal(map[string]string{text: text})
		expect.OK(t, err)
		a := calling("f " + string(args))
		a.Response.Candidates[0].Pieces[0].(eval.CallPiece).Call.Name = text
		s := score(t, toolCalls("", "name: x"), a)
		if letter(s) != "f" || strings.ContainsAny(s.Reason, "\x00\x1b\n\r\u202e") {
			t.Errorf("%q: %s (%q), want a failure on one line", text, letter(s), s.Reason)
		}
	}
	if s := score(t, toolCalls(", mode: superset, args: subset", listed...), calling(many...)); letter(s) != "p" {
		t.Errorf("200 of 10,000 calls: %s (%s), want p", letter(s), s.Reason)
	}
}
