// Package hostile holds texts that break careless code, for tests alone: seeds of the fuzz targets of every package.
// Most are of the Big List of Naughty Strings, whose licence is next to them.
package hostile

import (
	_ "embed" // the texts
	"encoding/json"
	"slices"
)

//go:embed hostile.json
var texts []byte

// Strings are the texts, with some that JSON cannot hold.
func Strings() []string {
	var out []string
	if err := json.Unmarshal(texts, &out); err != nil {
		panic(err) // they are part of the package
	}
	return slices.Concat(out, []string{"\xff\xfe", "a\xc3", "\xed\xa0\x80"})
}
