package site

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers/labels"
)

// labelling is nil in a server that only reads.
type labelling struct {
	who   string
	token string // random for each start; a request that writes must have it
	keys  *rundir.Keys

	mu   sync.Mutex
	code string // can be exchanged once for the token; "" after that
}

func newLabelling(o *Options) (*labelling, error) {
	if !o.Label {
		return nil, nil
	}
	keys, err := rundir.Load(o.Getenv)
	if err != nil {
		return nil, eval.BadInput("%w", err)
	}
	who := strings.TrimSpace(o.As)
	if who == "" {
		who = o.Dir.UserName(o.Getenv)
	}
	if err := labels.CheckWho(who); err != nil {
		return nil, eval.BadInput("who labels? %w: name yourself by --as NAME", err)
	}
	return &labelling{who: who, token: rand.Text(), keys: keys, code: rand.Text()}, nil
}

const tokenHeader = "Evalrun-Token"

// WithToken returns the address for a person who labels. The token follows the #, because browsers send
// that part to no server.
func (s *Server) WithToken(address string) string {
	if s.labelling == nil {
		return address
	}
	return address + "#token=" + s.labelling.token
}

// WithCode returns the address for the browser that evalrun opens. The code works once, because everybody
// on the machine can see the command line of a browser.
func (s *Server) WithCode(address string) string {
	if s.labelling == nil {
		return address
	}
	return address + "#code=" + s.labelling.code
}

// refusal says why a request may not write, "" when it may. The headers show that one of our own pages sent
// it.
func (l *labelling) refusal(r *http.Request) string {
	site := r.Header.Get("Sec-Fetch-Site")
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch {
	case r.Header.Get("Origin") != "http://"+r.Host || site != "" && site != "same-origin":
		return "labels are taken from the pages of this server only"
	case strings.TrimSpace(kind) != "application/json":
		return "a label is sent as application/json"
	}
	return ""
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// giveToken answers with the token for a code, and makes the code invalid.
func (s *Server) giveToken(w http.ResponseWriter, r *http.Request) {
	var given struct{ Code string }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostSent)).Decode(&given)
	l := s.labelling
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || l.code == "" || !equal(given.Code, l.code) {
		refuse(w, http.StatusForbidden, "the code of the address was used already, or is another one")
		return
	}
	l.code = ""
	answer(w, map[string]string{"token": l.token}, nil)
}

type opinion struct {
	Who     string `json:"who"`
	Label   string `json:"label"`
	Comment string `json:"comment"`
	At      string `json:"at"`
	Own     bool   `json:"own"` // by the person who labels here
}

type opinions struct {
	Hash    string    `json:"hash"`    // of the answer; a new label must repeat it
	Closed  string    `json:"closed"`  // why the answer takes no label; "" when it does
	Problem string    `json:"problem"` // with reading the labels of the suite
	Labels  []opinion `json:"labels"`
}

// answerOf reads the trial of a request. It refuses if the run was read again since the page loaded,
// because the page may show another answer.
func (s *Server) answerOf(w http.ResponseWriter, r *http.Request) (result *eval.Result, closed string, ok bool) {
	one, ok := s.found(w, r.PathValue("run"))
	if !ok {
		return nil, "", false
	}
	err := s.using(r, one, func(opened *openRun) (err error) {
		at, ok := opened.doc.Find(r.PathValue("trial"))
		if !ok {
			return errNoTrial
		}
		if result, err = opened.doc.Trial(at); err == nil {
			closed = s.labelling.closed(opened.doc, result)
		}
		return err
	})
	if err != nil {
		answer(w, nil, err)
	}
	return result, closed, err == nil
}

var errNoTrial = errors.New("the run has no such trial")

func (l *labelling) closed(d *journal.Document, r *eval.Result) string {
	return cmp.Or(closedTrial(r), l.closedRun(d))
}

// closedTrial says why an answer takes no label in any run, "" when it does.
func closedTrial(r *eval.Result) string {
	_, badName := labels.FileName(r.Suite)
	hash := labels.HashOf(r.Response, r.Calls)
	switch {
	case r.Response == nil:
		return "there is no answer to label"
	case hash == "":
		return "the tool calls of the answer were not kept, so that labels cannot name it"
	case r.CaseID == "":
		return "the run file does not say which case this is"
	case badName != nil:
		return badName.Error()
	}
	return ""
}

// closedRun says why none of the answers of a run take a label, "" when they do.
func (l *labelling) closedRun(d *journal.Document) string {
	switch {
	case !l.keys.Signed(d):
		return "this run was not made here, and labels are for your own runs: EVALRUN_TRUST_KEY lets machines share them"
	case d.Run.Options().Untrusted:
		return "the suite of this run is untrusted, and labels are for your own"
	}
	return ""
}

func (s *Server) readLabels(w http.ResponseWriter, r *http.Request) {
	if result, closed, ok := s.answerOf(w, r); ok {
		answer(w, s.opinionsOf(result, closed), nil)
	}
}

