package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Document is a run as reports see it: its head, its summary, and a cursor over its trials in
// the order of the plan. It holds an index, not the trials.
type Document struct {
	Dir  string
	Run  eval.Run
	End  *eval.End // nil: the run was killed, or is still running
	Gate eval.Gate // filled in by whoever applied it
	// Comparison is with the baseline of the gate, by the same; nil when there is none.
	Comparison *compare.Comparison
	Summary    Summary
	Damaged    []string // what was found damaged and left out
	Running    bool     // somebody still writes to it

	// Stops are the verdicts that were known early.
	Stops []eval.Stop
	// Spent is what the run has cost so far, as far as its file tells.
	Spent eval.Spent
	// Unpriced are the tokens by model that Spent.Money does not cover: those since the run ended last.
	Unpriced map[string]eval.Usage

	file     *os.File
	index    index
	pending  map[trialID]*pending // what the file has of trials that are not settled
	counted  map[trialID]paid     // what is counted of trials that may get another line
	calls    []eval.Booking       // of the last minute in which some were booked
	books    bool                 // the calls of this session are booked, so that trials do not count again
	workers  int                  // of the last session that says so
	priced   bool                 // the same for what they cost in money
	scratch  indexed
	unhealed bool  // something was damaged, and the run has not been resumed since
	next     int   // the number of the line after the last
	whole    int64 // length of the file without a torn last line
	size     int64 // when it was opened
	unended  bool  // the last line is whole but for its line break
	lines    int   // that were taken up
	sessions sessions
	over     bool // what follows in the file does not count
}

// Partial reports whether trials of the plan are missing, were skipped, or can no longer be
// read.
func (d *Document) Partial() bool {
	c := d.Summary.Counts
	return d.End == nil || d.End.Reason != eval.EndCompleted || c.Skip > d.Summary.Stopped || c.Total() < d.Run.Plan.Trials || d.unhealed
}

// Stopped reports whether the verdict on an arm was known early.
func (d *Document) Stopped(suite, arm string) bool {
	return slices.ContainsFunc(d.Stops, func(s eval.Stop) bool { return s.Suite == suite && s.Arm == arm })
}

// ErrNoRun is returned by Open when the directory holds no run file.
var ErrNoRun = errors.New("there is no run")

// Open reads the run file in a run directory; path may name the file itself. The caller closes
// the document.
func Open(path string) (*Document, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	file, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s", ErrNoRun, path)
	}
	if err != nil {
		return nil, err
	}
	d := &Document{Dir: filepath.Dir(path), file: file, index: index{finding: &sync.Mutex{}}}
	if err := d.read(); err != nil {
		_ = file.Close() // the first error is the one to tell
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d.Running = d.End == nil && isLocked(d.Dir)
	return d, nil
}

// isLocked reports whether a writer holds the run directory.
func isLocked(dir string) bool {
	return locked(filepath.Join(dir, lockName)) || locked(filepath.Join(dir, FileName))
}

func locked(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if free {
		err = lock.Unlock()
	}
	return !free || err != nil
}

// Close releases the run file.
func (d *Document) Close() error { return d.file.Close() }

// read builds the index in one pass.
func (d *Document) read() error {
	if info, err := d.file.Stat(); err == nil {
		d.size = info.Size()
	}
	r := newReader(d.file)
	limit := maxHead
	for number := 1; ; number++ {
		data, err := readLine(r, limit)
		limit = maxLine
		if len(data) == 0 && errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := d.line(number, data); errors.Is(err, errRest) {
			d.over = len(data) > 0 && data[len(data)-1] == '\n'
			break
		} else if err != nil {
			return err
		}
	}
	if d.Run.Version == 0 {
		return errors.New("the run file has no head")
	}
	d.spendPending()
	d.index.sort()
	d.Summary = summarize(&d.index, d.Run.Plan)
	return nil
}

// errRest says that what follows in the file does not count.
var errRest = errors.New("the rest is left out")

// line takes in one line, with its line break if it has one.
func (d *Document) line(number int, data []byte) error {
	at := d.whole
	ended := bytes.HasSuffix(data, []byte("\n"))
	data = bytes.TrimSuffix(data, []byte("\n"))
	l, problem := check(data)
	switch {
	case problem != nil && !ended && number > 1:
		return errRest // the last line of a run that is being written, or was killed
	case problem != nil && number == 1:
		if err := d.headCopy(); err != nil {
			return fmt.Errorf("not a run file: %w", problem)
		}
		d.damaged("line 1: %s; its copy in %s is taken", problem, headName)
	case problem != nil:
		d.damaged("line %d: %s", number, problem)
	}
	if problem == nil && l.Type == "run" && d.Run.Version != 0 {
		d.damaged("line %d: another run begins; it and what follows is left out", number)
		return errRest
	}
	d.lines, d.unended = number, !ended
	if d.whole += int64(len(data)); ended {
		d.whole++
	}
	if problem != nil {
		d.next++
		return nil
	}
	if *l.Seq != d.next {
		d.damaged("line %d: sequence number %d where %d is due", number, *l.Seq, d.next)
	}
	d.next = max(d.next, *l.Seq+1)
	if err := d.take(l.Type, data, at); err != nil {
		return fmt.Errorf("line %d: %w", number, err)
	}
	return nil
}

