package compare

import "hash/maphash"

// finder finds the item with some content in a list that is kept elsewhere. It takes six to twelve bytes an item, where a map takes the
// content as well.
type finder[T comparable] struct {
	slots []uint32 // places, from 1; 0 is none
	seed  maphash.Seed
	at    func(place int) T // the content of an item, by its place from 0
}

// newFinder has room for n items.
func newFinder[T comparable](n int, at func(place int) T) finder[T] {
	size := 16
	for size < n+n/2 {
		size *= 2
	}
	return finder[T]{make([]uint32, size), maphash.MakeSeed(), at}
}

// slot is where the place of the item with the content is written, from 1. It is 0 when there is none, and the caller may fill it in.
func (f *finder[T]) slot(content T) *uint32 {
	mask := len(f.slots) - 1
	at := int(maphash.Comparable(f.seed, content)>>1) & mask
	for f.slots[at] != 0 && f.at(int(f.slots[at])-1) != content {
		at = (at + 1) & mask
	}
	return &f.slots[at]
}

// fromOne is a place as finders keep it. Runs have less than 2^32 trials, since the index of a run file counts them so.
func fromOne(place int) uint32 { return uint32(place + 1) } //nolint:gosec // see above
