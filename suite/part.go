package suite

import (
	"strings"
	"sync"

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
	img, err := files.image(one.wishWithin(name, resizedBytes), false)
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

// chat reads a list of turns: user and model alternate, and the user has the last one. A live chat lists only the user's.
func (l *loader) chat(n yaml.Node, live bool) []turn {
	c := chat{loader: l, live: live}
	items, keys := n.Seq(), turnBlock().Names()
	for _, item := range items {
		m := item.Map(keys...)
		if !item.IsMapping() {
			continue
		}
		if m.Len() != 1 {
			item.Errorf("one list item a turn: `- user: ...`", "a turn is one of user and model, found %d keys", m.Len())
			continue
		}
		for e := range m.Entries() {
			c.read(e)
		}
	}
	switch {
	case len(items) == 0 && n.IsSequence():
		n.Errorf("such as `- user: Hello`", "there are no turns")
	case c.last() == eval.RoleModel && !c.unknown:
		items[len(items)-1].Errorf("end with the turn that the model shall answer", "the last turn is the user's")
	}
	return c.turns
}

type chat struct {
	*loader
	live    bool
	turns   []turn
	unknown bool // the last role is invalid, and was reported
}

func (c *chat) last() string {
	if len(c.turns) == 0 {
		return ""
	}
	return c.turns[len(c.turns)-1].role
}

func (c *chat) read(e yaml.Entry) {
	role := e.Name()
	if role != eval.RoleUser && role != eval.RoleModel {
		c.unknown = true
		return
	}
	if !c.fits(e, role) {
		return
	}
	t := turn{role: role}
	if e.Value.IsSequence() {
		t.parts = c.parts(e.Value)
	} else {
		t.parts = []part{c.textPart(e.Value)}
	}
	c.turns = append(c.turns, t)
}

// fits checks that a role is next in turn, and in a live chat that it is the user's.
func (c *chat) fits(e yaml.Entry, role string) bool {
	if c.live {
		if role == eval.RoleModel {
			e.Key.Errorf("remove it: the model's own reply comes there", "a live chat lists the turns of the user alone")
		}
		return role == eval.RoleUser
	}
	if c.last() == role {
		e.Key.Errorf(
			"join the two, or add the turn between them", "turns alternate between user and model; this is the second `%s` in a row", role,
		)
	}
	if len(c.turns) == 0 && role == eval.RoleModel {
		e.Key.Errorf("begin with `- user: ...`", "the first turn is the user's")
	}
	return true
}

// fileBlock is a mapping that names a file of the project with the content.
func fileBlock(doc string) yaml.Block {
	return yaml.Block{Need: []string{"file"}, Keys: []yaml.Key{key("file", yaml.Text, doc)}}
}

var systemFile = sync.OnceValue(func() yaml.Block { return fileBlock("A file of the project with the text.") })

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
		return l.ownBraces(l.template(n))
	}
	if file := n.Map(fileBlock("").Names()...).Need("file"); !file.IsZero() {
		return l.ownBraces(l.fileTemplate(file))
	}
	return source{t: nothing(), node: n}
}

// rendered renders the prompt of an arm for a case, as Prompt.rendered does.
func (s *Suite) rendered(c *Case, arm Arm, diags *diag.List, load bool) (out eval.Request, ok bool) {
	c = c.visible()
	p := arm.Prompt
	if p.generator != nil {
		if p = s.written(c, arm, diags); p == nil {
			return out, false
		}
	}
	out, ok = p.rendered(c, s.files, diags, load)
	if own := arm.Prompt.system; own != nil && p.system != own { // both are sent
		text, fine := own.render(c, diags)
		out.System, ok = text+"\n\n"+out.System, ok && fine
	}
	return out, ok
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
	out.Contents, out.Tools, out.ToolChoice = contents, p.Tools, p.ToolChoice
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
