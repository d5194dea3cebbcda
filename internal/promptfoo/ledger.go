package promptfoo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// status is what has become of a key.
type status int

const (
	statusOK status = iota + 1
	statusDiffers
	statusTODO
	statusIgnored
)

// word is the status as the report has it.
func (s status) word() string {
	return [...]string{"", "imported", "imported with a difference", "not expressible", "ignored by promptfoo itself"}[s]
}

// fate is what has become of a key and of all below it that says nothing else.
type fate struct {
	status status
	note   string
}

// line is one key of the source in the report.
type line struct {
	path  string
	file  string // "" for the configuration itself
	at    int    // its line in its file, 0 when there is none
	fate  fate
	order int
}

// ledger keeps the fates of keys by their paths.
type ledger struct {
	fates map[string]fate
	lines []line
	known map[string]bool // paths with a line
}

func newLedger() *ledger { return &ledger{fates: map[string]fate{}, known: map[string]bool{}} }

// set records a fate. A worse one is never replaced by a better one, so that two readers of a key cannot hide what
// one of them lost.
func (l *ledger) set(path string, s status, note string) {
	was, there := l.fates[path]
	if there && s < was.status {
		return
	}
	if there && s == was.status && was.note != "" && !strings.Contains(was.note, note) {
		note = was.note + "; " + note
	}
	l.fates[path] = fate{s, cmp.Or(note, was.note)}
}

// src is a value of the source with its path.
type src struct {
	yamlnode.Node
	path string
	file string
	l    *ledger
}

func (s src) child(n yamlnode.Node, path string) src { return src{n, path, s.file, s.l} }

// get is the value of a key, absent when it is not there.
func (s src) get(key string) src {
	if !s.IsMapping() {
		return s.child(yamlnode.Node{}, s.join(key))
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

// named is a value with the key that holds it.
type named struct {
	key string
	src
}

// entries are the pairs of a mapping in their order.
func (s src) entries() []named {
	if !s.IsMapping() {
		return nil
	}
	var out []named
	for e := range s.Map().Entries() {
		out = append(out, named{e.Name(), s.child(e.Value, s.join(e.Name()))})
	}
	return out
}

// items are those of a list; of anything else the value itself.
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

// text is a scalar as JavaScript would print it, "" for anything else.
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
		s.l.set(s.path, st, note)
	}
}

// listed is ok for a list, whose items say themselves what becomes of them.
func (s src) listed(note string) {
	if s.IsSequence() {
		s.ok(note)
	}
}

// why is a TODO comment for a value that has no counterpart.
func (s src) why() []string {
	if f := s.l.fates[s.path]; f.status == statusTODO {
		return []string{"TODO: " + f.note}
	}
	return nil
}

// seen reports whether the key has a fate already.
func (s src) seen() bool {
	_, there := s.l.fates[s.path]
	return there
}

// commonKeys are keys of promptfoo that are often written, and may be misspelled.
var commonKeys = []string{
	"assert", "config", "defaultTest", "description", "options", "prompts", "providers", "tests", "threshold", "transform", "type", "value",
	"vars",
}

// rest gives the keys of a mapping that nothing has looked at a fate: keys that promptfoo knows are not expressible,
// and promptfoo ignores the others itself.
func (s src) rest(known ...string) {
	for _, e := range s.entries() {
		switch {
		case e.seen():
		case e.key == "$ref": // promptfoo fills references in everywhere
			e.todo("write out what it refers to")
		case slices.Contains(known, e.key):
			e.todo("a suite has nothing for it")
		default:
			note := "promptfoo has no such key here"
			if near := diag.Nearest(e.key, slices.Concat(known, commonKeys), 1); len(near) > 0 {
				note += fmt.Sprintf("; did you mean `%s`?", near[0])
			}
			e.ignored("%s", note)
		}
	}
}

// account makes the lines of a document: one for each key, and one for each item of a list that is no mapping.
func (l *ledger) account(s src) {
	l.visit(s, fate{statusTODO, "evalrun import does not read it"})
}

func (l *ledger) visit(s src, above fate) {
	if own, there := l.fates[s.path]; there {
		above = own
	}
	for _, e := range s.entries() {
		here := l.fateOf(e.path, above)
		l.line(e.src, here)
		l.visit(e.src, here)
	}
	if !s.IsSequence() {
		return
	}
	for _, item := range s.items() {
		here := l.fateOf(item.path, above)
		if _, own := l.fates[item.path]; own || !item.IsMapping() {
			l.line(item, here)
		}
		l.visit(item, here)
	}
}

func (l *ledger) fateOf(path string, above fate) fate {
	if own, there := l.fates[path]; there {
		return own
	}
	return above
}

func (l *ledger) line(s src, f fate) {
	l.add(line{path: s.path, file: s.file, at: s.Pos().Line, fate: f})
}

func (l *ledger) add(n line) {
	if l.known[n.path] {
		return
	}
	l.known[n.path] = true
	n.order = len(l.lines)
	l.lines = append(l.lines, n)
}

// counts is the number of lines by status.
func (l *ledger) counts() map[status]int {
	out := map[status]int{}
	for _, n := range l.lines {
		out[n.fate.status]++
	}
	return out
}

// leftOver are TODO comments for keys that the suite cannot express and has no comment about at their place.
func (l *ledger) leftOver(suite string) []byte {
	var order []string
	paths := map[string][]string{}
	for _, n := range l.lines {
		if n.fate.status != statusTODO || strings.Contains(suite, diag.CleanLine(n.fate.note)) {
			continue
		}
		if paths[n.fate.note] == nil {
			order = append(order, n.fate.note)
		}
		paths[n.fate.note] = append(paths[n.fate.note], "`"+n.path+"`")
	}
	var w writer
	for _, note := range order {
		in := paths[note]
		if more := len(in) - mostNamed; more > 0 {
			in = append(in[:mostNamed:mostNamed], fmt.Sprintf("%d more", more))
		}
		w.comments(0, []string{"TODO: " + strings.Join(in, ", ") + ": " + note})
	}
	return []byte(w.String())
}

// mostNamed is how many keys one comment names.
const mostNamed = 5

// below reports whether a key is inside of another one, with the same fate.
func (n line) below(of line) bool {
	return of.path != "" && n.file == of.file && n.fate == of.fate &&
		(strings.HasPrefix(n.path, of.path+".") || strings.HasPrefix(n.path, of.path+"["))
}

// words is a line as the report has it.
func (n line) words() string {
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
