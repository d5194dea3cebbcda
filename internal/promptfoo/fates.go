package promptfoo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// status says what the import did with a key.
type status int

const (
	statusOK status = iota + 1
	statusDiffers
	statusTODO
	statusIgnored
)

func (s status) word() string {
	return [...]string{"", "imported", "imported with a difference", "not expressible", "ignored by promptfoo itself"}[s]
}

// fate is the status of a key. It also applies to keys below that have none.
type fate struct {
	status status
	note   string
}

type fateLine struct {
	path string
	file string // "" for the configuration
	at   int    // line in the file, 0 if unknown
	fate fate
}

// fates collects what became of each key of the source (see fate), and the lines of the report about it.
type fates struct {
	byPath map[string]fate
	lines  []fateLine
	listed map[string]bool // paths that have a line

	secrets *secrets // of the whole source
	work    int      // keys, tests and checks so far
	most    int      // maxWork, or less in a test
}

// maxWork bounds the keys, tests and checks of an import: references and scenarios multiply them.
const maxWork = 100_000

// spend counts work, and reports whether more may follow.
func (l *fates) spend(n int) bool {
	l.work += n
	return l.work <= l.most
}

func newFates(of *secrets) *fates {
	return &fates{byPath: map[string]fate{}, listed: map[string]bool{}, secrets: of, most: maxWork}
}

// set records a fate. It never replaces a worse one by a better one, so that a second reader of a key
// cannot hide a loss.
func (l *fates) set(path string, s status, note string) {
	was, there := l.byPath[path]
	if there && s < was.status {
		return
	}
	if there && s == was.status && was.note != "" && !strings.Contains(was.note, note) {
		note = was.note + "; " + note
	}
	l.byPath[path] = fate{s, cmp.Or(note, was.note)}
}

// tooMuch is the error for a configuration that exceeds maxWork; nil for others.
func (l *fates) tooMuch() error {
	if l.spend(0) {
		return nil
	}
	return eval.BadInput("the configuration has more than %d keys, tests and checks, counting what references and scenarios repeat: "+
		"keep the tests in a CSV file, or import them in parts", l.most)
}

type src struct {
	yaml.Node
	path  string
	file  string
	fates *fates
}

func (s src) child(n yaml.Node, path string) src { return src{n, path, s.file, s.fates} }

// get returns the value of a key, and a zero value with the key's path if it is missing.
func (s src) get(key string) src {
	if !s.IsMapping() {
		return s.child(yaml.Node{}, s.join(key))
	}
	return s.child(s.Map().Get(key), s.join(key))
}

func (s src) join(key string) string {
	switch {
	case s.path == "":
		return key
	case strings.HasSuffix(s.path, ":"):
		return s.path + " " + key
	}
	return s.path + "." + key
}

type keyed struct {
	key string
	src
}

func (s src) entries() []keyed {
	if !s.IsMapping() {
		return nil
	}
	var out []keyed
	for e := range s.Map().Entries() {
		out = append(out, keyed{e.Name(), s.child(e.Value, s.join(e.Name()))})
	}
	return out
}

func (s src) items() []src {
	if s.IsZero() {
		return nil
	}
	if !s.IsSequence() {
		return []src{s}
	}
	var out []src
	for i, n := range s.Seq() {
		out = append(out, s.child(n, fmt.Sprintf("%s[%d]", s.path, i)))
	}
	return out
}

// text returns a scalar as JavaScript would print it, "" for other values.
func (s src) text() string {
	if !s.IsScalar() || s.IsNull() {
		return ""
	}
	return jsText(s.Node)
}

func (s src) ok(note string) { s.mark(statusOK, note) }

func (s src) differs(format string, args ...any) { s.mark(statusDiffers, fmt.Sprintf(format, args...)) }

func (s src) todo(format string, args ...any) { s.mark(statusTODO, fmt.Sprintf(format, args...)) }

func (s src) ignored(format string, args ...any) { s.mark(statusIgnored, fmt.Sprintf(format, args...)) }

func (s src) mark(st status, note string) {
	if !s.IsZero() {
		s.fates.set(s.path, st, note)
	}
}

// listed marks a list as imported; each of its items has a status of its own.
func (s src) listed(note string) {
	if s.IsSequence() {
		s.ok(note)
	}
}

// why returns a TODO comment for a value without a counterpart.
func (s src) why() []string {
	if f := s.fates.byPath[s.path]; f.status == statusTODO {
		return []string{"TODO: " + f.note}
	}
	return nil
}

func (s src) note() string { return s.fates.byPath[s.path].note }

func (s src) seen() bool {
	_, there := s.fates.byPath[s.path]
	return there
}

// commonKeys are the keys to which misspellings are compared.
var commonKeys = []string{
	"assert", "config", "defaultTest", "description", "options", "prompts", "providers", "tests", "threshold", "transform", "type", "value",
	"vars",
}

