package suite

import (
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

type part interface {
	// form is the key for the content, one of partForms.
	form() string
	// written is the template in the suite, if the content is one, and its position.
	written() source
	// render makes the part for a case, and reports false after a problem. A resized image gets at most limit bytes.
	render(c *Case, files *sourceFiles, diags *diag.List, load bool, limit int) (out eval.Part, ok bool)
}

// fileInTurn is an imageInTurn or a dataInTurn.
type fileInTurn interface {
	part
	// identity identifies the content of the file with a name; "" when it cannot be read.
	identity(name string, files *sourceFiles) string
}

type textInTurn struct{ source source }

// imageInTurn is an image. The template gives its path.
type imageInTurn struct {
	source   source
	resize   bool
	mimeType yaml.Node
}

// dataInTurn is a file other than an image. The template gives its path.
type dataInTurn struct {
	source   source
	mimeType yaml.Node
}

type rawInTurn struct{ rendering rendering }

func (textInTurn) form() string  { return "text" }
func (imageInTurn) form() string { return "image" }
func (dataInTurn) form() string  { return "data" }
func (rawInTurn) form() string   { return "raw" }

func (one textInTurn) written() source  { return one.source }
func (one imageInTurn) written() source { return one.source }
func (one dataInTurn) written() source  { return one.source }
func (one rawInTurn) written() source   { return source{t: nothing(), node: one.rendering.node} }

// partForms lists the keys for the content of a part. A part has exactly one of them.
func partForms() []string { return []string{"text", "image", "data", "raw"} }

func (l *loader) parts(n yaml.Node) []part {
	var out []part
	for _, item := range n.Seq() {
		m := item.Map(partOfPrompt().Names()...)
		if !item.IsMapping() {
			continue
		}
		if form := partForm(m); form != "" {
			checkPartSiblings(m, form)
			out = append(out, l.part(m, form))
		}
	}
	if n.IsSequence() && len(n.Seq()) == 0 {
		n.Errorf("such as `- text: Describe the image.`", "there are no parts")
	}
	return out
}

func partForm(m yaml.Map) string {
	given := ""
	for _, form := range partForms() {
		if !m.Has(form) {
			continue
		}
		if given != "" {
			given = ""
			break
		}
		given = form
	}
	if given == "" {
		m.Errorf("such as `text: Describe the image.`", "a part has one of text, image, data and raw")
	}
	return given
}

func checkPartSiblings(m yaml.Map, form string) {
	if m.Has("mimeType") && form != "image" && form != "data" {
		m.Key("mimeType").Errorf("move it there, or remove it", "mimeType belongs to an image, or to data")
	}
	if m.Has("resize") && form != "image" {
		m.Key("resize").Errorf("move it there, or remove it", "resize belongs to an image")
	}
}

func (l *loader) part(m yaml.Map, form string) part {
	body := m.Get(form)
	switch form {
	case "image":
		return imageInTurn{source: l.template(body), mimeType: m.Get("mimeType"), resize: m.Get("resize").Bool()}
	case "data":
		return dataInTurn{source: l.template(body), mimeType: mediaTypeOf(m.Get("mimeType"))}
	case "raw":
		return l.rawPart(body)
	}
	return l.textPart(body)
}

// rawPart reads a part as the protocol writes it. Texts in it are templates; the values of variables stay texts.
func (l *loader) rawPart(n yaml.Node) part {
	if m := n.Map(); n.IsMapping() && m.Len() == 0 {
		n.Errorf("such as `raw: {fileData: {...}}`", "the mapping is empty, and a part needs something in it")
	}
	return rawInTurn{l.rendering(n)}
}

func (one textInTurn) render(c *Case, _ *sourceFiles, diags *diag.List, _ bool, _ int) (out eval.Part, ok bool) {
	text, ok := one.source.render(c, diags)
	if !ok {
		return nil, false
	}
	return eval.TextPart{Text: text}, true
}

func (one imageInTurn) render(c *Case, files *sourceFiles, diags *diag.List, load bool, limit int) (out eval.Part, ok bool) {
	name, ok := one.source.render(c, diags)
	if !ok {
		return nil, false
	}
	img := one.picture(one.wishWithin(name, limit), c, files, diags, load)
	if img == nil {
		return nil, false
	}
	return eval.ImagePart{Image: &img.Image}, true
}

func (one dataInTurn) render(c *Case, files *sourceFiles, diags *diag.List, load bool, _ int) (out eval.Part, ok bool) {
	name, ok := one.source.render(c, diags)
	if !ok {
		return nil, false
	}
	file := one.file(name, c, files, diags, load)
	return eval.DataPart{Data: file}, file != nil
}

func (one rawInTurn) render(c *Case, _ *sourceFiles, diags *diag.List, _ bool, _ int) (out eval.Part, ok bool) {
	n, ok := one.rendering.render(c, diags)
	if !ok {
		return nil, false
	}
	var own diag.List // a value that JSON cannot express is a problem in every case
	raw := n.WithDiags(&own).JSON(nil)
	diags.Merge(own)
	return eval.RawPart{Raw: raw}, !own.HasErrors()
}

func (one imageInTurn) identity(name string, files *sourceFiles) string {
	img, err := files.image(one.wish(name), false)
	if err != nil {
		return ""
	}
	return img.Identity()
}

func (one dataInTurn) identity(name string, files *sourceFiles) string {
	file, err := files.attached(name, false)
	if err != nil {
		return ""
	}
	return file.SHA256
}

// wish is the image of a part without a limit from other parts.
func (one imageInTurn) wish(name string) wish { return one.wishWithin(name, resizedBytes) }

// wishWithin is the image of a part, with at most limit bytes if it may be resized.
func (one imageInTurn) wishWithin(name string, limit int) wish {
	if one.resize {
		return wish{name, limit}
	}
	return wish{name: name}
}

func (one imageInTurn) picture(w wish, c *Case, files *sourceFiles, diags *diag.List, load bool) *stored {
	img, err := files.image(w, load)
	if err != nil {
		diags.Errorf(one.source.node.Pos(), imageHint(err), "case `%s`: %s", c.Name, err)
		return nil
	}
	if want := one.mimeType; !want.IsZero() && want.Str() != img.sourceType {
		want.Errorf("remove `mimeType`: the type is read from the bytes", "%s is %s, not %s", w.name, img.sourceType, want.Str())
		return nil
	}
	return img
}
