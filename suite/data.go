package suite

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// rows describes the data files of a definition, in which each row is a case. They are read again for each use.
type rows struct {
	node      yaml.Node // value of `dataset`
	files     []string  // paths relative to the suite's folder
	format    dataset.FileFormat
	separator rune
	columns   []string   // for tables without a header; nil means that the header names them
	path      *expr.Rows // selects the rows of JSON; nil means that the file is a list of rows
	scorers   string     // name of the column with scorers; "" for none
	scorersAt yaml.Node
	where     *filter
	limit     int // 0 means all rows
	sample    int // 0 means all rows
	seed      uint64
	chosen    map[int]bool // indices of the rows that sample chose
}

type row struct {
	of   *rows
	vars eval.Dict
	pos  diag.Pos
	n    int  // index among the rows of all files
	lent bool // its `name` comes from an object that encloses it

	badScorers bool // its cell of scorers has a problem
}

// name is the default name of a row's case: its column `name`, or else its file and position.
func (r *row) name() string {
	if name, ok := r.vars["name"].(string); ok && !r.lent && strings.TrimSpace(name) != "" {
		return strings.Join(strings.Fields(name), " ")
	}
	base := unpackedName(path.Base(r.pos.File))
	return fmt.Sprintf("%s %d", strings.TrimSuffix(base, path.Ext(base)), r.n+1)
}

// sizeOf estimates the bytes of a value.
func sizeOf(v eval.Value) (n int) {
	switch v := v.(type) {
	case string:
		n = len(v)
	case eval.Array:
		for _, item := range v {
			n += sizeOf(item)
		}
	case eval.Object:
		for _, m := range v {
			n += len(m.Name) + sizeOf(m.Value)
		}
	case eval.Number:
		n = len(v)
	}
	return n
}

// missing is the message for a missing column. A table is reported as a whole, since all its rows lack the column.
func (r *row) missing(column string) string {
	if r.of.isTable() {
		return fmt.Sprintf("%s has no column `%s`", r.pos.File, column)
	}
	return fmt.Sprintf("the row at %s has no `%s`", r.pos, column)
}

// explainsNoScorers reports whether it is known why the row has no scorer: their column is missing, or its cell has a problem.
func (r *row) explainsNoScorers() bool {
	if r == nil || r.of.scorers == "" {
		return false
	}
	_, there := r.vars[r.of.scorers]
	return !there || r.badScorers
}

func (l *loader) rows(m yaml.Map) *rows {
	n := m.Get("dataset")
	if n.IsZero() {
		for _, key := range datasetKeys() {
			if m.Has(key.Name) {
				m.Key(key.Name).Errorf("write it next to `dataset: FILE`", "`%s` is about a dataset, and the case has none",
					key.Name)
			}
		}
		return nil
	}
	r := &rows{
		node:      n,
		scorers:   m.Get("scorerColumn").Str(),
		scorersAt: m.Get("scorerColumn"),
		limit:     m.Get("limit").Int(1, math.MaxInt32),
		sample:    m.Get("sample").Int(1, maxSample),
		separator: separator(m.Get("separator")),
	}
	r.seed = uint64(m.Get("seed").Int(0, math.MaxInt32)) //nolint:gosec // not negative
	r.format = dataset.FileFormat(m.Get("format").Word(datasetFormats()...))
	if v := m.Get("where"); !v.IsZero() {
		r.where = &filter{node: v}
	}
	r.files = l.dataFiles(n)
	r.columns = columnNames(m.Get("columns"))
	var ok bool
	if r.path, ok = l.rowsPath(m.Get("rows")); !ok {
		r.files = nil // what comes of other rows says nothing
	}
	r.files = slices.DeleteFunc(slices.Clone(r.files), func(file string) bool { return l.refused(r, file) })
	r.checkSelection(m)
	r.checkKeys(m)
	return r
}

func (r *rows) checkSelection(m yaml.Map) {
	if r.limit > 0 && r.sample > 0 {
		m.Key("sample").Errorf("keep one of them", "`limit` takes the first rows and `sample` some of all rows")
	}
	if m.Has("seed") && r.sample == 0 {
		m.Key("seed").Errorf("add `sample`, or remove `seed`", "`seed` goes with `sample`")
	}
}

