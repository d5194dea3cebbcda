package job

import (
	"errors"
	"io/fs"

	"github.com/evalrun/evalrun/clients/emulator"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/option"
)

// maxScript bounds the scripts of emulators, in bytes.
const maxScript = 64 << 20

// ReadScript reads an emulator script; option.DemoScript is the one that evalrun brings.
func ReadScript(dir rundir.Dir, path string) (*emulator.Script, error) {
	if path == option.DemoScript {
		return emulator.DemoScript(), nil
	}
	src, err := regular.ReadInput(dir.Join(path), maxScript)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.BadInput("the emulator's script cannot be read: there is no file %s", path)
	}
	if err != nil {
		return nil, exit.BadInput("the emulator's script cannot be read: %w", err)
	}
	f := &Files{}
	f.Keep(path, src)
	script := emulator.LoadScript(path, src, &f.Diags)
	if f.Diags.HasErrors() {
		return nil, &BadFiles{Files: f}
	}
	return script, nil
}
