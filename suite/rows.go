package suite

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Formats that this package reads itself, without package dataset.
const (
	formatYAML dataset.FileFormat = "yaml"
	formatFile dataset.FileFormat = "file" // each file is a row with its path
)

const packedEnding = ".gz"

func unpackedName(name string) string {
	if strings.EqualFold(path.Ext(name), packedEnding) {
		return name[:len(name)-len(packedEnding)]
	}
	return name
}

// formatOf returns the format of a file: as given, or by its ending.
func (r *rows) formatOf(file string) dataset.FileFormat {
	if r.format != "" {
		return r.format
	}
	switch strings.ToLower(path.Ext(unpackedName(file))) {
	case ".csv":
		return dataset.CSV
	case ".tsv":
		return dataset.TSV
	case ".jsonl", ".ndjson":
		return dataset.JSONLines
	case ".json":
		return dataset.JSON
	case ".yaml", ".yml":
		return formatYAML
	}
	return formatFile
}

func isTable(f dataset.FileFormat) bool { return f == dataset.CSV || f == dataset.TSV }

func (r *rows) isTable() bool { return isTable(r.formatOf(r.files[0])) }

func (r *rows) options(name string, format dataset.FileFormat) dataset.Options {
	return dataset.Options{
		Format: format, Separator: r.separator, Columns: r.columns, RowPath: r.path, Packed: unpackedName(name) != name,
	}
}

func columnNames(n yaml.Node) []string {
	if n.IsZero() {
		return nil
	}
	names := n.Strings()
	if n.IsSequence() && len(names) == 0 {
		n.Errorf("one for each cell, such as [question, answer]", "`columns` is empty")
	}
	for i, name := range names {
		switch {
		case strings.TrimSpace(name) == "":
			n.Errorf("", "column %d has no name", i+1)
		case slices.Contains(names[:i], name):
			n.Errorf("rename one of them", "two columns have the name `%s`", name)
		}
	}
	return names
}

// rowsPath compiles the expression that selects rows; nil without one. ok is false when it is invalid.
func (l *loader) rowsPath(n yaml.Node) (_ *expr.Rows, ok bool) {
	const hint = "such as .data[].questions[]"
	if n.IsZero() {
		return nil, true
	}
	source := n.Str()
	if !n.IsScalar() || n.IsNull() { // reported by Str
		return nil, false
	}
	if strings.TrimSpace(source) == "" || len(source) > expr.MaxSource {
		n.Errorf(hint, "`rows` needs a jq expression of at most %d bytes", expr.MaxSource)
		return nil, false
	}
	out, problem := expr.CompileRows(source)
	if problem != nil {
		problem.Report(n, diag.CleanLine)
		return nil, false
	}
	if l.opts.Untrusted && !out.OnlyPicks() {
		n.Errorf(hint, "in an untrusted suite, jq only takes paths")
		return nil, false
	}
	return out, true
}

// refused reports a file whose name shows a format that cannot be read, and damaged compressed data. It checks before the
// first row is used, since a small compressed file can hold millions of rows.
func (l *loader) refused(r *rows, file string) bool {
	if r.format == "" && refuseName(r.node, file) {
		return true
	}
	if format := r.formatOf(file); format == formatFile || format == formatYAML {
		return false
	}
	in, err := l.files.stream(file)
	if err == nil {
		err = dataset.CheckPacked(in)
		err = errors.Join(err, in.Close())
	}
	if err != nil {
		l.unreadable(r, file, err, l.diags)
	}
	return err != nil
}

func (r *rows) checkKeys(m yaml.Map) {
	for _, file := range r.files {
		format := r.formatOf(file)
		switch {
		case r.columns != nil && !isTable(format):
			m.Key("columns").Errorf(
				"remove it", "`columns` names the cells of .csv and .tsv files, and %s is read as `%s`", file, format,
			)
		case r.path != nil && format != dataset.JSON && format != dataset.JSONLines:
			m.Key("rows").Errorf("remove it", "`rows` selects rows of .json and .jsonl files, and %s is read as `%s`", file,
				format)
		default:
			continue
		}
		return
	}
}

