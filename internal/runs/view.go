package runs

import "github.com/evalrun/evalrun/internal/view"

// Viewing says which runs are shown in the browser, and where. Its Dir is that of the Folder.
type Viewing = view.Options

// View serves the runs of the folder as pages. The caller closes the server.
func (f Folder) View(o Viewing) (*view.Server, error) {
	o.Dir = f.Dir
	return view.Start(o)
}
