package journal

import (
	"bufio"
	"bytes"
	"io"
	"runtime"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
)

// Release lets go of what locates trials, which is most of the memory that a run of a million takes. Trials, Facts, Find and all
// that looks at trials finds none from then on; the header, the summary, TrialAt and IDAt remain.
func (d *Document) Release() {
	large := len(d.index.entries) >= largeIndex
	d.index = index{finding: &sync.Mutex{}}
	if large { // else the next run is read while this one is still in memory
		runtime.GC()
	}
}

// largeIndex is from how many trials on an index is worth a collection of garbage.
const largeIndex = 1 << 18

// TrialAt reads the trial at Facts.At.
func (d *Document) TrialAt(at int64) (*eval.Result, error) {
	data, err := d.lineFrom(at)
	if err != nil {
		return nil, err
	}
	return decodeTrial(data)
}

// IDAt is the id of the trial at Facts.At.
func (d *Document) IDAt(at int64) (string, error) {
	data, err := d.lineFrom(at)
	return gjson.GetBytes(data, "id").String(), err
}

// lineFrom reads the line that begins at an offset.
func (d *Document) lineFrom(at int64) ([]byte, error) {
	r := bufio.NewReader(io.NewSectionReader(d.file, at, maxLine))
	data, err := r.ReadBytes('\n')
	if err == io.EOF && len(data) > 0 { // the last line of a run that was killed
		err = nil
	}
	return bytes.TrimSuffix(data, []byte("\n")), err
}
