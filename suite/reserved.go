package suite

import (
	"github.com/evalrun/evalrun/internal/entry"
)

// Reserved reports whether a key has a meaning of its own in an entry of a `scorers` list, so that no kind can be called so.
func Reserved(key string) bool {
	return key == useKey || entry.SiblingKeys.Has(key)
}
