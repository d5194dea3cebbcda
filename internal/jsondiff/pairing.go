package jsondiff

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
)

// pairing sorts the items of arrays in the order of the expected ones, so that as many fields as possible
// are equal.
type pairing struct {
	rules Rules
	same  func(a, b json.Number) bool
	left  int // pairs of values that may still be compared
}

// maxPairing bounds the pairs of values that are compared to find out which items belong together.
const maxPairing = 250_000

// fit is a value whose lists are in the order of the expected one, with the number of equal fields. A list
// has Missing where an item is missing. Items without a partner are at its end.
type fit struct {
	value          any
	equal, unequal int
}

func (f *fit) add(part fit) {
	f.equal += part.equal
	f.unequal += part.unequal
}

// fit counts what comparison would, of every pair of items.
func (p *pairing) fit(at []string, want, got any) fit {
	p.left--
	if p.rules.Ignore.Match(at) {
		return fit{value: got}
	}
	switch w := want.(type) {
	case object:
		if g, ok := got.(object); ok {
			return p.fitObjects(at, w, g)
		}
	case []any:
		if g, ok := got.([]any); ok {
			return p.fitLists(at, w, g)
		}
	default:
		if sameScalar(want, got, p.same) {
			return fit{got, 1, 0}
		}
	}
	fields := max(p.rules.fields(at, want), p.rules.fields(at, got), 1)
	p.left -= fields
	return fit{got, 0, fields}
}

func (p *pairing) fitObjects(at []string, want, got object) fit {
	out := make(object, len(got))
	f := fit{value: out}
	if len(want)+len(got) == 0 {
		f.equal = 1
	}
	for _, key := range slices.Sorted(maps.Keys(want)) { // sorted, because time may run out before the last keys
		place := below(at, key)
		item := want[key]
		if other, ok := got[key]; ok {
			part := p.fit(place, item, other)
			out[key] = part.value
			f.add(part)
		} else {
			f.unequal += p.rules.fields(place, item)
		}
	}
	for key, item := range got {
		if _, ok := want[key]; !ok {
			out[key] = item
			f.unequal += p.rules.fields(below(at, key), item)
		}
	}
	return f
}

// fewItems is the number of pairs up to which split is not worth its time.
const fewItems = 100

func (p *pairing) fitLists(at []string, want, got []any) (f fit) {
	out := slices.Repeat([]any{Missing{}}, len(want))
	if len(want)+len(got) == 0 {
		f.equal = 1
	}
	wants, gots := positions(len(want)), positions(len(got))
	all := len(want) * len(got)
	// With a tolerance, an item 1 may be the best partner for 0.9, although another 1 is expected.
	if all > fewItems && (p.rules.Tolerance == 0 || all > p.left) {
		var twins map[int]int
		twins, wants, gots = split(want, got)
		for i, j := range twins {
			out[i] = got[j]
			f.equal += p.rules.fields(below(at, strconv.Itoa(i)), got[j])
		}
	}
	missing, surplus := setOf(wants), setOf(gots)
	for pair, part := range p.pairs(at, want, got, wants, gots) {
		out[pair[0]] = part.value
		f.add(part)
		delete(missing, pair[0])
		delete(surplus, pair[1])
	}
	for i := range missing {
		f.unequal += p.rules.fields(below(at, strconv.Itoa(i)), want[i])
	}
	for _, j := range gots {
		if surplus[j] {
			f.unequal += p.rules.fields(below(at, strconv.Itoa(len(out))), got[j])
			out = append(out, got[j])
		}
	}
	f.value = out
	return f
}

func setOf(positions []int) map[int]bool {
	out := make(map[int]bool, len(positions))
	for _, i := range positions {
		out[i] = true
	}
	return out
}

// pairs compares each item with each other one. If that takes too long, it pairs the items in their order.
func (p *pairing) pairs(at []string, want, got []any, wants, gots []int) map[[2]int]fit {
	out := map[[2]int]fit{}
	of := func(row, col int) fit {
		return p.fit(below(at, strconv.Itoa(wants[row])), want[wants[row]], got[gots[col]])
	}
	if len(wants)*len(gots) > p.left {
		for n := range min(len(wants), len(gots)) {
			out[[2]int{wants[n], gots[n]}] = of(n, n)
		}
		return out
	}
	fits := make([][]fit, len(wants))
	for row := range wants {
		for col := range gots {
			fits[row] = append(fits[row], of(row, col))
		}
	}
	for row, col := range best(fits) {
		out[[2]int{wants[row], gots[col]}] = fits[row][col]
	}
	return out
}

