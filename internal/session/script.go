package session

import (
	"errors"
	"io/fs"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
)

// maxScript bounds the scripts of emulators, in bytes.
const maxScript = 64 << 20

// ReadScript reads an emulator script; eval.DemoScript is the one that evalrun brings.
func ReadScript(dir rundir.Dir, path string) (*emulator.Script, error) {
	if path == eval.DemoScript {
		return emulator.DemoScript(), nil
	}
	src, err := files.ReadInput(dir.Join(path), maxScript)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, eval.BadInput("the emulator's script cannot be read: there is no file %s", path)
	}
	if err != nil {
		return nil, eval.BadInput("the emulator's script cannot be read: %w", err)
	}
	f := &Files{}
	f.Keep(path, src)
	script := emulator.LoadScript(path, src, &f.Diags)
	if f.Diags.HasErrors() {
		return nil, &BadFiles{Files: f}
	}
	return script, nil
}