// separator reads the character between columns; 0 when it is not given.
func separator(n yaml.Node) rune {
	if n.IsZero() {
		return 0
	}
	text := n.Str()
	if utf8.RuneCountInString(text) != 1 || strings.ContainsAny(text, "\"\r\n\ufffd") {
		n.Errorf("such as \";\"", "a separator is one character")
		return 0
	}
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// maxSample is the largest sample, in rows. The indices of chosen rows are kept in memory.
const maxSample = 10_000_000

func (l *loader) dataFiles(n yaml.Node) []string {
	if n.IsMapping() {
		n.Errorf("write `dataset: FILE`, and its other keys next to it", "expected the name of a file, found a mapping")
		return nil
	}
	name := n.Str()
	if !strings.Contains(name, "*") {
		if err := l.files.check(name); err != nil && name != "" {
			n.Errorf("", "%s", err)
			return nil
		}
		return []string{name}
	}
	names, err := l.files.glob(eval.Pattern(name))
	switch {
	case err != nil:
		n.Errorf("", "%s", err)
	case len(names) == 0:
		n.Errorf("check the spelling; the glob begins in the suite's folder", "`%s` matches no file in the suite's folder", name)
	}
	return names
}

func (s *Suite) selected(r *rows, diags *diag.List) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		left := r.limit
		for one := range s.filtered(r, diags) {
			if r.chosen != nil && !r.chosen[one.n] {
				continue
			}
			if !yield(one) {
				return
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

// choose draws the sample: the rows with the smallest hashes of seed and content. So a later change of the file replaces
// few rows of the sample.
func (s *Suite) choose(r *rows, diags *diag.List) {
	if r.sample == 0 {
		return
	}
	type drawn struct {
		hash [16]byte
		n    int
	}
	var lot []drawn
	least := func() {
		slices.SortFunc(lot, func(a, b drawn) int {
			if c := slices.Compare(a.hash[:], b.hash[:]); c != 0 {
				return c
			}
			return a.n - b.n
		})
		lot = lot[:min(len(lot), r.sample)]
	}
	seed := binary.LittleEndian.AppendUint64(nil, r.seed)
	for one := range s.filtered(r, diags) {
		sum := sha256.Sum256(append(seed, eval.Texts(one.vars)...))
		lot = append(lot, drawn{[16]byte(sum[:16]), one.n})
		if len(lot) >= 2*r.sample+1024 {
			least()
		}
	}
	least()
	r.chosen = make(map[int]bool, len(lot))
	for _, d := range lot {
		r.chosen[d.n] = true
	}
}

// all yields every row that can be read, and reports the others. After loading, an unreadable row means that a file has
// changed; Err returns that error.
func (s *Suite) all(r *rows, diags *diag.List) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		n := 0
		fail := func(file string, err error) {
			s.files.broken(file, err)
			s.unreadable(r, file, err, diags)
		}
		for _, file := range r.files {
			for one, err := range s.file(r, file, diags) {
				if err != nil {
					fail(file, err)
					continue
				}
				one.n = n
				n++
				if !yield(one) {
					return
				}
			}
		}
	}
}

func (s *Suite) unreadable(r *rows, file string, err error, diags *diag.List) {
	var e *dataset.LineError
	var foreign *dataset.Foreign
	switch {
	case errors.As(err, &foreign):
		refuseFile(r.node.WithDiags(diags), foreign.In(file))
	case errors.As(err, &e):
		diags.Errorf(diag.Pos{File: s.Shown(file), Line: e.Line, Col: e.Col}, e.Hint, "%s", e.Message)
	default:
		r.node.WithDiags(diags).Errorf("", "%s", err)
	}
}

func (s *Suite) file(r *rows, name string, diags *diag.List) iter.Seq2[*row, error] {
	shown := s.Shown(name)
	at := func(line, col int) diag.Pos { return diag.Pos{File: shown, Line: line, Col: col} }
	return func(yield func(*row, error) bool) {
		s.files.note(name)
		format := r.formatOf(name)
		switch format {
		case formatFile:
			vars, err := s.fileRow(name, r.format)
			yield(&row{of: r, vars: vars, pos: at(0, 0)}, err)
			return
		case formatYAML:
			s.yamlRows(r, name, diags)(yield)
			return
		}
		in, err := s.files.stream(name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer in.Close() //nolint:errcheck // it was only read
		for one, err := range dataset.Read(in, r.options(name, format)) {
			if !yield(&row{of: r, vars: one.Vars, pos: at(one.Line, 1), lent: one.LentName}, err) {
				return
			}
		}
	}
}

// yamlRows yields the rows of a YAML file, which is a list of mappings.
func (s *Suite) yamlRows(r *rows, name string, diags *diag.List) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		src, err := s.files.row(name)
		if err != nil {
			yield(nil, err)
			return
		}
		if foreign := dataset.ForeignContent(src[:min(len(src), dataset.HeadBytes)]); foreign != nil {
			yield(nil, foreign)
			return
		}
		root, ok := yaml.Parse(s.Shown(name), src, diags)
		if !ok {
			s.files.broken(name, errors.New("it is not YAML"))
			return
		}
		for _, item := range root.Seq() {
			if m := item.Map(); item.IsMapping() && !yield(&row{of: r, vars: values(m), pos: item.Pos()}, nil) {
				return
			}
		}
	}
}

func (s *Suite) fileRow(name string, format dataset.FileFormat) (eval.Dict, error) {
	base := path.Base(name)
	vars := eval.Dict{"file": name, "name": strings.TrimSuffix(base, path.Ext(base))}
	head, err := s.files.head(name)
	if err != nil {
		return nil, err
	}
	if !dataset.IsText(head) {
		if format == formatFile { // only the path matters
			return vars, nil
		}
		return vars, opaque(head)
	}
	text, err := s.files.row(name)
	if err != nil {
		return nil, err
	}
	if utf8.Valid(text) {
		vars["text"] = strings.TrimPrefix(string(text), "\ufeff")
	}
	return vars, nil
}

// variants yields the variants of a definition: each row with each combination.
func (s *Suite) variants(def *caseDef, diags *diag.List) iter.Seq[variant] {
	grid := def.grid
	if grid == nil {
		grid = []combination{{}}
	}
	return func(yield func(variant) bool) {
		if def.rows == nil {
			for _, g := range grid {
				if !yield(variant{vars: g.vars, chosen: g.names}) {
					return
				}
			}
			return
		}
		for r := range s.selected(def.rows, diags) {
			scorers := s.scorersOf(r, diags)
			for _, g := range grid {
				v := variant{vars: r.vars, row: r, chosen: g.names, scorers: scorers}
				if len(g.vars) > 0 {
					v.vars = merged(r.vars, g.vars)
				}
				if !yield(v) {
					return
				}
			}
		}
	}
}

func merged(a, b eval.Dict) eval.Dict {
	out := make(eval.Dict, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}
