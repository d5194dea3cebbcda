package eval

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is a part of a plan: every trial belongs to exactly one shard. The zero Shard has all trials.
type Shard struct {
	Index int // from 1
	Of    int
}

// maxShards bounds how many parts a plan is cut into.
const maxShards = 10_000

// UnmarshalText reads "2/7"; "" is the zero Shard.
func (s *Shard) UnmarshalText(data []byte) error {
	*s = Shard{}
	text := string(data)
	if text == "" {
		return nil
	}
	index, of, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 1 || i > n || n > maxShards {
		return fmt.Errorf("a shard is written as I/N, such as 1/4, with I from 1 to N and N at most %d, not %q", maxShards, text)
	}
	*s = Shard{i, n}
	return nil
}

// String is the shard as UnmarshalText reads it.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// MarshalText writes the shard as String does.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Takes reports whether the trial with the given id belongs to the shard. It depends on the id alone, which is a
// hash, so that shards are about equal.
func (s Shard) Takes(id string) bool {
	if s.Of == 0 {
		return true
	}
	hash, err := strconv.ParseUint(id, 16, 64)
	if err != nil { // ids are sixteen hexadecimal digits
		panic(err)
	}
	return int(hash%uint64(s.Of)) == s.Index-1 //nolint:gosec // both are small
}
