package session

import (
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/ledger"
	"github.com/evalrun/evalrun/internal/rundir"
)

// maxLimits bounds the file of limits, in bytes.
const maxLimits = 64 << 20

// LedgerService configures a ledger that a team shares.
type LedgerService struct {
	Listen  string // port 0 takes a free one
	Limits  string // a path
	State   string // the folder in which the ledger keeps its file
	Cert    string // paths of the TLS certificate and its key
	CertKey string
}

// Start serves the ledger. The caller closes it. notice gets what people should know meanwhile. The error of an invalid
// file of limits is a *session.BadFiles.
func (o LedgerService) Start(dir rundir.Dir, getenv func(string) string, notice func(string)) (*ledger.Server, error) {
	if o.Limits == "" {
		return nil, eval.BadInput("--config FILE is missing: it has the limits of the accounts; see `evalrun help ledger`")
	}
	src, err := files.ReadInput(dir.Join(o.Limits), maxLimits)
	if err != nil {
		return nil, eval.BadInput("the limits cannot be read: %w", err)
	}
	f := &Files{}
	f.Keep(o.Limits, src)
	limits := ledger.ReadLimits(o.Limits, src, &f.Diags)
	if f.Diags.HasErrors() {
		return nil, &BadFiles{Files: f}
	}
	return ledger.Start(ledger.Config{
		Listen: o.Listen, Limits: limits, State: dir.Join(o.State), Token: strings.TrimSpace(getenv("EVALRUN_LEDGER_TOKEN")),
		Cert: o.Cert, CertKey: o.CertKey, Notice: notice,
	})
}
