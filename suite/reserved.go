package suite

import (
	"github.com/evalrun/evalrun/internal/yaml"
)

// Reserved reports whether a key has another meaning in an entry of a `scorers` list, so that no kind can have its name.
func Reserved(key string) bool {
	return key == useKey || yaml.SiblingKeys.Has(key)
}
