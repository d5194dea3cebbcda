package scorers

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/internal/jsondiff"
	"github.com/evalrun/evalrun/internal/yaml"
)

func xmlKind() Kind {
	return Kind{
		Name: "xml", Summary: "the answer is well-formed XML, with these elements",
		Version: 2,
		Doc: "`xml: wellFormed` passes when the answer, but for white space around it, is one well-formed XML document. `xml: " +
			"{required: [PATHS]}` also requires elements: `order/items/item` is a path from the root, by local names; `*` is one " +
			"element, and `order/@id` an attribute. The value is the share of the paths that are there. `fence: true` reads the " +
			"first fenced block (```), if any. A document type (`<!DOCTYPE`) fails, and only the predefined entities, such as " +
			"`&lt;`, are expanded. Nothing is checked against a schema.",
		Example: "- xml: {required: [order/id, order/items/item]}",
		takes:   yaml.Either(yaml.Word("wellFormed"), yaml.Some(xmlKeys().Shape())), compile: compileXML,
	}
}

var xmlPath = compiled(`^/?(?:\*|[\pL_][\pL\pN\pM._-]*)(?:/(?:\*|[\pL_][\pL\pN\pM._-]*))*(?:/@[\pL_][\pL\pN\pM._-]*)?$`)

var xmlKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		{Name: "required", Is: texts(), Doc: "Paths of elements, such as order/items/item, or order/@id."},
		{Name: "fence", Is: yaml.Bool, Doc: "Reads the first fenced block, when there is one."},
	}}
})

func compileXML(a args) AnswerScorer {
	var x xmlScorer
	if a.Args.IsScalar() {
		a.Args.Word("wellFormed")
	} else {
		m := a.Args.Map(xmlKeys().Names()...)
		x.fence = m.Get("fence").Bool()
		if m.IsMapping() && m.Len() == 0 {
			a.Args.Errorf("`xml: wellFormed` accepts any XML", "`xml` needs `required` or `fence`")
		}
		x.paths = xmlPaths(m.Get("required"))
	}
	return onText(fold{normalize: asWritten}, func(got, _ string) Finding { return x.scoreText(got) })
}

type xmlScorer struct {
	paths []string // paths of required elements
	fence bool     // the XML may be in a fenced block
}

func (x xmlScorer) scoreText(got string) Finding {
	text := got
	if x.fence {
		text = unfenced(got)
	}
	missing, err := readXML(strings.TrimSpace(text), x.paths)
	switch {
	case errors.Is(err, errDeepXML):
		return Unscored("%s", err)
	case err != nil && len(x.paths) == 0: // well-formedness is what the scorer checks
		return Fail("not well-formed XML: %s%s: %s", err, fenceHint(text), quote(got))
	case err != nil:
		return Uncheckable("not well-formed XML: %s%s: %s", err, fenceHint(text), quote(got))
	case len(missing) > 0:
		return Graded(
			1-float64(len(missing))/float64(len(x.paths)), false, "the XML has no %s",
			strings.Join(missing[:min(len(missing), 5)], ", "),
		)
	case len(x.paths) > 0:
		return Pass("the answer is well-formed XML and has %s", strings.Join(x.paths[:min(len(x.paths), 5)], ", "))
	}
	return Pass("the answer is well-formed XML")
}

func xmlPaths(required yaml.Node) []string {
	var paths []string
	for _, n := range required.Items() {
		path := textOf(n)
		if !xmlPath().MatchString(path) {
			n.Errorf("such as order/items/item, or order/@id", "`%s` is not a path of elements", path)
		}
		if strings.Count(path, "/") >= maxNesting {
			n.Errorf("shorten it", "a path of more than %d elements", maxNesting)
		}
		paths = append(paths, strings.TrimPrefix(path, "/"))
	}
	if len(paths) > 100 {
		required.Errorf("split them into several scorers", "%d paths; at most 100", len(paths))
	} else if required.IsSequence() && len(paths) == 0 {
		required.Errorf("such as [order/id]", "`required` needs at least one path")
	}
	return paths
}

