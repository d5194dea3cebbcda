package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func fitted(k int, half float64, pairs []pairResults) *davidson {
	p := make(prior, k)
	for i := range p {
		p[i] = [2]float64{half, half}
	}
	return newton(pairs, p, &davidson{theta: make([]float64, k)})
}

var tied = []pairResults{{0, 1, 7, 2, 3}, {0, 2, 5, 5, 2}, {0, 3, 9, 1, 2}, {1, 2, 3, 6, 3}, {1, 3, 6, 4, 2}, {2, 3, 8, 2, 2}}

// The strengths are those of other programs: without ties those of BradleyTerry2 for R (citations between journals, Agresti 1990), which
// publishes -2.9491, -0.4796 and 0.2690 against the first; with ties those of an MM algorithm (Hunter 2004) written apart from this one.
func TestStrengthsAreTheReferences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		k     int
		half  float64
		pairs []pairResults
		theta []float64
		delta float64
	}{
		"citations": {
			4, 1e-9,
			[]pairResults{{0, 1, 730, 33, 0}, {0, 2, 498, 320, 0}, {0, 3, 221, 284, 0}, {1, 2, 68, 813, 0}, {1, 3, 17, 276, 0}, {2, 3, 142, 325, 0}},
			[]float64{0.789922053, -2.159150444, 0.310352283, 1.058876109},
			math.Inf(-1),
		},
		"ties":  {4, 1e-9, tied, []float64{0.76986458, -0.343022193, 0.527480775, -0.954323162}, -0.585862782},
		"prior": {4, 0.5, tied, []float64{0.736128537, -0.328480455, 0.504514003, -0.912162086}, -0.66804232},
		"chain": {3, 1e-9, []pairResults{{0, 1, 4, 1, 2}, {1, 2, 3, 3, 1}}, []float64{0.797578047, -0.398789024, -0.398789024}, -0.523599321},
		"separated": {
			3, 0.5,
			[]pairResults{{0, 1, 10, 0, 0}, {0, 2, 10, 0, 0}, {1, 2, 6, 4, 0}},
			[]float64{2.533560286, -1.080123199, -1.453437086},
			math.Inf(-1),
		},
		"only ties": {3, 0.5, []pairResults{{0, 1, 0, 0, 10}, {0, 2, 0, 0, 10}, {1, 2, 0, 0, 10}}, []float64{0, 0, 0}, 2.995732274},
	} {
		got := fitted(c.k, c.half, c.pairs)
		for i := range c.theta {
			if math.Abs(got.theta[i]-c.theta[i]) > 1e-6 {
				t.Errorf("%s: strengths %v, want %v", name, got.theta, c.theta)
			}
		}
		if d := math.Abs(got.delta - c.delta); d > 1e-6 {
			t.Errorf("%s: ties %v, want %v", name, got.delta, c.delta)
		}
	}
}

// judgedOf spreads counts over cases: the n-th outcome of each pair is that of the n-th case.
func judgedOf(pairs []pairResults) (out []CasePreference) {
	for _, p := range pairs {
		unit := 0
		for _, kind := range []struct {
			n    float64
			what CasePreference
		}{{p.w, CasePreference{Wins: 1}}, {p.l, CasePreference{Losses: 1}}, {p.t, CasePreference{Ties: 1}}} {
			for range int(kind.n) {
				one := kind.what
				one.First, one.Second, one.Unit = p.i, p.j, unit
				out = append(out, one)
				unit++
			}
		}
	}
	return out
}

func names(k int) (out []string) {
	for i := range k {
		out = append(out, fmt.Sprintf("pro/%d", i))
	}
	return out
}

// An arm that wins all has a finite strength, a lower bound that is below what was seen, and the ranking says that only the prior bounds
// it.
func TestAnArmThatWinsAllHasAFiniteStrength(t *testing.T) {
	t.Parallel()
	got := RankByPreference(names(3), judgedOf([]pairResults{{0, 1, 20, 0, 0}, {0, 2, 20, 0, 0}, {1, 2, 12, 8, 0}}), PreferenceOptions{})
	expect.Same(t, "separated", got.Separated, []string{"pro/0"})
	expect.Same(t, "best", got.Best(), []string{"pro/0"})
	first := got.Arms[0]
	if i := *first.Interval; i[0] < 0.6 || i[0] > 0.97 || i[1] < 0.99 || *first.Strength > 6 {
		t.Errorf("interval %v, strength %v, want bounded ones", i, *first.Strength)
	}
	both := RankByPreference(names(2), judgedOf([]pairResults{{1, 0, 20, 0, 0}}), PreferenceOptions{})
	expect.Same(t, "separated", both.Separated, []string{"pro/0", "pro/1"})
	expect.Same(t, "arm", both.Arms[0].Arm, "pro/1")
}

