package rundir

import (
	"os"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// SignRun signs the header of a run that is about to be made in dir.
func (k *Keys) SignRun(run *eval.Run, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // its place is signed, with the links that lead to it
		return err
	}
	header, err := journal.Signable(run)
	if err != nil {
		return err
	}
	run.Signature = k.Sign(header, dir)
	return nil
}

// Signed reports whether the header of a run was signed here, or with the key that machines share.
func (k *Keys) Signed(d *journal.Document) bool {
	if d.Run.Signature == "" {
		return false
	}
	header, err := d.Signable()
	return err == nil && k.Verify(d.Run.Signature, header, d.Dir)
}

// Intact wants the copies of the suites to be those with which the run began.
func Intact(d *journal.Document) error {
	if err := d.CheckCopies(); err != nil {
		return eval.BadInput("the run %s can no longer be used: %w; restore the file, or run the suite again", d.Dir, err)
	}
	return nil
}
