package suite

import (
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// fileBlock is a mapping that names a file of the suite's folder with the content.
func fileBlock(doc string) yaml.Block {
	return yaml.Block{Need: []string{"file"}, Keys: []yaml.Key{key("file", yaml.Text, doc)}}
}

func systemShape() yaml.Shape {
	return yaml.Either(yaml.Text, systemFile().Shape())
}

func systemFile() yaml.Block { return fileBlock("A file of the suite's folder with the text.") }

// system reads the system text of a prompt: a template, or the name of a file with one. It is nil without one.
func (l *loader) system(n yaml.Node) *source {
	if n.IsZero() {
		return nil
	}
	before := l.diags.Len()
	s := l.systemSource(n)
	if l.diags.Len() == before && s.t.IsConstant() && strings.TrimSpace(s.text) == "" {
		n.Errorf("leave the key out for a prompt without one", "the system text is empty")
	}
	return &s
}

func (l *loader) systemSource(n yaml.Node) source {
	if !n.IsMapping() {
		return l.template(n)
	}
	if file := n.Map(fileBlock("").Names()...).Need("file"); !file.IsZero() {
		return l.fileTemplate(file)
	}
	return source{t: nothing(), node: n}
}

// rendered renders the prompt for a case, and reports false after a problem. Without load, it leaves out the bytes of
// files.
func (p *Prompt) rendered(c *Case, files *sourceFiles, diags *diag.List, load bool) (out eval.Request, ok bool) {
	ok = true
	if p.system != nil {
		if out.System, ok = p.system.render(c, diags); strings.TrimSpace(out.System) == "" { // a case may have none
			out.System = ""
		}
	}
	contents, fine := p.render(c, files, diags, load)
	out.Contents = contents
	return out, ok && fine
}

func (p *Prompt) uses(u *usage) {
	if p.system != nil {
		u.template(p.system.t)
	}
	for one := range p.eachPart {
		u.template(one.written().t)
		if raw, ok := one.(rawInTurn); ok {
			u.rendering(&raw.rendering)
		}
	}
}
