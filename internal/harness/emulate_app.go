package harness

import (
	"github.com/evalrun/evalrun/clients/emulator"
	"github.com/evalrun/evalrun/internal/exit"
)

// StartApp serves the small HTTP application for tries instead of the service. Of the settings it takes Listen and Key. The caller
// closes it.
func (e *Emulation) StartApp() (*emulator.AppServer, error) {
	server, err := emulator.NewApp(e.Key).Start(e.Listen)
	if err != nil {
		return nil, exit.BadInput("%w", err)
	}
	return server, nil
}
