package suite

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// scorersOf reads the scorer column of a row: a scorer, or a list of them, as a text in YAML or JSON, or as values.
// What is written there is data, and no template.
func (s *Suite) scorersOf(r *row, diags *diag.List) []*scorerDef {
	if r.of.scorers == "" {
		return nil
	}
	cell := s.scorerCell(r, diags)
	if strings.TrimSpace(cell) == "" {
		return nil
	}
	var own diag.List // the places inside a cell mean nothing to a reader of the file
	root, ok := yaml.Parse(r.pos.File, []byte(cell), &own)
	var out []*scorerDef
	if root = root.At(r.pos); ok {
		out = s.scorersIn(root)
	}
	for _, d := range own.Sorted() {
		d.Pos = r.pos
		d.Message = fmt.Sprintf("in the column `%s`: %s", r.of.scorers, d.Message)
		diags.Add(d)
	}
	return out
}

func (s *Suite) scorerCell(r *row, diags *diag.List) string {
	value, there := r.vars[r.of.scorers]
	if !there && r.of.isTable() { // which no other row has either
		diags.PlacedErrorf(r.of.scorersAt.Pos(), diag.DidYouMean(r.of.scorers, names(r.vars)), "%s", r.missing(r.of.scorers))
		return ""
	}
	if !there {
		diags.Errorf(r.pos, diag.DidYouMean(r.of.scorers, names(r.vars)), "there is no column `%s` with scorers", r.of.scorers)
		return ""
	}
	if text, ok := value.(string); ok {
		return text
	}
	return eval.JSON(value)
}

func (s *Suite) scorersIn(root yaml.Node) []*scorerDef {
	if root.IsSequence() && len(root.Seq()) == 0 {
		root.Errorf("leave the cell empty when there is none", "the list of scorers is empty")
	}
	var out []*scorerDef
	for _, item := range root.Items() {
		if !item.IsMapping() {
			item.Errorf("such as `contains: Paris`", "a scorer is a kind with its argument")
			continue
		}
		globs(item.Map().Get("arms"), "arm", s.armNames())
		if sc := s.compiled(item); sc != nil {
			out = append(out, &scorerDef{rendering: rendering{node: item}, fixed: sc})
		}
	}
	return out
}
