package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/internal/yaml"
)

// httpBody is the body of a request: JSON with templates in its texts, or a single template.
type httpBody struct {
	mediaType string // "" without a body, or when a header sets it
	parts     []bodyPart
}

// bodyPart is a literal followed by a template.
type bodyPart struct {
	before []byte
	value  source // its template is nil in the last part
	isText bool   // the template is the whole body, a text
}

const maxBody = expr.MaxOutput

func (l *loader) httpBody(h *HTTPTarget, n yaml.Node) (b httpBody) {
	switch {
	case n.IsZero():
		return b
	case n.InBraces():
		n.Str() // which reports it
		return b
	case n.IsMapping() || n.IsSequence():
		w := bodyWriter{loader: l, dialect: &expr.Dialect{Functions: requestFunctions(), Values: true}}
		w.node(n)
		w.parts = append(w.parts, bodyPart{before: w.literal})
		b.mediaType, b.parts = "application/json", w.parts
	default:
		b.mediaType = "text/plain; charset=utf-8"
		b.parts = []bodyPart{{value: l.in(&expr.Dialect{Functions: requestFunctions()}, n), isText: true}}
	}
	if slices.ContainsFunc(h.headers, func(one httpHeader) bool { return strings.EqualFold(one.name, "content-type") }) {
		b.mediaType = ""
	}
	return b
}

type bodyWriter struct {
	*loader
	dialect *expr.Dialect
	parts   []bodyPart
	literal []byte // JSON since the last template
}

func (w *bodyWriter) node(n yaml.Node) {
	switch {
	case n.InBraces():
		n.Str() // which reports it
	case n.IsMapping():
		w.mapping(n)
	case n.IsSequence():
		for i, item := range n.Seq() {
			w.literal = append(w.literal, comma('[', i))
			w.node(item)
		}
		w.close('[', ']', len(n.Seq()))
	case n.IsScalar() && !n.IsNull() && expr.HasActions(n.Written()):
		w.parts = append(w.parts, bodyPart{before: w.literal, value: w.in(w.dialect, n)})
		w.literal = nil
	default:
		w.literal = n.JSON(w.literal)
	}
}

func (w *bodyWriter) mapping(n yaml.Node) {
	m, i := n.Map(), 0
	for e := range m.Entries() {
		if expr.HasActions(e.Name()) {
			e.Key.Errorf("write the key as it is", "the keys of `body` are not templates")
		}
		w.literal = append(w.literal, comma('{', i))
		w.literal = append(wirejson.AppendString(w.literal, e.Name()), ':')
		w.node(e.Value)
		i++
	}
	w.close('{', '}', i)
}

func comma(opening byte, i int) byte {
	if i == 0 {
		return opening
	}
	return ','
}

func (w *bodyWriter) close(opening, closing byte, items int) {
	if items == 0 {
		w.literal = append(w.literal, opening)
	}
	w.literal = append(w.literal, closing)
}

func (b *httpBody) render(in *rendered, out *eval.HTTP) {
	var body []byte
	for i := range b.parts {
		p := &b.parts[i]
		if body = append(body, p.before...); p.value.t == nil {
			continue
		}
		body = p.render(in, body)
		if len(body) > maxBody {
			in.report(p.value, &expr.TemplateError{Message: fmt.Sprintf("the body has more than %d bytes", maxBody)})
			return
		}
	}
	out.Body = string(body)
	if b.mediaType != "" {
		out.Headers = append(out.Headers, eval.Header{Name: "content-type", Value: b.mediaType})
	}
}

func (p *bodyPart) render(in *rendered, body []byte) []byte {
	if p.isText {
		text, _ := in.text(p.value)
		return append(body, text...)
	}
	v, err := p.value.t.Value(in.data, in.budget)
	if !in.fine(p.value, err) {
		return body
	}
	if text, ok := v.(string); ok {
		return wirejson.AppendString(body, text)
	}
	return append(body, eval.JSON(v)...)
}
