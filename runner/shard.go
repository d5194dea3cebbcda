package runner

import (
	"github.com/evalrun/evalrun/eval"
)

// Shard is a part of a plan: every trial belongs to exactly one shard. The zero Shard has all trials.
type Shard = eval.Shard
