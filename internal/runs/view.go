package runs

import "github.com/evalrun/evalrun/internal/view"

// Viewing configures View, which sets its Dir.
type Viewing = view.Options

// View serves the runs of the folder in a browser. The caller closes the server.
func (f Folder) View(o Viewing) (*view.Server, error) {
	o.Dir = f.Dir
	return view.Start(o)
}
