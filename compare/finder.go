package compare

import "hash/maphash"

// finder is a hash index of items that are stored elsewhere. It takes six to twelve bytes an item: a map would
// also store the content.
type finder[T comparable] struct {
	slots []uint32 // indexes from 1; 0 is empty
	seed  maphash.Seed
	at    func(place int) T // content of the item with this index, from 0
}

// newFinder makes room for n items.
func newFinder[T comparable](n int, at func(place int) T) finder[T] {
	size := 16
	for size < n+n/2 {
		size *= 2
	}
	return finder[T]{make([]uint32, size), maphash.MakeSeed(), at}
}

// slot returns the slot of an item with this content. It holds the item's index from 1, or 0 when there is no such
// item; the caller may then fill it in.
func (f *finder[T]) slot(content T) *uint32 {
	mask := len(f.slots) - 1
	at := int(maphash.Comparable(f.seed, content)>>1) & mask
	for f.slots[at] != 0 && f.at(int(f.slots[at])-1) != content {
		at = (at + 1) & mask
	}
	return &f.slots[at]
}

// fromOne is an index as slots hold it. Runs have less than 2^32 trials: the index of a run file is limited to
// that.
func fromOne(place int) uint32 { return uint32(place + 1) } //nolint:gosec // see above