// xmlReader reads a document token by token and looks for paths.
type xmlReader struct {
	dec     *xml.Decoder
	open    []string // local names from the root, down to maxNesting
	depth   int
	closing int // closing tags, at most
	missing [][]string
	roots   int
}

// readXML returns the paths that are missing. The standard decoder accepts several roots, text around them, and
// duplicate attributes; here these are errors.
func readXML(text string, paths []string) (missing []string, err error) {
	r := xmlReader{dec: xml.NewDecoder(strings.NewReader(text)), closing: strings.Count(text, "</")}
	r.dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // the text is already decoded
	for _, p := range paths {
		r.missing = append(r.missing, strings.Split(p, "/"))
	}
	for first := true; ; first = false {
		token, err := r.dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.token(token, first)
		}
		if err != nil {
			return nil, problemOf(err)
		}
	}
	if r.roots == 0 {
		return nil, errors.New("there is no element")
	}
	for _, p := range r.missing {
		missing = append(missing, strings.Join(p, "/"))
	}
	return missing, nil
}

// deepestXML bounds the open elements, which take many times the memory of their text.
const deepestXML = 10_000

var errDeepXML = fmt.Errorf("the answer holds elements nested deeper than %d, which are not read", deepestXML)

func problemOf(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case errors.Is(err, errDeepXML):
		return err
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %s", syntax.Line, visibleText(syntax.Msg))
	}
	return errors.New(visibleText(strings.TrimPrefix(err.Error(), "xml: ")))
}

func (r *xmlReader) token(token xml.Token, first bool) error {
	line, _ := r.dec.InputPos()
	switch t := token.(type) {
	case xml.StartElement:
		return r.start(t, line)
	case xml.EndElement:
		r.depth--
		r.open = r.open[:min(r.depth, len(r.open))]
	case xml.CharData:
		if r.depth == 0 && strings.TrimSpace(string(t)) != "" {
			return fmt.Errorf("line %d: text outside the root element", line)
		}
	case xml.Directive:
		return fmt.Errorf("line %d: document types are not read", line)
	case xml.ProcInst:
		if strings.EqualFold(t.Target, "xml") && !first {
			return fmt.Errorf("line %d: an XML declaration that is not at the start", line)
		}
	}
	return nil
}

// foundAt reports whether a path ends at the element just opened, or at one of its attributes.
func foundAt(path, open []string, attrs []xml.Attr) bool {
	last := path[len(path)-1]
	if name, ok := strings.CutPrefix(last, "@"); ok {
		if !slices.ContainsFunc(attrs, func(a xml.Attr) bool { return a.Name.Local == name }) {
			return false
		}
		path = path[:len(path)-1]
	}
	return jsondiff.Pointers{path}.Match(open)
}

func (r *xmlReader) start(t xml.StartElement, line int) error {
	if r.depth == 0 {
		if r.roots++; r.roots > 1 {
			return fmt.Errorf("line %d: a second root element <%s>", line, t.Name.Local)
		}
	}
	if r.depth == deepestXML && r.closing < deepestXML {
		return fmt.Errorf("line %d: more elements are opened than closed", line)
	}
	if r.depth == deepestXML {
		return errDeepXML
	}
	within := r.depth < maxNesting // paths are never longer
	if r.depth++; within {
		r.open = append(r.open, t.Name.Local)
	}
	for i, a := range t.Attr {
		if slices.ContainsFunc(t.Attr[:min(i, 100)], func(b xml.Attr) bool { return a.Name == b.Name }) {
			return fmt.Errorf("line %d: the attribute %s appears twice", line, a.Name.Local)
		}
	}
	if !within {
		return nil
	}
	r.missing = slices.DeleteFunc(r.missing, func(p []string) bool { return foundAt(p, r.open, t.Attr) })
	return nil
}