func refuseName(n yaml.Node, file string) bool {
	inner := unpackedName(file)
	if foreign := dataset.ForeignName(file); foreign != nil {
		refuseFile(n, foreign)
		return true
	}
	ending := strings.ToLower(path.Ext(inner))
	if inner == file || slices.Contains([]string{".csv", ".tsv", ".jsonl", ".ndjson", ".json"}, ending) {
		return false
	}
	n.Errorf(
		"decompress it: gunzip -k FILE; or say how it is read, such as `format: csv`",
		"%s is compressed, and its name does not show rows: .csv.gz, .tsv.gz, .jsonl.gz and .json.gz are read", file,
	)
	return true
}

func refuseFile(n yaml.Node, foreign *dataset.Foreign) {
	n.Errorf(foreign.Hint()+"; `format: file` makes one case of the file itself", "%s", foreign)
}

// opaque returns an error if a file that begins with head is not text. It is nil for files that a prompt can attach:
// images, sound, videos and PDFs.
func opaque(head []byte) error {
	if foreign := dataset.ForeignContent(head); foreign != nil {
		return foreign
	}
	if err := dataset.UTF16(head); err != nil {
		return err
	}
	if found := mimetype.Detect(head); heifType(head) != "" || isMedia(found.String()) || found.Is("application/ogg") {
		return nil
	}
	return &dataset.LineError{
		Message: "the file holds neither text nor an image, sound, a video or a PDF",
		Hint:    "export it as CSV or JSON lines in UTF-8; `format: file` makes one case of the file itself",
	}
}

// filter is an expression over the columns of a row: `where`.
type filter struct {
	node    yaml.Node
	program *expr.Expression // nil if the expression is invalid
}

// compile compiles the expression when the columns are known. Rows of a table all have the same columns, so another name is
// an error; in other formats a row may have more.
func (f *filter) compile(first *row, diags *diag.List) {
	var env any = expr.Open{}
	if first.of.isTable() {
		env = first.vars.Plain()
	}
	var err error
	if f.program, err = expr.Compile(f.node.Str(), env, expr.Truth); err != nil {
		problem := expr.AsSyntaxError(err)
		f.node.WithDiags(diags).ErrorfAt(problem.Offset, problem.Hint, "in the expression: %s", problem.Message)
	}
}

func (l *checker) readWhere(r *rows) {
	if r.where == nil {
		return
	}
	for first := range l.all(r, l.diags) {
		r.where.compile(first, l.diags)
		return
	}
}

func (f *filter) takes(r *row) (bool, error) {
	if f == nil {
		return true, nil
	}
	if f.program == nil { // accept all rows, so that their other problems are reported too
		return true, nil
	}
	for _, read := range f.program.Reads() {
		if !read.Optional && lacks(r.vars, read.Path) {
			return false, &expr.SyntaxError{
				Message: fmt.Sprintf("it has no `%s`", read),
				Hint:    fmt.Sprintf("`%s ?? \"\"` is the empty text where there is none", read),
			}
		}
	}
	out, err := f.program.Run(r.vars.Plain())
	if err != nil {
		return false, err
	}
	taken, ok := out.(bool)
	if !ok {
		return false, errors.New("the expression gives neither true nor false")
	}
	return taken, nil
}

// lacks reports whether a row has nothing at a path. An expression would see nil there, so that a typo would select all
// rows, or none.
func lacks(v eval.Value, path []string) bool {
	for _, name := range path {
		found, named, there := eval.Get(v, name)
		if !named {
			return false // the expression reports it
		}
		if !there {
			return true
		}
		v = found
	}
	return false
}

func (s *Suite) filtered(r *rows, diags *diag.List) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		for one := range s.all(r, diags) {
			taken, err := r.where.takes(one)
			var lack *expr.SyntaxError
			switch {
			case errors.As(err, &lack):
				diags.Errorf(one.pos, lack.Hint, "`where` cannot be determined for the row: %s", lack.Message)
			case err != nil:
				diags.Errorf(
					one.pos, "a cell may be empty: count != \"\" and int(count) > 1", "`where` cannot be determined for the row: %s",
					err,
				)
			}
			if taken && !yield(one) {
				return
			}
		}
	}
}
