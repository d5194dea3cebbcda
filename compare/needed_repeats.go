package compare

import (
	"encoding/json"
	"strconv"
)

// NeededRepeats says how many repeats of each case would replace more cases. The zero value says nothing, which is right where
// cases ran once or belong to clusters.
type NeededRepeats struct {
	number     int
	noneEnough bool
}

// noneEnough is written to JSON where no number is enough.
const noneEnough = -1

// Number returns the number of repeats, 0 where there is none to suggest.
func (r NeededRepeats) Number() int { return r.number }

// NoneEnough reports whether no number of repeats is enough.
func (r NeededRepeats) NoneEnough() bool { return r.noneEnough }

// MarshalJSON writes the number, or -1 where none is enough.
func (r NeededRepeats) MarshalJSON() ([]byte, error) {
	number := r.number
	if r.noneEnough {
		number = noneEnough
	}
	return strconv.AppendInt(nil, int64(number), 10), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *NeededRepeats) UnmarshalJSON(data []byte) error {
	var number int
	err := json.Unmarshal(data, &number)
	*r = NeededRepeats{max(0, number), number < 0}
	return err
}
