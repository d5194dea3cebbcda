package reports

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// Escapes for link texts, addresses and notes, so that Markdown shows them literally.
var (
	escapeText = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<", "&lt;", "`", "\\`", "*", `\*`, "_", `\_`, "@", "&#64;")
	escapeURL  = strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "%0A", "\r", "%0D", " ", "%20")
	escapeNote = strings.NewReplacer("<", "&lt;", ">", "&gt;")
)

// maxMarker bounds the suite names in a marker, in bytes; longer ones end with a hash of all.
const maxMarker = 400

// Marker is the comment at the beginning of a run's Markdown report: `<!-- evalrun: SUITE -->`, with the names of
// its suites. Runs of the same suites share a marker.
func Marker(run *eval.Run) string {
	var names []string
	for i := range run.Suites {
		names = append(names, diag.CleanLine(run.Suites[i].Name))
	}
	all := escapeNote.Replace(strings.Join(names, ", "))
	if len(all) > maxMarker {
		all = fmt.Sprintf("%d suites, %x", len(names), sha256.Sum256([]byte(all)))
	}
	return "<!-- evalrun: " + all + " -->"
}
