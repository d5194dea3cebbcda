package flow

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
)

const version = 1

// maxFile bounds the files that are read, in bytes.
const maxFile = 64 << 20

type storedAnswer struct {
	ID       string          `json:"id"` // of the trial: a hash of its request
	Arm      string          `json:"arm"`
	Model    string          `json:"model"`
	Repeat   int             `json:"repeat"`
	Request  *eval.Request   `json:"request,omitempty"`
	Response *eval.Response  `json:"response"`
	Usage    *eval.Usage     `json:"usage,omitempty"`
	Timing   *recordedTiming `json:"timing,omitempty"`
	// Turns are the answers of a trial with several calls.
	Turns []recordedCall `json:"turns,omitempty"`
	// Exchanges are the calls of a program as they passed by.
	Exchanges []recordedExchange `json:"exchanges,omitempty"`
	// Judgements are the replies of judges about the answer.
	Judgements []eval.Judgement `json:"judgements,omitempty"`

	results []eval.CallResult // of an answer that is a turn
}

type recordedCall struct {
	Response eval.Response `json:"response"`
	// Results are the suite's results for function calls of the model; nil for an answer without calls.
	Results []eval.CallResult `json:"results,omitempty"`
	Usage   eval.Usage        `json:"usage"`
	Timing  recordedTiming    `json:"timing"`
}

type recordedExchange struct {
	Service string          `json:"service"`
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Request json.RawMessage `json:"request,omitempty"` // a text if it is not JSON
	Status  int             `json:"status"`
	Type    string          `json:"type,omitempty"`
	Reply   string          `json:"reply,omitempty"`
	Bytes   []byte          `json:"bytes,omitempty"` // instead of a reply that is not UTF-8
}

func newExchanges(all []eval.ModelExchange) (out []recordedExchange) {
	for i := range all {
		x := &all[i]
		one := recordedExchange{Service: x.Service, Method: x.Method, Path: x.Path, Status: x.Status, Type: x.Type, Request: x.Request}
		if !wirejson.Valid(x.Request) {
			one.Request = wirejson.AppendString(nil, string(x.Request))
		}
		if one.Reply = string(x.Reply); !utf8.Valid(x.Reply) {
			one.Reply, one.Bytes = "", x.Reply
		}
		out = append(out, one)
	}
	return out
}

// Exchanges are the recorded calls of the program of a trial; ok is false when none of its runs was recorded.
func (s *Recordings) Exchanges(trialID string) (all []eval.ModelExchange, ok bool) {
	a := s.expected[trialID]
	if a == nil {
		return nil, false
	}
	for i := range a.Exchanges {
		x := &a.Exchanges[i]
		one := eval.ModelExchange{
			Service: x.Service, Method: x.Method, Path: x.Path, Request: x.Request, Status: x.Status, Type: x.Type, Reply: []byte(x.Reply),
		}
		if len(x.Bytes) > 0 {
			one.Reply = x.Bytes
		}
		if text, isText := wirejson.Text(x.Request); isText {
			one.Request = []byte(text)
		}
		all = append(all, one)
	}
	return all, true
}

type recordedTiming struct {
	Answer    string  `json:"answer,omitempty"`
	LatencyMs float64 `json:"latencyMs"`
	eval.StreamTiming
}

func newTiming(t *eval.Timing) *recordedTiming {
	return &recordedTiming{t.Answer, t.LatencyMs, t.StreamTiming}
}

// Replay returns the recorded answer and sets the timing of call.
func (a *storedAnswer) Replay(call *eval.Call) *eval.Response {
	if a.Timing != nil {
		call.Timing.LatencyMs, call.Timing.StreamTiming = a.Timing.LatencyMs, a.Timing.StreamTiming
		call.Timing.Answer = a.Timing.Answer
	}
	if call.Timing.Answer == "" { // recorded by an earlier version
		call.Timing.Answer = a.digest()
	}
	call.Results = a.results
	out := *a.Response
	out.Usage = a.Usage
	return &out
}

// digest identifies a record without an id of its answer.
func (a *storedAnswer) digest() string {
	data, err := wirejson.Marshal(storedAnswer{ID: a.ID, Response: a.Response, Usage: a.Usage, Timing: a.Timing})
	if err != nil {
		return ""
	}
	return sumOf(data)[:16]
}

type caseFile struct {
	Version int            `json:"version"`
	Suite   string         `json:"suite"`
	Case    string         `json:"case"`
	Answers []storedAnswer `json:"answers"`
}

