package diag

import "fmt"

// Percent writes a share from 0 to 1 with one decimal. Only none is 0.0 %, and only all is 100.0 %.
func Percent(share float64) string {
	x := 100 * share
	if share > 0 && share < 1 {
		x = min(max(x, 0.1), 99.9)
	}
	return fmt.Sprintf("%.1f %%", x)
}
