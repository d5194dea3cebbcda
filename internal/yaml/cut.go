package yaml

import (
	"bytes"
	"iter"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/diag"
)

// Cutting says which list of a file to parse in pieces. The zero Cutting parses the file as a whole.
type Cutting struct {
	Key   string // key of the list, at the top level
	From  int    // smallest list to cut, in bytes
	Piece int    // smallest piece, in bytes, except the last one; starting a parser costs as much as a few items
}

// Parse is like the function Parse, for a file with a long list under the key. It cuts the list into
// pieces, which Node.Each parses one after the other, so that the items are never in memory together. It
// cuts nothing if a piece on its own could mean something else. Problems inside a piece appear only when it
// is read; see Node.Broken.
func (of Cutting) Parse(file string, src []byte, diags *diag.List) (Node, bool) {
	d := &doc{file: file, src: src, diags: diags}
	src, ok := d.bounded()
	if !ok {
		return Node{}, false
	}
	if c := of.cut(src); c != nil {
		if root, ok := d.around(c); ok {
			return root, true
		}
	}
	return d.parse(src)
}

// Each yields the items of a list, like Seq. If the list was cut, Each parses the pieces as it goes.
func (n Node) Each() iter.Seq[Node] {
	if c := n.cut(); c != nil {
		return c.each(n.d)
	}
	return slices.Values(n.Seq())
}

// Broken reports whether a piece could not be parsed on its own, so that Each omitted items. Only parsing
// the whole file shows the problem.
func (n Node) Broken() bool { return n.IsCut() && n.d.cut.broken }

// IsCut reports whether the value belongs to a file whose list was cut.
func (n Node) IsCut() bool { return n.d != nil && n.d.cut != nil }

// cut returns the pieces of the value; nil unless it is a list that was cut.
func (n Node) cut() *cut {
	if n.y == nil || n.d.cut == nil || n.d.cut.list != n.y {
		return nil
	}
	return n.d.cut
}

// cut is a list in block style whose items are not parsed yet.
type cut struct {
	Cutting
	src       []byte
	keyLine   int
	first     int // offset of the first line of the list
	firstLine int
	end       int // offset of the first line after the list
	indent    int // columns before each item
	pieces    []itemRun
	list      *yaml.Node // placeholder for the list in the tree
	broken    bool
}

// itemRun is a run of items of a list that was cut.
type itemRun struct {
	start, end int // offsets in bytes
	line       int // first line, counted from 1
	items      int
}

// cut divides the list under the key into pieces. It returns nil if the file must be parsed as a whole.
func (of Cutting) cut(src []byte) *cut {
	if of.Key == "" || len(src) < of.From || !plainLines(src) {
		return nil
	}
	s := lineCutter{cut: cut{Cutting: of, src: src}}
	for s.next() {
		if string(bytes.TrimRight(s.text, " \r\n")) != of.Key+":" {
			continue
		}
		s.keyLine = s.line
		if s.items() && s.end-s.first >= of.From {
			return &s.cut
		}
		return nil
	}
	return nil
}

// plainLines reports whether the file has only the line breaks that this package counts. YAML has more.
func plainLines(src []byte) bool {
	for _, other := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(src, []byte(other)) {
			return false
		}
	}
	return bytes.Count(src, []byte("\r")) == bytes.Count(src, []byte("\r\n"))
}

// lineCutter reads a file line by line.
type lineCutter struct {
	cut
	text []byte // the current line, with its line break
	at   int    // offset of the line
	line int    // number of the line, counted from 1
}

func (s *lineCutter) next() bool {
	s.at += len(s.text)
	s.line++
	end := bytes.IndexByte(s.src[s.at:], '\n') + 1
	if end == 0 {
		end = len(s.src) - s.at
	}
	s.text = s.src[s.at : s.at+end]
	return end > 0
}

// Roles of a line in a list.
const (
	inItem = iota // belongs to the previous item
	newItem
	behind  // comes after the list
	strange // has a form that is not cut
)

// items divides the lines after the key into pieces. It returns false if they are not a plain list.
func (s *lineCutter) items() bool {
	s.first = -1
	for s.next() {
		switch s.sort() {
		case newItem:
			if n := len(s.pieces); n == 0 || s.at-s.pieces[n-1].start >= s.Piece {
				s.close()
				s.pieces = append(s.pieces, itemRun{start: s.at, line: s.line})
			}
			s.pieces[len(s.pieces)-1].items++
		case behind:
			s.close()
			return s.first >= 0
		case strange:
			return false
		}
	}
	s.close()
	return s.first >= 0
}

