package setup

import (
	"strings"

	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/job"
	"github.com/evalrun/evalrun/internal/ledger"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
)

// maxLimits bounds a file of limits, in bytes.
const maxLimits = 64 << 20

// LedgerService is a ledger that is served for a team.
type LedgerService struct {
	Listen  string // address; port 0 takes a free one
	Limits  string // a file
	State   string // the folder of the ledger's file
	Cert    string // files, for TLS
	CertKey string
}

// Start serves the ledger. The caller closes it. notice gets what people should know meanwhile. The error of an invalid
// file of limits is a *job.BadFiles.
func (o LedgerService) Start(dir rundir.Dir, getenv func(string) string, notice func(string)) (*ledger.Server, error) {
	if o.Limits == "" {
		return nil, exit.BadInput("--config FILE is missing: it has the limits of the accounts; see `evalrun help ledger`")
	}
	src, err := regular.ReadInput(dir.Join(o.Limits), maxLimits)
	if err != nil {
		return nil, exit.BadInput("the limits cannot be read: %w", err)
	}
	f := &job.Files{}
	f.Keep(o.Limits, src)
	limits := ledger.ReadLimits(o.Limits, src, &f.Diags)
	if f.Diags.HasErrors() {
		return nil, &job.BadFiles{Files: f}
	}
	return ledger.Start(ledger.Config{
		Listen: o.Listen, Limits: limits, State: dir.Join(o.State), Token: strings.TrimSpace(getenv("EVALRUN_LEDGER_TOKEN")),
		Cert: o.Cert, CertKey: o.CertKey, Notice: notice,
	})
}