func (s *Server) opinionsOf(r *eval.Result, closed string) opinions {
	out := opinions{Hash: labels.HashOf(r.Response, r.Calls), Closed: closed, Labels: []opinion{}}
	if _, err := labels.FileName(r.Suite); err != nil || out.Hash == "" {
		return out
	}
	file, err := labels.Read(s.options.Dir.Abs(""), r.Suite)
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	if err := file.Err(); err != nil {
		out.Problem = err.Error()
	}
	key, _ := labels.KeyOf(r)
	for _, l := range file.Of(key) {
		out.Labels = append(out.Labels, opinion{l.Who, l.Label, l.Comment, l.At, l.Who == s.labelling.who})
	}
	return out
}

type sent struct {
	Hash    string `json:"hash"` // of the answer that the person saw
	Label   string `json:"label"`
	Comment string `json:"comment"`
}

// mostSent bounds the body of a request, in bytes.
const mostSent = 1 << 16

// writeLabel adds a label to the file of the suite, and answers with all labels of that answer.
func (s *Server) writeLabel(w http.ResponseWriter, r *http.Request) {
	if !equal(r.Header.Get(tokenHeader), s.labelling.token) {
		refuse(w, http.StatusForbidden, "this page may not label: open the address that evalrun view --label printed when it started")
		return
	}
	given, err := readSent(http.MaxBytesReader(w, r.Body, mostSent))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	result, closed, ok := s.answerOf(w, r)
	if !ok {
		return
	}
	key, _ := labels.KeyOf(result)
	switch {
	case closed != "":
		refuse(w, http.StatusForbidden, closed)
		return
	case given.Hash != key.AnswerHash:
		refuse(w, http.StatusConflict, "the trial has another answer than the one that you saw: reload the page")
		return
	}
	if err := s.append(r.Context(), result, given); err != nil {
		refuse(w, http.StatusInternalServerError, "the label was not written: "+err.Error())
		return
	}
	answer(w, s.opinionsOf(result, closed), nil)
}

func readSent(body io.Reader) (*sent, error) {
	var out sent
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &out); err != nil || !utf8.Valid(data) {
		return nil, errors.New("a label is an object with hash, label and comment")
	}
	switch {
	case out.Label != labels.Pass && out.Label != labels.Fail && out.Label != labels.None:
		return nil, errors.New("a label is pass, fail, or empty")
	case len(out.Comment) > labels.MaxComment:
		return nil, fmt.Errorf("the comment has %d bytes; it may have %d", len(out.Comment), labels.MaxComment)
	}
	return &out, nil
}

// append writes nothing once the reader has disconnected.
func (s *Server) append(ctx context.Context, r *eval.Result, given *sent) error {
	if ctx.Err() != nil {
		return errGone
	}
	lock, err := s.options.Dir.Lock("labels")
	if err != nil {
		return err
	}
	return labels.Append(s.options.Dir.Abs(""), lock, &labels.Label{
		Suite:      r.Suite,
		Case:       r.Case,
		CaseID:     r.CaseID,
		Arm:        r.Arm,
		Repeat:     r.Repeat,
		AnswerHash: given.Hash,
		Label:      given.Label,
		Comment:    strings.TrimSpace(given.Comment),
		Who:        s.labelling.who,
		At:         time.Now().UTC().Format(time.RFC3339),
	})
}

// labelledTrials lists trials by their index in the plan: Yes has labelled trials, and No the trials that
// still need a label. Trials that take no label are in neither list.
type labelledTrials struct {
	Yes []int `json:"yes"`
	No  []int `json:"no"`
}

// listLabelled answers with the trials of a run that the current person has labelled.
func (s *Server) listLabelled(w http.ResponseWriter, r *http.Request) {
	one, ok := s.found(w, r.PathValue("run"))
	if !ok {
		return
	}
	var out *labelledTrials
	err := s.using(r, one, func(opened *openRun) (err error) {
		out, err = s.labelling.labelled(opened.doc, s.options.Dir.Abs(""))
		return err
	})
	answer(w, out, err)
}

// labelled reads all trials, because equal answers share their labels.
func (l *labelling) labelled(d *journal.Document, dir string) (*labelledTrials, error) {
	out := &labelledTrials{Yes: []int{}, No: []int{}}
	if l.closedRun(d) != "" {
		return out, nil
	}
	files := map[string]*labels.File{}
	for r, err := range d.Trials() {
		if err != nil || closedTrial(r) != "" { // the page has no row for a damaged trial
			continue
		}
		file := files[r.Suite]
		if file == nil {
			if file, err = labels.Read(dir, r.Suite); err != nil {
				return nil, err
			}
			files[r.Suite] = file
		}
		if l.hasLabelled(file, r) {
			out.Yes = append(out.Yes, r.N)
		} else {
			out.No = append(out.No, r.N)
		}
	}
	return out, nil
}

// hasLabelled ignores the label "none", which withdraws an earlier one.
func (l *labelling) hasLabelled(file *labels.File, r *eval.Result) bool {
	key, _ := labels.KeyOf(r)
	for _, one := range file.Of(key) {
		if one.Who == l.who && one.Label != labels.None {
			return true
		}
	}
	return false
}