// close ends the last piece before the current line.
func (s *lineCutter) close() {
	s.end = s.at
	if n := len(s.pieces); n > 0 {
		s.pieces[n-1].end = s.at
	}
}

func (s *lineCutter) sort() int {
	rest := bytes.TrimLeft(s.text, " ")
	indent := len(s.text) - len(rest)
	rest = bytes.TrimRight(rest, "\r\n")
	if len(rest) == 0 || rest[0] == '#' {
		return inItem
	}
	dash := rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ')
	if dash && s.first < 0 {
		s.first = s.at
		s.firstLine = s.line
		s.indent = indent
	}
	switch {
	case s.first < 0 || rest[0] == '\t':
		return strange
	case indent > s.indent:
		return inItem
	case indent == s.indent && dash:
		return newItem
	case indent == 0 && rest[0] != '-' && rest[0] != '.': // but not the end of a document
		return behind
	}
	return strange
}

// around parses the file with a single empty item instead of the list.
func (d *doc) around(c *cut) (Node, bool) {
	dash := c.first + c.indent + 1
	lines := bytes.Count(c.src[dash:c.end], []byte("\n"))
	src := slices.Concat(c.src[:dash], bytes.Repeat([]byte("\n"), lines), c.src[c.end:])
	root, err := decode(src)
	if err != nil || root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
		return Node{}, false
	}
	quiet := *d
	quiet.diags = &diag.List{}
	if check := (nodeChecker{doc: &quiet}); !check.check(root.Content[0], 0, false) || !c.isIn(root.Content[0]) {
		return Node{}, false
	}
	c.list.Content = nil
	d.cut = c
	return Node{root.Content[0], d}, true
}

// isIn finds the placeholder of the list in the parsed file. It must be where the list was cut out, and
// nowhere else.
func (c *cut) isIn(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, list := root.Content[i], root.Content[i+1]
		if key.Value != c.Key {
			continue
		}
		if c.list != nil || key.Line != c.keyLine || !c.begins(list, c.firstLine) {
			return false
		}
		if len(list.Content) != 1 || list.Content[0].Tag != "!!null" {
			return false
		}
		c.list = list
	}
	return c.list != nil
}

// begins reports whether a value is a list in block style that begins on a line, in the column of the list
// that was cut.
func (c *cut) begins(list *yaml.Node, line int) bool {
	inBlock := list.Kind == yaml.SequenceNode && list.Style == 0 && list.Anchor == ""
	return inBlock && list.Line == line && list.Column == c.indent+1
}

// ahead is the number of pieces to parse in advance. More than the number of processors would not help.
const ahead = 2

// each yields the items, and parses some pieces in advance.
func (c *cut) each(d *doc) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for items := range c.parsed() {
			for _, item := range items {
				if !yield(Node{item, d}) {
					return
				}
			}
		}
	}
}

// parsed yields the items of each piece, up to the first piece that cannot be parsed.
func (c *cut) parsed() iter.Seq[[]*yaml.Node] {
	return func(yield func([]*yaml.Node) bool) {
		var begun []chan []*yaml.Node // in the order of the pieces
		for next := range len(c.pieces) + ahead {
			if next < len(c.pieces) {
				done := make(chan []*yaml.Node, 1) // buffered: the consumer may have stopped
				begun = append(begun, done)
				go func() { done <- c.read(c.pieces[next]) }()
			}
			if next < ahead {
				continue
			}
			items := <-begun[0]
			if begun = begun[1:]; items == nil {
				c.broken = true
				return
			}
			if !yield(items) {
				return
			}
		}
	}
}

// read parses a piece and corrects the line numbers of its nodes. It returns nil if the piece cannot be
// parsed on its own.
func (c *cut) read(p itemRun) (items []*yaml.Node) {
	root, err := decode(c.src[p.start:p.end])
	if err != nil || root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
		return nil
	}
	list := root.Content[0]
	if !c.begins(list, 1) || len(list.Content) != p.items {
		return nil
	}
	check := nodeChecker{doc: &doc{diags: &diag.List{}}, cut: true, below: p.line - 1}
	if !check.check(list, 1, false) {
		return nil
	}
	return list.Content
}
