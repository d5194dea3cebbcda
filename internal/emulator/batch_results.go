package emulator

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
)

// eachResult yields the results of a batch that has ended, with those that come twice, and those of items that nobody sent.
func (e *Emulator) eachResult(b *batch, yield func(*batchResult) error) error {
	file, err := e.batches.files.open(b.results())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	var first []batchResult
	for line, err := range lines(file) {
		var one batchResult
		if err == nil {
			err = json.Unmarshal(line, &one)
		}
		if err == nil {
			err = yield(&one)
		}
		if err != nil {
			return err
		}
		if len(first) < max(b.Course.Repeat, b.Course.Unknown) {
			first = append(first, one)
		}
	}
	for i := range first {
		if i < b.Course.Repeat {
			err = yield(&first[i])
		}
		if i < b.Course.Unknown && err == nil {
			first[i].Item = "unknown-" + strconv.Itoa(i+1)
			err = yield(&first[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Emulator) cutsOff(b *batch) (cut bool, p *problem) {
	if b.Course.CutResults == 0 {
		return false, nil
	}
	_, p = e.change(b.Protocol, b.ID, func(b *batch) *problem {
		if cut = b.Cuts < b.Course.CutResults; !cut {
			return nil
		}
		b.Cuts++
		return e.save()
	})
	return cut, p
}

func writeLine(w io.Writer, v any) error {
	_, err := w.Write(append(encoded(v), '\n'))
	return err
}

// sendResults sends the results of a batch, a line each. show returns nil for one that is left out.
func (e *Emulator) sendResults(w http.ResponseWriter, in answerWriter, b *batch, show func(*batchResult) any) {
	cut, p := e.cutsOff(b)
	if p != nil {
		in.fail(w, p)
		return
	}
	e.writeResults(w, b, cut, "", "\n", show)
}

// writeResults writes the results of a batch, with a text between and after them. Cut off, they end in the middle of one.
func (e *Emulator) writeResults(w io.Writer, b *batch, cut bool, between, after string, show func(*batchResult) any) (whole bool) {
	n, end := 0, -1
	each := func(do func(line []byte) error) {
		err := e.eachResult(b, func(one *batchResult) error {
			if line := show(one); line != nil {
				return do(encoded(line))
			}
			return nil
		})
		if err != nil && end < 0 { // of the disk, or the client has gone
			panic(http.ErrAbortHandler)
		}
	}
	if cut {
		each(func([]byte) error { n++; return nil })
		n, end = 0, n/2
	}
	each(func(line []byte) error {
		if n > 0 {
			line = append([]byte(between), line...)
		}
		if n == end {
			_, _ = w.Write(line[:len(line)/2])
			return io.EOF
		}
		n++
		_, err := w.Write(append(line, after...))
		return err
	})
	return !cut
}
