package suite

import (
	"io/fs"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// LoadBy is Load of a suite by its text files. It reads the suite as a whole, or with a first attempt that cuts every
// list of cases into pieces of piece bytes. The result tried says that the first attempt was enough.
func LoadBy(fsys fs.FS, path string, kinds Kinds, piece int, diags *diag.List) (s *Suite, tried bool) {
	how := thrift{yamlnode.Cutting{Key: "cases", Piece: piece}, true}
	if piece == 0 {
		how = thrift{}
	}
	begin := &Suite{File: path, files: newFiles(fsys, path), opts: Options{Now: time.Unix(1_800_000_000, 0)}, kinds: kinds}
	s = begin.loadBy(how, diags)
	return s, s == begin
}
