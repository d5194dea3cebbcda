package journal

import (
	"runtime"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Release frees the index, which takes most of the memory of a large run. From then on Trials, Facts, Find and all other
// methods that look at trials find none; the header, the summary, TrialAt and IDAt remain.
func (d *Document) Release() {
	large := len(d.index.entries) >= largeIndex
	d.index = newIndex()
	if large { // else the next run is read while this one is still in memory
		runtime.GC()
	}
}

// largeIndex is the number of trials from which freeing an index is worth a garbage collection.
const largeIndex = 1 << 18

// TrialAt reads the trial at Facts.At.
func (d *Document) TrialAt(at int64) (*eval.Result, error) {
	data, err := d.file.lineFrom(at)
	if err != nil {
		return nil, err
	}
	return decodeTrial(data)
}

// IDAt is the id of the trial at Facts.At.
func (d *Document) IDAt(at int64) (string, error) {
	data, err := d.file.lineFrom(at)
	if err != nil {
		return "", err
	}
	var trial struct {
		ID string `json:"id"`
	}
	err = wirejson.Decode(data, &trial)
	return trial.ID, err
}