func TestDisconnectedArmsAreRankedInGroups(t *testing.T) {
	t.Parallel()
	got := RankByPreference(names(6), judgedOf([]pairResults{{0, 1, 20, 0, 4}, {2, 3, 2, 20, 2}, {3, 4, 23, 1, 0}}), PreferenceOptions{})
	var order []string
	for _, a := range got.Arms {
		order = append(order, fmt.Sprint(a.Group, " ", a.Arm, " ", a.Strength != nil, " ", a.Best))
	}
	want := []string{
		"1 pro/3 true false", "1 pro/2 true false", "1 pro/4 true false", "2 pro/0 true false", "2 pro/1 true false", "3 pro/5 false false",
	}
	if !reflect.DeepEqual(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
	expect.Same(t, "best", len(got.Best()), 0)
	expect.Contains(t, "why", got.Why, "no judged pair connects pro/2 (and 2 more) with pro/0 (and 1 more)")
}

// Below the least number of cases there are strengths, and no ranking.
func TestTooFewCasesGiveNoRanking(t *testing.T) {
	t.Parallel()
	got := RankByPreference(names(2), judgedOf([]pairResults{{0, 1, 4, 0, 0}}), PreferenceOptions{})
	if got.Why != "no ranking of 2 arms below 5 independent cases; here are 4" || len(got.Best()) != 0 || got.Arms[0].Interval != nil {
		t.Errorf("%+v, want no ranking, and why", got)
	}
	for _, c := range []struct{ arms, want int }{{2, 5}, {8, 8}, {24, 9}} {
		expect.Same(t, fmt.Sprintf("%d arms", c.arms), leastUnits(c.arms, 0.05), c.want)
	}
}

func TestOnlyTiesRuleNoArmOut(t *testing.T) {
	t.Parallel()
	got := RankByPreference(names(3), judgedOf([]pairResults{{0, 1, 0, 0, 30}, {0, 2, 0, 0, 30}, {1, 2, 0, 0, 30}}), PreferenceOptions{})
	if len(got.Best()) != 3 || got.Ties != 1 || math.Abs(*got.Arms[0].Preference-0.5) > 1e-9 {
		t.Errorf("%+v, want all 3 arms with a tie, and a preference of 0.5", got)
	}
	none := RankByPreference(names(2), nil, PreferenceOptions{})
	if !strings.Contains(none.Why, "no judged pair connects pro/0 with pro/1") || none.Arms[0].Strength != nil {
		t.Errorf("%+v, want no strength, and why", none)
	}
}

// The ranking does not depend on the order of the replies, nor on that of the arms in a pair.
func TestTheOrderOfRepliesChangesNothing(t *testing.T) {
	t.Parallel()
	judged := judgedOf(tied)
	want := RankByPreference(names(4), judged, PreferenceOptions{Seed: 1})
	random := rand.New(rand.NewPCG(5, 5))
	random.Shuffle(len(judged), func(i, j int) { judged[i], judged[j] = judged[j], judged[i] })
	for i := range judged {
		if i%2 == 0 {
			j := &judged[i]
			j.First, j.Second, j.Wins, j.Losses = j.Second, j.First, j.Losses, j.Wins
		}
	}
	if got := RankByPreference(names(4), judged, PreferenceOptions{Seed: 1}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// An arm that is the best by either of two rankings cannot be ruled out, and its interval holds by both.
func TestWidenedPreferencesHoldByBothRankings(t *testing.T) {
	t.Parallel()
	var judged, lost []CasePreference
	for unit := range 40 {
		one := CasePreference{First: 0, Second: 1, Unit: unit, Wins: 1}
		if judged = append(judged, one); unit < 30 {
			lost = append(lost, CasePreference{First: 1, Second: 0, Unit: 40 + unit, Wins: 1})
		}
	}
	p := RankByPreference(names(2), judged, PreferenceOptions{})
	narrow := *p.Arms[0].Interval
	expect.Same(t, "best by what was judged", len(p.Best()), 1)
	p.Widen(RankByPreference(names(2), append(judged, lost...), PreferenceOptions{}))
	expect.Same(t, "best by both", len(p.Best()), 2)
	if wide := *p.Arms[0].Interval; wide[0] >= narrow[0] || wide[1] < narrow[1] {
		t.Errorf("the interval %v: got %v, want a wider one", narrow, wide)
	}
}