// rest sets the status of keys that no reader handled. Known keys of promptfoo are not expressible; other
// keys are ignored by promptfoo itself.
func (s src) rest(known ...string) {
	s.strangers(known...)
	for _, e := range s.entries() {
		if !e.seen() {
			e.todo("a suite has nothing for it")
		}
	}
}

// strangers sets the status of keys that no reader handled and that promptfoo does not know.
func (s src) strangers(known ...string) {
	for _, e := range s.entries() {
		switch {
		case e.seen() || slices.Contains(known, e.key):
		case e.key == "$ref": // promptfoo resolves references everywhere
			e.todo("write out what it refers to")
		default:
			note := "promptfoo has no such key here"
			near := diag.Nearest(e.key, slices.Concat(known, commonKeys), 1)
			switch {
			case slices.Contains(near, e.key):
				note += ", only in other places"
			case len(near) > 0:
				note += fmt.Sprintf("; did you mean `%s`?", near[0])
			}
			e.ignored("%s", note)
		}
	}
}

// account makes a line for each key of a document, and for each item of a list that is not a mapping.
func (l *fates) account(s src) {
	l.visit(s, fate{statusTODO, "evalrun import does not read it"})
}

func (l *fates) visit(s src, above fate) {
	if own, there := l.byPath[s.path]; there {
		above = own
	}
	for _, e := range s.entries() {
		if !l.spend(1) {
			return
		}
		here := l.fateOf(e.path, above)
		l.line(e.src, here)
		l.visit(e.src, here)
	}
	if !s.IsSequence() {
		return
	}
	for _, item := range s.items() {
		if !l.spend(1) {
			return
		}
		here := l.fateOf(item.path, above)
		if _, own := l.byPath[item.path]; own || !item.IsMapping() {
			l.line(item, here)
		}
		l.visit(item, here)
	}
}

func (l *fates) fateOf(path string, above fate) fate {
	if own, there := l.byPath[path]; there {
		return own
	}
	return above
}

func (l *fates) line(s src, f fate) {
	l.add(fateLine{path: s.path, file: s.file, at: s.Pos().Line, fate: f})
}

func (l *fates) add(n fateLine) {
	if l.listed[n.path] {
		return
	}
	l.listed[n.path] = true
	l.lines = append(l.lines, n)
}

func (l *fates) counts() map[status]int {
	out := map[status]int{}
	for _, n := range l.lines {
		out[n.fate.status]++
	}
	return out
}

// leftOver returns TODO comments for inexpressible keys that no comment of the suite mentions.
func (l *fates) leftOver(suite string) []byte {
	var order []string
	paths, seen := map[string][]string{}, map[string]bool{}
	comments, searches := map[string]bool{}, 0
	for line := range strings.Lines(suite) {
		if _, comment, is := strings.Cut(line, "# TODO: "); is {
			comments[strings.TrimSpace(comment)] = true
		}
	}
	mentioned := func(note string) bool {
		if comments[note] {
			return true
		}
		searches++ // each goes through the whole suite
		return searches <= maxSearches && strings.Contains(suite, note)
	}
	for _, n := range l.lines {
		if n.fate.status != statusTODO {
			continue
		}
		note := n.fate.note
		if !seen[note] {
			seen[note] = true
			if len(order) <= mostNotes && !mentioned(diag.CleanLine(note)) {
				order = append(order, note)
			}
		}
		paths[note] = append(paths[note], "`"+n.path+"`")
	}
	var w writer
	for _, note := range order[:min(len(order), mostNotes)] {
		in := paths[note]
		if more := len(in) - mostNamed; more > 0 {
			in = append(in[:mostNamed:mostNamed], fmt.Sprintf("%d more", more))
		}
		w.comments(0, []string{"TODO: " + strings.Join(in, ", ") + ": " + note})
	}
	if len(order) > mostNotes {
		w.comments(0, []string{"TODO: " + ReportFile + " has more keys that a suite cannot express"})
	}
	return []byte(w.String())
}

// mostNotes bounds the comments at the end of a suite, and maxSearches the notes that are looked for in all of it.
const (
	mostNotes   = 200
	maxSearches = 1000
)

// mostNamed bounds the keys in one comment.
const mostNamed = 5

func (n fateLine) below(of fateLine) bool {
	return of.path != "" && n.file == of.file && n.fate == of.fate &&
		(strings.HasPrefix(n.path, of.path+".") || strings.HasPrefix(n.path, of.path+"["))
}

func (n fateLine) words() string {
	out := fmt.Sprintf("- `%s`", strings.ReplaceAll(diag.CleanLine(n.path), "`", "'"))
	if n.at > 0 {
		out += fmt.Sprintf(" (line %d)", n.at)
	}
	out += ": " + n.fate.status.word()
	if n.fate.note != "" {
		out += ": " + diag.CleanLine(n.fate.note)
	}
	return out
}