// Recordings is a folder of answers that people commit and review. Each case has a readable file with sorted answers: the
// request as sent, and the answer as received. Errors are not recorded.
//
// The usual order to replay: Open, then Replay of the answer to a request. To record: Open, Recordings.Put for each result,
// Recordings.Save.
//
// A Cache has the same answers in another form: one file for each request, for this machine alone.
type Recordings struct {
	dir      string
	files    map[string]*caseFile // by path below dir
	changed  map[string]bool
	byID     map[string]*storedAnswer
	expected map[string]*storedAnswer // the recorded answers of trials, by id, whatever they send
	absent   map[string]bool          // ids of trials of which nothing is recorded, whatever they send
	Models   []eval.Model             // metadata of models
	mu       sync.Mutex               // guards the vectors
	vectors  map[string][]float64     // all, for writing
	replayed map[string][]float64     // those to answer from
}

const (
	modelsFile  = "models.json"
	vectorsFile = "vectors.json"
)

// Open reads the folder. A missing folder has no recordings, and neither has "".
func Open(dir string) (*Recordings, error) {
	s := &Recordings{
		dir:      dir,
		files:    map[string]*caseFile{},
		changed:  map[string]bool{},
		byID:     map[string]*storedAnswer{},
		absent:   map[string]bool{},
		expected: map[string]*storedAnswer{},
		vectors:  map[string][]float64{},
		replayed: map[string][]float64{},
	}
	if dir == "" {
		return s, nil
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return s.read(filepath.ToSlash(name))
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	maps.Copy(s.replayed, s.vectors)
	return s, err
}

func (s *Recordings) read(name string) error {
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	data, err := files.ReadFile(path, maxFile)
	if err == nil {
		err = s.decode(name, data)
	} else if !errors.Is(err, files.ErrNotFile) && !errors.Is(err, files.ErrTooLarge) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s is not a file of recorded answers: %w", path, files.InWords(err))
	}
	return nil
}

func (s *Recordings) decode(name string, data []byte) error {
	switch name {
	case modelsFile:
		return json.Unmarshal(data, &s.Models)
	case vectorsFile:
		err := json.Unmarshal(data, &s.vectors)
		if s.vectors == nil { // the file is the JSON value null
			s.vectors = map[string][]float64{}
		}
		return err
	}
	return s.decodeCase(name, data)
}

func (s *Recordings) decodeCase(name string, data []byte) error {
	if err := wirejson.CheckDepth(data, wirejson.MaxPartDepth); err != nil {
		return err
	}
	var compact bytes.Buffer // parts of answers that are kept as they came go into lines of run files
	if json.Compact(&compact, data) == nil {
		data = compact.Bytes()
	}
	f := &caseFile{}
	err := json.Unmarshal(data, f)
	if err == nil && (f.Version > version || f.Version < 1) {
		err = fmt.Errorf("version %d; this evalrun reads 1 to %d", f.Version, version)
	}
	s.files[name] = f
	for i := range f.Answers {
		if f.Answers[i].Response == nil {
			return fmt.Errorf("answer %d has no response", i+1)
		}
		s.know(new(f.Answers[i])) // a copy, since Put moves those of the file while others are read
	}
	return err
}

// know makes an answer available to Answer. In a trial with several calls, each call has its own id.
func (s *Recordings) know(a *storedAnswer) {
	s.byID[a.ID] = a
	s.readJudgements(a.Judgements)
	trial, before := eval.Trial{ID: a.ID}, []eval.AnsweredCall(nil)
	for i := range a.Turns {
		t := &a.Turns[i]
		id := trial.CallID(before)
		s.byID[id] = &storedAnswer{ID: id, Response: &t.Response, Usage: &t.Usage, Timing: &t.Timing, results: t.Results}
		before = append(before, eval.AnsweredCall{Response: t.Response, Results: t.Results})
	}
}

// Forget drops the answers that were read. Later ones still replace them in the files.
func (s *Recordings) Forget() {
	clear(s.byID)
	clear(s.replayed)
}

// Expect notes whether anything is recorded of a trial that will be replayed, for the errors of Replay.
func (s *Recordings) Expect(t *eval.Trial) {
	f := s.files[fileName(t.Suite, t.Case)]
	s.absent[t.ID] = true
	if f == nil {
		return
	}
	of := func(a storedAnswer) bool { return a.ID == t.ID || a.Arm == t.Arm && a.Repeat == t.Repeat }
	if i := slices.IndexFunc(f.Answers, of); i >= 0 {
		s.absent[t.ID], s.expected[t.ID] = false, new(f.Answers[i])
	}
}

// answer returns the answer of a trial, nil if none was recorded.
func (s *Recordings) answer(trialID string) *storedAnswer { return s.byID[trialID] }

// vector returns the embedding of a text, nil if none was recorded.
func (s *Recordings) vector(model, text string) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replayed[vectorKey(model, text)]
}

