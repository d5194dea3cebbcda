package rundir

import (
	"bytes"
	"cmp"
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
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// baselinesFile has the names of baselines. Users should commit it.
const baselinesFile = "baselines.json"

type baseline struct {
	Run   string `json:"run"`  // its id
	Path  string `json:"path"` // of the run directory or the exported file, relative to the file with the names
	SetAt string `json:"setAt"`
	// Partial says that the user named a run of a part of its suites by --partial.
	Partial bool `json:"partial,omitempty"`

	Outcomes []eval.Outcomes `json:"outcomes,omitempty"` // of the run
	Before   []baseline      `json:"before,omitempty"`   // its predecessors, the oldest first; they have no path
}

// names is the file with the names of baselines. Acknowledged is a list under the key drift, where each baseline is an object.
type names struct {
	baselines    map[string]baseline
	acknowledged []Acknowledgement
}

// acknowledgedKey is the key of the acknowledgements among the names of baselines.
const acknowledgedKey = "drift"

func (n *names) UnmarshalJSON(data []byte) error {
	n.baselines = map[string]baseline{} // also where the file is the JSON value null
	var all map[string]json.RawMessage
	err := json.Unmarshal(data, &all)
	for name, one := range all {
		if name == acknowledgedKey && bytes.HasPrefix(one, []byte("[")) {
			err = errors.Join(err, json.Unmarshal(one, &n.acknowledged))
			continue
		}
		var b baseline
		err = errors.Join(err, json.Unmarshal(one, &b))
		n.baselines[name] = b
	}
	return err
}

func (n *names) MarshalJSON() ([]byte, error) {
	all := map[string]any{}
	for name, b := range n.baselines {
		all[name] = b
	}
	if len(n.acknowledged) > 0 {
		all[acknowledgedKey] = n.acknowledged
	}
	return json.Marshal(all)
}

func (d Dir) names() (*names, error) {
	if err := d.unlinked(baselinesFile); err != nil {
		return nil, err
	}
	data, err := files.ReadFile(d.Join(baselinesFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &names{baselines: map[string]baseline{}}, nil
	}
	all := &names{}
	if err == nil {
		err = json.Unmarshal(data, all)
	}
	if err != nil {
		return nil, eval.BadInput("%s cannot be read: %w", baselinesFile, files.InWords(err))
	}
	for name, b := range all.baselines {
		if b.Path == "" {
			return nil, eval.BadInput(
				"%s: the baseline %s has no path; name it again: evalrun baseline set %s RUN", baselinesFile, name, name,
			)
		}
	}
	return all, nil
}

// Baselines reads the named baselines; none if the file is missing.
func (d Dir) Baselines() (map[string]baseline, error) {
	all, err := d.names()
	if err != nil {
		return nil, err
	}
	return all.baselines, nil
}

func checkBaselineName(name string) error {
	if name == latest {
		return eval.BadInput("invalid baseline name: latest is the newest run below %s; choose another one, such as main", Runs)
	}
	if name == acknowledgedKey {
		return eval.BadInput(
			"invalid baseline name: %s keeps acknowledged alarms as %s; choose another one, such as main", baselinesFile, acknowledgedKey,
		)
	}
	if !baselineName.MatchString(name) {
		return eval.BadInput("invalid baseline name %q: use letters, digits, dot, dash and underscore", name)
	}
	return nil
}

// SetBaseline names a run. Only partial allows one of a part of its suites.
func (d Dir) SetBaseline(name, run string, partial bool) (*baseline, error) {
	if err := checkBaselineName(name); err != nil {
		return nil, err
	}
	doc, err := d.Open(run)
	if err != nil {
		return nil, err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	part := partOf(doc)
	switch {
	case part == "" || doc.Running || doc.End.Waits() || len(doc.Stops) > 0 || doc.Summary.Counts.Ran() == 0:
		err = Usable(doc, run)
	case !partial:
		err = eval.BadInput(
			"the run %s %s, and a baseline needs all cases of its suites: run it again without that, or name it all the same by --partial",
			run, part,
		)
	}
	if err != nil {
		return nil, err
	}
	all, err := d.names()
	if err != nil {
		return nil, err
	}
	path := doc.Path()
	if rel, err := filepath.Rel(d.Abs(""), Dir{}.Abs(path)); err == nil && !strings.HasPrefix(rel, "..") {
		path = rel
	}
	b := baseline{Run: doc.Run.ID, Path: filepath.ToSlash(path), SetAt: time.Now().UTC().Format(time.RFC3339)}
	b.Partial = part != ""
	if b.Outcomes, err = outcomesOf(doc); err != nil {
		return nil, eval.BadInput("the run %s cannot be read: %w", run, err)
	}
	d.succeed(&b, all.baselines[name])
	all.baselines[name] = b
	return &b, d.write(all)
}

func (d Dir) write(all *names) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = files.Write(d.Join(baselinesFile), 0o644, func(w io.Writer) error { _, err := w.Write(append(data, '\n')); return err })
	}
	if err != nil {
		return eval.BadInput("%s cannot be written: %w", baselinesFile, err)
	}
	return nil
}

// partOf says what made a run one of a part of its suites, "" when it ran all of them.
func partOf(d *journal.Document) string {
	words := text.Selection(d.Run.Options())
	switch {
	case d.Run.Plan.Shard != nil:
		return fmt.Sprintf("is shard %d of %d", d.Run.Plan.Shard.Index, d.Run.Plan.Shard.Of)
	case words != "":
		return "ran only the selection " + words
	case d.Partial():
		return "is not complete"
	}
	return ""
}

// Usable says why a run cannot be a baseline.
func Usable(d *journal.Document, name string) error {
	switch {
	case d.Running:
		return eval.BadInput("the run %s is still in progress", name)
	case d.Waits() != nil:
		return eval.BadInput("the run %s waits for its batches; to continue: evalrun resume %s", name, text.ShellWord(name))
	case d.Edited() != nil:
		return EditedBaseline(name, d.Edited())
	case d.Raced():
		return eval.BadInput("some arms left a race in the run %s: a baseline needs all of its cases", name)
	case len(d.Stops) > 0:
		return eval.BadInput("the run %s stopped early, once its verdict was known: a baseline needs all of its cases", name)
	case d.Partial():
		return eval.BadInput("the run %s is not complete; a baseline that lacks trials compares with nothing", name)
	case d.Summary.Counts.Ran() == 0:
		return eval.BadInput("the run %s is blank: no trial ran", name)
	}
	return nil
}

// EditedBaseline says what to do about a baseline file that was edited.
func EditedBaseline(name string, why error) error {
	return eval.BadInput("the baseline %s cannot be used: %w; restore the file, or export the run again", name, why)
}

// OpenBaseline opens a baseline; FindBaseline explains name. The caller closes it.
func (d Dir) OpenBaseline(name string, how ...journal.Reading) (*journal.Document, error) {
	path, err := d.FindBaseline(name)
	if err != nil {
		return nil, eval.BadInput("%w", err)
	}
	doc, err := d.Open(path, how...)
	if err == nil && filepath.Base(doc.Path()) != journal.FileName && doc.Edited() != nil { // a run shows what is damaged itself
		err = EditedBaseline(name, doc.Edited())
		_ = doc.Close() // it was only read
		return nil, err
	}
	return doc, err
}

// FindBaseline returns the path of a named baseline, a run by id or directory, or an exported file.
func (d Dir) FindBaseline(name string) (path string, err error) {
	named, err := d.Baselines()
	if err != nil {
		return "", err
	}
	if b, ok := named[name]; ok {
		path = d.Join(filepath.FromSlash(b.Path))
		if d.untrusted && !filepath.IsLocal(filepath.FromSlash(b.Path)) {
			return "", fmt.Errorf(
				"the baseline %s of %s is outside this folder: with --untrusted, name the run itself", name, baselinesFile,
			)
		}
		if err := d.unlinked(path); err != nil {
			return "", err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf(
				"the run of the baseline %s is not on this machine (%s); on one that has it, `evalrun baseline export %s -o %s.jsonl` "+
					"writes a file to name instead", name, b.Path, name, name,
			)
		}
		return path, nil
	}
	path = d.Path(name)
	if err := d.unlinked(path); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if s, ok := eval.ParseSelector(name); ok {
		return "", fmt.Errorf("there is no run %s below %s%s", name, Runs, d.selectorHint(s))
	}
	if _, ok := fromLatest(name); ok {
		return "", d.NoRun(name)
	}
	return "", fmt.Errorf("there is no baseline, run or file %s%s", name, d.baselineHint(name, named))
}

// FindCompared is FindBaseline for the baseline of a gate: a selector or `latest` passes over runs that wait for their batches.
func (d Dir) FindCompared(name string) (path string, err error) {
	path, err = d.FindBaseline(name)
	if err != nil || !journal.EndedWaiting(path) {
		return path, err
	}
	var older []string
	if s, ok := eval.ParseSelector(name); ok {
		s.Latest = false // of those that match, this takes all
		older = d.Select([]eval.Selector{s})
	} else if _, ok := fromLatest(name); ok {
		for _, id := range d.IDs() {
			older = append(older, filepath.Join(d.Join(Runs), id))
		}
	}
	for _, dir := range slices.Backward(older[:max(0, slices.Index(older, path))]) {
		if !journal.EndedWaiting(dir) {
			return dir, nil
		}
	}
	return path, nil
}

// BaselineDiffers says what of a named baseline is different in the work tree than in a commit; "" for nothing, and for files
// that git does not keep.
func (d Dir) BaselineDiffers(name, commit string) string {
	named, _ := d.Baselines() // FindBaseline reports the error
	at := files.Git{Dir: d.Abs(""), Ref: commit, Filtered: !d.untrusted}
	if at.Changed(baselinesFile) {
		was := map[string]baseline{}
		data, _ := fs.ReadFile(at, baselinesFile) // none without the file
		_ = json.Unmarshal(data, &was)
		if was[name].Run != named[name].Run || was[name].Path != named[name].Path {
			return "the baseline " + name + " is another one"
		}
	}
	path, err := d.FindBaseline(name)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, journal.FileName)
	}
	at.Dir = filepath.Dir(path)
	if at.Changed(filepath.Base(path)) {
		return "the baseline file of " + name + " is another one"
	}
	return ""
}

// unlinked returns an error for a link on the way to a file if suites are untrusted.
func (d Dir) unlinked(path string) error {
	if link := files.Link(d.Abs(""), d.Join(path)); d.untrusted && link != "" {
		return eval.BadInput("%s is a link, which is not followed with --untrusted: name the run itself", link)
	}
	return nil
}

func (d Dir) baselineHint(name string, named map[string]baseline) string {
	path := d.Join(name)
	isFile := filepath.Ext(name) == ".jsonl" || strings.ContainsAny(name, `/\`)
	switch {
	case isFile:
		folder, _ := os.ReadDir(filepath.Dir(path)) // an unreadable folder gives no hint
		return diag.NearestFile(filepath.Base(path), folder) + "; files are looked for from the working directory on"
	case !baselineName.MatchString(name):
		return "; `evalrun history` lists the runs"
	case len(named) == 0:
		return "; no baseline has a name yet: evalrun baseline set " + name + " RUN (`evalrun help compare#gate-on-a-baseline`)"
	}
	return "; " + cmp.Or(diag.DidYouMean(name, slices.Collect(maps.Keys(named))), "`evalrun baseline list` lists them")
}

var baselineName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// maxFile bounds the small files of a folder, in bytes.
const maxFile = 64 << 20
