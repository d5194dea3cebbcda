package reports

import (
	"io"

	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/journal"
)

// HTML writes the run as one page that needs neither a server nor a network.
func HTML(w io.Writer, d *journal.Document, _ Options) error { return page.Write(w, d) }