func (s *Recordings) putVector(model, text string, v []float64) {
	key := vectorKey(model, text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vectors[key], s.replayed[key] = v, v
}

func vectorKey(model, text string) string {
	sum := sha256.Sum256([]byte(text))
	return model + " " + hex.EncodeToString(sum[:16])
}

// Put records the answer of a trial, if it has one, instead of an earlier one of the arm and repeat.
func (s *Recordings) Put(r *eval.Result) {
	if r.Response == nil || r.Err() != nil && r.Err().Kind != eval.KindUnscored && r.Err().Kind != eval.KindScorer {
		return
	}
	name := fileName(r.Suite, r.Case)
	f := s.files[name]
	if f == nil {
		f = &caseFile{Version: version, Suite: r.Suite, Case: r.Case}
		s.files[name] = f
	}
	a := newAnswer(r)
	for _, old := range f.Answers {
		if old.ID == a.ID && len(a.Exchanges) == 0 && len(r.ModelCalls()) > 0 { // a run file has no exchanges
			a.Exchanges = old.Exchanges
		}
	}
	f.Answers = slices.DeleteFunc(f.Answers, func(old storedAnswer) bool { return old.Arm == a.Arm && old.Repeat == a.Repeat })
	f.Answers = append(f.Answers, a)
	s.changed[name] = true
}

func newAnswer(r *eval.Result) storedAnswer {
	a := storedAnswer{
		ID:         r.ID,
		Arm:        r.Arm,
		Model:      r.Model,
		Repeat:     r.Repeat,
		Request:    r.Request,
		Response:   r.Response,
		Usage:      r.Usage,
		Judgements: judgements(r.Judgements),
	}
	a.Exchanges = newExchanges(r.Response.Exchanges)
	if r.Timing != nil {
		a.Timing = newTiming(r.Timing)
	}
	for _, t := range r.Calls {
		a.Turns = append(a.Turns, recordedCall{t.Response, t.Results, t.Usage, *newTiming(&t.Timing)})
	}
	return a
}

// readJudgements stores the replies of judges by the ids of their questions.
func (s *Recordings) readJudgements(all []eval.Judgement) {
	for i := range all {
		j := &all[i]
		if j.Error == nil {
			s.byID[j.ID] = &storedAnswer{
				ID:       j.ID,
				Model:    j.Model,
				Repeat:   j.Repeat,
				Response: j.Response(),
				Usage:    j.Usage,
				Timing:   &recordedTiming{LatencyMs: j.LatencyMs},
			}
		}
	}
}

// judgements returns the judgements for a recording. It removes which of several equal questions was sent:
// that depends on the order of answers, and would make recordings differ.
func judgements(all []eval.Judgement) []eval.Judgement {
	out := slices.DeleteFunc(slices.Clone(all), func(j eval.Judgement) bool { return j.Error != nil })
	for i := range out {
		out[i].Cached = false // the id is a hash of the question
		out[i].Attempts = 0
		out[i].Prompt = ""
	}
	return out
}

// Check returns an error if nothing could be stored, so that the user learns it before paying for answers.
// It writes a temporary file into the folder, or into the nearest folder above that exists.
func (s *Recordings) Check() error {
	dir := s.dir
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return files.Probe(dir)
}

// Save writes the changed files, each atomically.
func (s *Recordings) Save() error {
	for name := range s.changed {
		f := s.files[name]
		slices.SortFunc(f.Answers, func(a, b storedAnswer) int { return cmp.Or(cmp.Compare(a.Arm, b.Arm), a.Repeat-b.Repeat) })
		if err := s.write(name, f); err != nil {
			return err
		}
	}
	clear(s.changed)
	if err := s.write(modelsFile, s.Models); err != nil {
		return err
	}
	s.mu.Lock()
	vectors := maps.Clone(s.vectors)
	s.mu.Unlock()
	if len(vectors) == 0 {
		return nil
	}
	return s.write(vectorsFile, vectors)
}

func (s *Recordings) write(name string, v any) error {
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	plain, err := wirejson.Marshal(v)
	if err != nil {
		return err
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(json.RawMessage(plain)); err != nil {
		return err
	}
	return files.Write(path, 0o644, func(w io.Writer) error { _, err := io.WriteString(w, b.String()); return err })
}

// unsafe matches characters to replace in file names.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9]+`)

// plainSuite matches suite names that can be folder names unchanged.
var plainSuite = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// fileName returns the file for the answers of a case. The name is readable, and unique to the case.
func fileName(suite, name string) string {
	if !plainSuite.MatchString(suite) { // for example `..`
		sum := sha256.Sum256([]byte(suite))
		suite = strings.Trim(unsafe.ReplaceAllString(suite, "-")+"-"+hex.EncodeToString(sum[:4]), "-")
	}
	readable := strings.Trim(unsafe.ReplaceAllString(name, "-"), "-")
	if len(readable) > 60 {
		readable = readable[:60]
	}
	sum := sha256.Sum256([]byte(name))
	return suite + "/" + strings.TrimPrefix(readable+"-"+hex.EncodeToString(sum[:4]), "-") + ".json"
}
