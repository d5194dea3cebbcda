package runs

import "github.com/evalrun/evalrun/internal/site"

// Viewing configures View, which sets its Dir.
type Viewing = site.Options

// View serves the runs of the folder in a browser. The caller closes the server.
func (f Folder) View(o Viewing) (*site.Server, error) {
	o.Dir = f.Dir
	return site.Start(o)
}
