package compare

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func TestJSONListsTheBest(t *testing.T) {
	t.Parallel()
	r := Ranking{
		Suite: "s", Metric: "pass", Alpha: 0.05, Cases: 9, Units: 8, Needs: 5, Race: &Raced{Planned: 18, Saved: 2},
		Arms: []RankedArm{{Arm: "a", Best: true, Interval: &[2]float64{-1, 2}}, {Arm: "b", Best: true}, {Arm: "c", Left: 5}},
	}
	expect.Same(t, "a ranking", marshal(t, r), ""+
		`{"suite":"s","metric":"pass","alpha":0.05,"cases":9,"units":8,"needs":5,"arms":[{"arm":"a","mean":null,"interv`+
		`al":[-1,2],"best":true,"cases":0,"errors":0,"cost":null,"tokens":null,"latencyP50Ms":null,"latencyP95Ms":null}`+
		`,{"arm":"b","mean":null,"interval":null,"best":true,"cases":0,"errors":0,"cost":null,"tokens":null,"latencyP50`+
		`Ms":null,"latencyP95Ms":null},{"arm":"c","mean":null,"interval":null,"best":false,"cases":0,"errors":0,"left":`+
		`5,"cost":null,"tokens":null,"latencyP50Ms":null,"latencyP95Ms":null}],"best":["a","b"],"race":{"planned":18,"s`+
		`aved":2}}`)
	r.Refuse("too few")
	r.Race, r.Arms = nil, r.Arms[:1]
	expect.Same(t, "none", marshal(t, r), ""+
		`{"suite":"s","metric":"pass","alpha":0.05,"cases":9,"units":8,"needs":5,"why":"too few","arms":[{"arm":"a","me`+
		`an":null,"interval":null,"best":false,"cases":0,"errors":0,"cost":null,"tokens":null,"latencyP50Ms":null,"late`+
		`ncyP95Ms":null}],"best":[]}`)
	p := PreferenceRanking{Arms: []PreferredArm{{Arm: "a"}, {Arm: "b", Best: true, Group: 1}}, Level: 0.95, Units: 8}
	expect.Same(t, "a ranking by preference", marshal(t, p), ""+
		`{"arms":[{"arm":"a","strength":null,"preference":null,"interval":null,"best":false,"group":0,"wins":0,"losses"`+
		`:0,"ties":0,"cost":null,"tokens":null,"latencyP50Ms":null,"latencyP95Ms":null},{"arm":"b","strength":null,"pre`+
		`ference":null,"interval":null,"best":true,"group":1,"wins":0,"losses":0,"ties":0,"cost":null,"tokens":null,"la`+
		`tencyP50Ms":null,"latencyP95Ms":null}],"best":["b"],"level":0.95,"units":8,"ties":0,"pairs":null}`)
	p.Refuse("too few")
	p.Arms = p.Arms[:1]
	expect.Same(t, "none by preference", marshal(t, p), ""+
		`{"arms":[{"arm":"a","strength":null,"preference":null,"interval":null,"best":false,"group":0,"wins":0,"losses"`+
		`:0,"ties":0,"cost":null,"tokens":null,"latencyP50Ms":null,"latencyP95Ms":null}],"best":[],"level":0.95,"units"`+
		`:8,"ties":0,"pairs":null,"why":"too few"}`)
	var read PreferenceRanking
	expect.OK(t, json.Unmarshal([]byte(marshal(t, p)), &read))
	expect.Same(t, "what was read", read, p)
}

func marshal(t *testing.T, v json.Marshaler) string {
	t.Helper()
	data, err := wirejson.Marshal(v)
	expect.OK(t, err)
	return string(data)
}

func TestTheCheapestIsByMoneyWhereAllHaveAPrice(t *testing.T) {
	t.Parallel()
	money := func(x float64) *float64 {
		if x == 0 {
			return nil
		}
		return &x
	}
	for name, c := range map[string]struct {
		costs, tokens [3]float64 // 0: unknown; the last arm is not close to the best
		want          *Cheap
	}{
		"money":    {[3]float64{4, 1, 0.1}, [3]float64{100, 200, 1}, &Cheap{"b", money(1000), money(200)}},
		"no price": {[3]float64{4, 0, 0.1}, [3]float64{100, 50, 1}, &Cheap{"b", nil, money(50)}},
		"equal":    {[3]float64{4, 4, 0.1}, [3]float64{100, 50, 1}, nil},
		"unknown":  {[3]float64{0, 1, 0.1}, [3]float64{0, 50, 1}, nil},
	} {
		r := Ranking{Within: &Within{Arms: []string{"a", "b"}}, Arms: []RankedArm{{Arm: "a"}, {Arm: "b"}, {Arm: "c"}}}
		r.Price("EUR", func(arm string) Taken {
			return Taken{Cost: money(c.costs[arm[0]-'a']), Tokens: money(c.tokens[arm[0]-'a'])}
		})
		expect.Same(t, name, r.Within.Cheapest, c.want)
	}
}