func (d *Document) damaged(format string, args ...any) {
	d.Damaged = append(d.Damaged, fmt.Sprintf(format, args...))
	d.unhealed = true
}

// headCopy reads the copy of the head.
func (d *Document) headCopy() error {
	data, err := regular.ReadFile(filepath.Join(d.Dir, headName), maxLine)
	if err != nil {
		return err
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	if _, err := check(data); err != nil {
		return err
	}
	return d.take("run", data, 0)
}

// maxLine bounds a line, in bytes: many times the largest answer.
const maxLine = 256 << 20

// maxHead bounds the first line: a file that is no run file may have no line breaks at all.
const maxHead = 64 << 20

func newReader(file io.Reader) *bufio.Reader { return bufio.NewReaderSize(file, 1<<16) }

func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	data, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return data, err
	}
	long := slices.Clone(data)
	for errors.Is(err, bufio.ErrBufferFull) {
		data, err = r.ReadSlice('\n')
		if long = append(long, data...); len(long) > limit {
			return nil, fmt.Errorf("not a run file: a line has more than %d bytes", limit)
		}
	}
	return long, err
}

func (d *Document) take(kind string, data []byte, at int64) error {
	switch kind {
	case "run":
		if err := json.Unmarshal(data, &d.Run); err != nil {
			return err
		}
		if d.Run.Version < 1 {
			return fmt.Errorf("the run file has version %d, which is none", d.Run.Version)
		}
		if d.Run.Version > Version {
			return fmt.Errorf("the run file has version %d; this evalrun reads up to %d", d.Run.Version, Version)
		}
	case "end":
		d.End = &eval.End{}
		if err := json.Unmarshal(data, d.End); err != nil {
			return err
		}
		d.sessions.until = parseTime(d.End.FinishedAt)
		d.spendPending()
		if d.End.Spent != nil { // it knows of calls that no trial reports
			d.Spent, d.Unpriced = *d.End.Spent, nil
		}
	case "resume":
		var r Resumed
		if err := json.Unmarshal(data, &r); err != nil {
			return err
		}
		d.resumed(&r)
	case "stop":
		var s eval.Stop
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		d.Stops = append(d.Stops, s)
		d.index.unuse(s.Extra)
	case "trial":
		d.trial(data, at)
	case "call":
		return d.booked(data)
	case "answer":
		d.keptAnswer(data, at)
	case "judgement":
		d.keptJudgement(data, at)
	}
	return nil
}

// trial takes in the line of a trial.
func (d *Document) trial(data []byte, at int64) {
	r := &d.scratch
	r.scan(data)
	d.goneOn(r)
	cost := d.settled(r, r.answered)
	d.spend(cost.model, cost.attempts, cost.usage)
	for _, j := range r.judges {
		if !j.noted {
			d.spend(j.model, j.attempts, j.usage)
		}
	}
	q := eval.Quarantine{Until: r.until}
	var f flags
	if r.until != "" && q.Holds(d.Run.StartedAt) {
		f |= isQuarantined
	}
	if d.Stopped(r.suite, r.arm) {
		f |= isExtra
	}
	d.index.add(r, at, len(data), f)
	d.index.reserve(at, d.size)
}

// spend adds a call to what the run has cost.
func (d *Document) spend(model string, attempts int, usage eval.Usage) {
	if !d.books {
		d.Spent.Calls += attempts
		d.Spent.Tokens += usage.TotalTokens
	}
	if d.priced || usage.TotalTokens == 0 && usage.PromptTokens == 0 && usage.OutputTokens == 0 {
		return
	}
	if d.Unpriced == nil {
		d.Unpriced = map[string]eval.Usage{}
	}
	model = d.index.words[d.index.word(model)]
	u := d.Unpriced[model]
	u.Add(&usage)
	d.Unpriced[model] = u
}

// Known is what the index says of a trial.
type Known struct {
	N                    int
	ID, Suite, Case, Arm string
	Outcome              eval.Outcome
}

// Known is what is known of a trial, by its place in the order of the plan.
func (d *Document) Known(place int) Known {
	e, w := &d.index.entries[place], d.index.words
	return Known{int(e.n), e.id.String(), w[e.suite], w[e.caseName], w[e.arm], eval.Outcome(w[e.outcome])}
}

// Len is the number of trials in the file.
func (d *Document) Len() int { return len(d.index.entries) }

// Find is the place of the trial with an id, in the order of the plan.
func (d *Document) Find(id string) (place int, ok bool) { return d.index.find(newTrialID(id)) }

// Trial reads a trial by its place in the order of the plan.
func (d *Document) Trial(i int) (*eval.Result, error) { return d.at(d.index.entries[i]) }