func below(at []string, key string) []string { return slices.Concat(at, []string{key}) }

func positions(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// split pairs identical items, and returns the indexes of the others.
func split(want, got []any) (twins map[int]int, wants, gots []int) {
	twins = map[int]int{}
	places := map[string][]int{}
	for i := range len(want) {
		key := showAll(want[i])
		places[key] = append(places[key], i)
	}
	for j := range len(got) {
		key := showAll(got[j])
		if free := places[key]; len(free) > 0 {
			twins[free[0]] = j
			places[key] = free[1:]
			continue
		}
		gots = append(gots, j)
	}
	for i := range len(want) {
		if _, paired := twins[i]; !paired {
			wants = append(wants, i)
		}
	}
	return twins, wants, gots
}

// showAll returns a value as JSON, with sorted keys.
func showAll(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// best pairs as many rows and columns as possible. It maximizes the equal fields, and then minimizes the
// unequal ones.
func best(fits [][]fit) map[int]int {
	if len(fits) == 0 || len(fits[0]) == 0 {
		return nil
	}
	rows, cols := len(fits), len(fits[0])
	cost := func(row, col int) int { return fits[row][col].unequal - fits[row][col].equal<<20 }
	if rows <= cols {
		return assign(rows, cols, cost)
	}
	out := map[int]int{}
	for col, row := range assign(cols, rows, func(col, row int) int { return cost(row, col) }) {
		out[row] = col
	}
	return out
}

// assign assigns each of n rows one of m >= n columns at the least total cost, in O(n²m). It is the
// Hungarian method with shortest augmenting paths (Jonker and Volgenant 1987). Row and column 0 belong to
// the search.
func assign(n, m int, cost func(row, col int) int) map[int]int {
	a := matching{
		cost: cost, rowPrice: make([]int, n+1), colPrice: make([]int, m+1), rowOf: make([]int, m+1), from: make([]int, m+1),
	}
	for row := 1; row <= n; row++ {
		a.place(row)
	}
	out := map[int]int{}
	for col := 1; col <= m; col++ {
		if a.rowOf[col] != 0 {
			out[a.rowOf[col]-1] = col - 1
		}
	}
	return out
}

// matching is the state of assign. Rows and columns count from 1; column 0 has the row that is being
// placed.
type matching struct {
	cost               func(row, col int) int
	rowPrice, colPrice []int
	rowOf              []int // the row of each column, 0 for none
	from               []int // the previous column on the cheapest path
}

// place finds the cheapest path from a row to a free column and moves the rows along it.
func (a *matching) place(row int) {
	a.rowOf[0] = row
	shortest := make([]int, len(a.rowOf))
	for col := range shortest {
		shortest[col] = math.MaxInt
	}
	done := make([]bool, len(a.rowOf))
	at := 0
	for a.rowOf[at] != 0 {
		done[at] = true
		next := a.nearest(at, shortest, done)
		a.reprice(shortest[next], shortest, done)
		at = next
	}
	for at != 0 {
		a.rowOf[at] = a.rowOf[a.from[at]]
		at = a.from[at]
	}
}

// nearest extends the paths by the column at. It returns the column that is cheapest to reach next.
func (a *matching) nearest(at int, shortest []int, done []bool) int {
	next, row := 0, a.rowOf[at]
	for col := 1; col < len(shortest); col++ {
		if done[col] {
			continue
		}
		if d := a.cost(row-1, col-1) - a.rowPrice[row] - a.colPrice[col]; d < shortest[col] {
			shortest[col], a.from[col] = d, at
		}
		if next == 0 || shortest[col] < shortest[next] {
			next = col
		}
	}
	return next
}

// reprice changes the prices so that the path to the nearest column, which costs delta, becomes free.
func (a *matching) reprice(delta int, shortest []int, done []bool) {
	for col := range done {
		if done[col] {
			a.rowPrice[a.rowOf[col]] += delta
			a.colPrice[col] -= delta
		} else if col > 0 {
			shortest[col] -= delta
		}
	}
}
