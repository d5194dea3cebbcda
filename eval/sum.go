package eval

// Sum is a total over N trials.
type Sum struct {
	Total float64
	N     int
}

// Add adds one trial.
func (s *Sum) Add(x float64) {
	s.Total += x
	s.N++
}

// Mean is the average, false when N is 0.
func (s Sum) Mean() (float64, bool) {
	if s.N == 0 {
		return 0, false
	}
	return s.Total / float64(s.N), true
}
