package suite

import (
	"io/fs"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// LoadBy is Load in one of its ways of reading, by piece. 0 reads as a whole. A positive number first cuts every list of
// cases into pieces of that many bytes, and -1 first only takes scorers that read alike for one. The result tried says
// that the first attempt was enough.
func LoadBy(fsys fs.FS, path string, kinds Kinds, piece int, diags *diag.List) (s *Suite, tried bool) {
	how := thrift{yaml.Cutting{Key: "cases", Piece: piece}, true}
	switch {
	case piece < 0:
		how.cutting = yaml.Cutting{}
	case piece == 0:
		how = thrift{}
	}
	o := origin{newFiles(fsys, path), kinds, Options{Now: time.Unix(1_800_000_000, 0)}}
	_, less := o.attempt(path, how, &diag.List{})
	return o.load(path, how, diags), less == nil
}
