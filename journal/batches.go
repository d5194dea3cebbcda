package journal

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Intent says, before a batch is submitted, what it will hold. Only a process that died, or lost the reply, leaves one without a
// Batch: the service may have the batch all the same, and nothing of it is sent again until that is known.
type Intent struct {
	Key        string   `json:"key"` // which the service keeps, if it keeps one
	At         string   `json:"at"`  // RFC 3339, UTC
	Service    string   `json:"service,omitempty"`
	Model      string   `json:"model"`
	APIVersion string   `json:"apiVersion,omitempty"`
	Caller     string   `json:"caller,omitempty"` // a hash by which another key is noticed
	Items      []string `json:"items"`            // their ids
	// Reserved is what the items may cost together.
	Reserved eval.Spent `json:"reserved"`
}

// Batch is what became of an Intent.
type Batch struct {
	Key string `json:"key"`
	// ID is the service's. It is "" if the service has no such batch, so that its items are free to be sent.
	ID string `json:"id,omitempty"`
	// Fetched says that a process has fetched the replies, and may have written results that use them.
	Fetched bool `json:"fetched,omitempty"`
	// Collected says that all replies are in the run file.
	Collected bool `json:"collected,omitempty"`
	// Unanswered is how many of its items have no answer, for a reason that may pass.
	Unanswered int `json:"unanswered,omitempty"`
	// Unused is what replies cost that no trial uses any more, since the plan has changed; nil without any.
	Unused *eval.Usage `json:"unused,omitempty"`
}

// WriteIntent writes that a batch is about to be submitted. It is on the disk when WriteIntent returns.
func (w *Writer) WriteIntent(i *Intent) error {
	if err := w.write(intentKind, i); err != nil {
		return err
	}
	return w.file.Sync()
}

// WriteBatch writes what became of an Intent.
func (w *Writer) WriteBatch(b *Batch) error { return w.write(batchKind, b) }

// OpenBatch is a batch whose replies are not all in the run file.
type OpenBatch struct {
	Intent
	ID      string // "" while it is not known whether the service has it
	Fetched bool   // as in Batch
}

type batches struct {
	any        bool             // the run has submitted some
	ids        []string         // of all that the service has, also of those that are collected
	open       []*OpenBatch     // in the order of their intents
	repeated   map[trialID]bool // trials with a result that are sent again
	unanswered int              // items of those that are collected, since the run last ended without waiting
}

// againLine is a trial with a result that waits for another one.
type againLine struct {
	ID string `json:"id"`
}

// WriteAgain writes that a trial with a result waits for the reply to another call.
func (w *Writer) WriteAgain(id string) error { return w.write(againKind, againLine{id}) }

func (b *batches) again(id string) {
	if b.repeated == nil {
		b.repeated = map[trialID]bool{}
	}
	b.repeated[newTrialID(id)] = true
}

// WaitsAgain reports whether a trial with a result waits for the reply to another call.
func (d *Document) WaitsAgain(id string) bool { return d.batches.repeated[newTrialID(id)] }

// OpenBatches are the batches whose replies are not all in the run file, the oldest first.
func (d *Document) OpenBatches() []*OpenBatch { return d.batches.open }

// InBatches reports whether calls of the run went into batches, of which a kill repeats none.
func (d *Document) InBatches() bool { return d.batches.any || d.Run.Options().Batch }

// Waiting counts the calls that have no reply yet because it comes with a batch, and the batches.
type Waiting struct {
	Calls   int `json:"calls"`
	Batches int `json:"batches"`
}

// String is in words. A run that was killed between two rounds waits for no batch, and has calls to submit.
func (w Waiting) String() string {
	if w.Batches == 0 {
		return "further calls"
	}
	return diag.Count(w.Calls, "call") + " in " + diag.Count(w.Batches, "batch")
}

// Waits is what a run waits for that ended to wait for its batches; nil for other runs.
func (d *Document) Waits() *Waiting {
	if !d.End.Waits() || d.Running {
		return nil
	}
	w := &Waiting{Batches: len(d.batches.open)}
	for _, b := range d.batches.open {
		w.Calls += len(b.Items)
	}
	return w
}

// BatchIDs are the ids of all batches of the run so far.
func (d *Document) BatchIDs() []string { return d.batches.ids }

// Unanswered is how many items of batches have no answer, for a reason that may pass, since the run last ended without waiting.
func (d *Document) Unanswered() int { return d.batches.unanswered }

// EndedWaiting reports whether a run ended to wait for its batches. It reads the end of the file alone.
func EndedWaiting(path string) bool {
	file, _, err := openRun(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was only read
	const most = 4096  // bytes of the last line
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return false
	}
	end := make([]byte, min(size, most))
	if _, err := file.ReadAt(end, size-int64(len(end))); err != nil {
		return false
	}
	end = bytes.TrimSuffix(end, []byte("\n"))
	var last struct {
		Type string
		eval.End
	}
	err = json.Unmarshal(end[bytes.LastIndexByte(end, '\n')+1:], &last)
	return err == nil && last.Type == "end" && last.Waits()
}

func (d *Document) intent(data []byte) error {
	b := &OpenBatch{}
	if err := wirejson.DecodeAnyCase(data, &b.Intent); err != nil {
		return err
	}
	d.batches.any = true
	d.batches.open = append(d.batches.open, b)
	return nil
}

func (d *Document) batch(data []byte) error {
	var now Batch
	if err := wirejson.DecodeAnyCase(data, &now); err != nil {
		return err
	}
	d.batches.unanswered += now.Unanswered
	if now.ID != "" && !slices.Contains(d.batches.ids, now.ID) {
		d.batches.ids = append(d.batches.ids, now.ID)
	}
	for i, b := range d.batches.open {
		if b.Key != now.Key {
			continue
		}
		b.Fetched = b.Fetched || now.Fetched
		if b.ID = now.ID; now.ID == "" || now.Collected {
			d.batches.open = append(d.batches.open[:i], d.batches.open[i+1:]...)
		}
		if now.Unused != nil {
			d.spend(b.Model, 1, *now.Unused)
		}
		break
	}
	return nil
}
