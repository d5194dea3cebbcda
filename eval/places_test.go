package eval

import (
	"encoding/json"
	"testing"
)

func TestPlacesHoldWhatTheirTextSays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		holds []int
		lacks []int
	}{
		{"", nil, []int{-1, 0, 1}},
		{"0", []int{0}, []int{1}},
		{"0-3,7,9-11", []int{0, 3, 7, 9, 10, 11}, []int{-1, 4, 6, 8, 12}},
	} {
		var p Places
		if err := p.UnmarshalText([]byte(test.text)); err != nil {
			t.Fatal(err)
		}
		for _, n := range test.holds {
			if !p.Has(n) {
				t.Errorf("%q: got no %d, want it", test.text, n)
			}
		}
		for _, n := range test.lacks {
			if p.Has(n) {
				t.Errorf("%q: got %d, want it left out", test.text, n)
			}
		}
		if text, _ := p.MarshalText(); string(text) != test.text {
			t.Errorf("got %[2]q, want %[1]q", test.text, text)
		}
	}
	for _, wrong := range []string{
		",", "1,", "x", "3-1", "-1", "1-", "2,1", "1-3,2", "99999999999999999999", "9223372036854775807", " 1", "1-2-3",
	} {
		if err := new(Places).UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q: got no error, want one", wrong)
		}
	}
}

// None at all is something else than all.
func TestNoPlacesDifferFromAllInJSON(t *testing.T) {
	t.Parallel()
	type flags struct {
		Selected *Places `json:"selected,omitempty"`
	}
	for _, test := range []struct {
		flags flags
		want  string
	}{{flags{}, `{}`}, {flags{&Places{}}, `{"selected":""}`}, {flags{&Places{[]placeRange{{1, 2}}}}, `{"selected":"1-2"}`}} {
		data, err := json.Marshal(test.flags)
		if err != nil || string(data) != test.want {
			t.Errorf("%s, %v, want %s", data, err, test.want)
		}
		var back flags
		if err := json.Unmarshal(data, &back); err != nil || (back.Selected == nil) != (test.flags.Selected == nil) {
			t.Errorf("%s is read as %v, %v, want the same", data, back.Selected, err)
		}
	}
}

func FuzzPlaces(f *testing.F) {
	for _, seed := range []string{"", "0-3,7,9-11", "1,2,3", "00-01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p, second Places
		if p.UnmarshalText([]byte(text)) != nil {
			return
		}
		out, _ := p.MarshalText()
		if err := second.UnmarshalText(out); err != nil {
			t.Fatalf("%q is written as %q, which cannot be read: %v, want no error", text, out, err)
		}
		if third, _ := second.MarshalText(); string(third) != string(out) {
			t.Fatalf("%q becomes %q, want the same", out, third)
		}
	})
}