// Trials yields the trials in the order of the plan. A line that cannot be read any more
// is an error, and the cursor goes on.
func (d *Document) Trials() iter.Seq2[*eval.Result, error] {
	return func(yield func(*eval.Result, error) bool) {
		for _, e := range d.index.entries {
			r, err := d.at(e)
			if !yield(r, err) {
				return
			}
		}
	}
}

// Lines yields the trials in the order of the plan as JSON, as Trials would be encoded.
func (d *Document) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, e := range d.index.entries {
			if !yield(d.json(e)) {
				return
			}
		}
	}
}

// json is a trial as JSON, as it stands in the file but for what frames it.
func (d *Document) json(e entry) ([]byte, error) {
	data, err := d.lineAt(e)
	if err != nil {
		return nil, err
	}
	if c := content(data); c != nil {
		return c, nil
	}
	r, err := d.at(e)
	if err != nil {
		return nil, err
	}
	return wirejson.Marshal(r)
}

func (d *Document) lineAt(e entry) ([]byte, error) {
	data := make([]byte, e.length)
	_, err := d.file.ReadAt(data, e.offset)
	return data, err
}

func (d *Document) at(e entry) (*eval.Result, error) {
	data, err := d.lineAt(e)
	if err != nil {
		return nil, err
	}
	var r eval.Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// Row is the cell or the row of a table: trials of one case, in the order of the
// plan. Reading them is left to Document.Read.
type Row struct {
	Suite, Case string
	Counts      eval.Counts
	index       *index
	from, to    int      // its trials in the index
	places      []uint32 // of those that count, nil for all of them: a case may have very many
}

// each yields the trials of the row.
func (r Row) each(yield func(*entry) bool) {
	for i := range r.trials {
		if !yield(&r.index.entries[i]) {
			return
		}
	}
}

// trials yields their places in the index.
func (r Row) trials(yield func(int) bool) {
	if r.places == nil {
		for i := r.from; i < r.to; i++ {
			if !yield(i) {
				return
			}
		}
		return
	}
	for _, i := range r.places {
		if !yield(int(i)) {
			return
		}
	}
}

// Rows yields the cases in the order of the plan, without reading the trials.
func (d *Document) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		all := d.index.entries
		for from := 0; from < len(all); {
			to := from
			for to < len(all) && all[to].suite == all[from].suite && all[to].caseName == all[from].caseName {
				to++
			}
			row := Row{Suite: d.index.words[all[from].suite], Case: d.index.words[all[from].caseName], index: &d.index, from: from, to: to}
			row.count()
			if !yield(row) {
				return
			}
			from = to
		}
	}
}

// Quarantined reports whether the case is kept out of the gate.
func (r Row) Quarantined() (yes bool) {
	for e := range r.each {
		return e.flags&isQuarantined != 0
	}
	return false
}

// Stopped reports whether nothing of the case was asked, since the verdict was known.
func (r Row) Stopped() bool {
	for e := range r.each {
		if e.flags&isStopped == 0 {
			return false
		}
	}
	return true
}

func (r *Row) count() {
	r.Counts = eval.Counts{}
	for e := range r.each {
		r.Counts.Add(eval.Outcome(r.index.words[e.outcome]))
	}
}

// On is the part of the row that was asked of an arm; false when none was.
func (r Row) On(arm string) (Row, bool) {
	n, total := 0, 0
	for e := range r.each {
		if total++; r.index.words[e.arm] == arm {
			n++
		}
	}
	switch n {
	case 0:
		return Row{}, false
	case total:
		return r, true
	}
	places := make([]uint32, 0, n)
	for i := r.from; i < r.to; i++ {
		if r.index.words[r.index.entries[i].arm] == arm {
			places = append(places, clip(i))
		}
	}
	r.places = places
	r.count()
	return r, true
}

// PartlyBlocked is how many answers of the row were blocked after some text.
func (r Row) PartlyBlocked() int { return r.flagged(isPartlyBlocked) }

// Cut is how many answers of the row reached their limit of tokens.
func (r Row) Cut() int { return r.flagged(isCut) }

func (r Row) flagged(f flags) (n int) {
	for e := range r.each {
		if e.flags&f != 0 {
			n++
		}
	}
	return n
}

// ErrorKinds lists the kinds of errors in the row.
func (r Row) ErrorKinds() []eval.ErrorKind {
	var out []eval.ErrorKind
	for e := range r.each {
		if k := eval.ErrorKind(r.index.words[e.errorKind]); k != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// Read yields the trials of a row.
func (d *Document) Read(row Row) iter.Seq2[*eval.Result, error] {
	return func(yield func(*eval.Result, error) bool) {
		for e := range row.each {
			if !yield(d.at(*e)) {
				return
			}
		}
	}
}

// LatencyMs adds up the service times of the row's trials.
func (r Row) LatencyMs() float64 {
	total := 0.0
	for e := range r.each {
		total += float64(e.latencyMs)
	}
	return total
}
