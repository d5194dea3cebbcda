package eval

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is a part of a plan: every trial belongs to exactly one shard. The zero Shard has all trials. Check says whether
// another one is valid.
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
	read := Shard{i, n}
	if !ok || err1 != nil || err2 != nil || read == (Shard{}) || read.Check() != nil {
		return notAShard(text)
	}
	*s = read
	return nil
}

// Check returns an error unless Index is from 1 to Of and Of is at most 10,000, or the shard is the zero one.
func (s Shard) Check() error {
	if s == (Shard{}) || s.Index >= 1 && s.Index <= s.Of && s.Of <= maxShards {
		return nil
	}
	return notAShard(s.String())
}

func notAShard(text string) error {
	return fmt.Errorf("a shard is written as I/N, such as 1/4, with I from 1 to N and N at most %d, not %q", maxShards, text)
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

// ShardOf identifies a shard and the plan that it belongs to.
type ShardOf struct {
	Index  int    `json:"index"` // from 1
	Of     int    `json:"of"`
	Plan   string `json:"plan"`   // hash of all trials of the plan, which its shards share
	Trials int    `json:"trials"` // of the whole plan
}
