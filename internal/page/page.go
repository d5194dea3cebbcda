// Package page writes the HTML report, and serves its blocks of data to internal/site.
//
// The page is one file that sends no requests. It has its style, its program, and the run as blocks of data
// (see html/data.js). Its policy allows only the style and the program, by their hashes. So nothing in the
// data can run or load anything, however it got into the page.
//
// The usual order: Write for a file; for a server Style, Program, NewServed, Served.Block.
package page

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Bounds of the page, which says what it omits.
const (
	mostTrials  = 200_000  // beyond it, passed trials are omitted
	mostText    = 50_000   // bytes of a prompt or an answer
	mostDetails = 96 << 20 // bytes of compressed details, after which texts are cut to lateText
	lateText    = 300
	mostExcerpt = 200     // bytes of an answer or a reason in the table
	mostImage   = 1 << 20 // bytes of an image
	mostImages  = 16 << 20
	blockTrials = 1000
	blockBytes  = 1 << 20
)

// imageTypes are the types that browsers show.
var imageTypes = []string{"image/png", "image/jpeg", "image/webp"}

// Write writes the run as one page that needs no server and no network.
func Write(w io.Writer, d *journal.Document) error {
	h := report{d: d, out: bufio.NewWriter(w), tables: newTables(), head: newHead(d), around: surroundingsOf(d), blocks: []int{}}
	if err := h.top(); err != nil {
		return err
	}
	if err := h.json("head", h.head); err != nil {
		return err
	}
	if err := h.points(); err != nil {
		return err
	}
	if err := h.trials(); err != nil {
		return err
	}
	if err := h.json("index", blockIndex{h.blocks, h.tables, h.left}); err != nil {
		return err
	}
	if err := markup().ExecuteTemplate(h.out, "bottom", template.JS(program())); err != nil { //nolint:gosec // our own program
		return err
	}
	return h.out.Flush()
}

// blockIndex describes the blocks of trials. It is written last, when they are known.
type blockIndex struct {
	Blocks []int  `json:"blocks"` // number of trials in each
	Tables tables `json:"tables"`
	Left   left   `json:"left"`
}

// left counts what the page omits.
type left struct {
	Passes int `json:"passes"` // trials that passed
	Texts  int `json:"texts"`  // prompts and answers that are cut
	Images int `json:"images"` // too large, changed or missing
}

type report struct {
	d       *journal.Document
	out     *bufio.Writer
	head    head
	around  surroundings
	tables  tables
	rows    columns
	details bytes.Buffer // of the trials in rows, as JSON
	written int          // bytes of compressed details
	blocks  []int
	left    left
	images  map[string]bool // hashes of the images so far
	weight  int             // bytes of images
}

func (h *report) top() error {
	return markup().ExecuteTemplate(h.out, "top", map[string]any{
		"Policy": policy(),
		"Style":  template.CSS(Style()), //nolint:gosec // our own style
		"Title":  h.head.Title,
		"Plain":  h.head.plain(),
	})
}

// json writes a block of data uncompressed. json.Marshal escapes what could end the element.
func (h *report) json(id string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(h.out, "<script type=\"application/json\" id=\"%s\">%s</script>\n", id, data)
	return err
}

func (h *report) packed(id string, data []byte) (int, error) {
	text, err := Packed(data)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(h.out, "<script type=\"text/plain\" id=\"%s\">%s</script>\n", id, text)
	return len(text), err
}

func (h *report) points() error {
	data, err := PointsBlock(h.d.Comparison())
	if errors.Is(err, ErrNoBlock) {
		return nil
	}
	if err == nil {
		_, err = h.packed(pointsName, data)
	}
	return err
}

// Packed compresses a block to text without characters to escape: base64 of deflate. unpack.js reverses it
// in the page.
func Packed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &b)
	z, err := flate.NewWriter(text, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	_, _ = z.Write(data) // a bytes.Buffer never fails
	_, _ = z.Close(), text.Close()
	return b.Bytes(), nil
}

// passes counts how many more passed trials fit.
type passes int

func roomForPasses(d *journal.Document) passes {
	return passes(max(0, mostTrials-(d.Len()-d.Summary.Counts.Pass)))
}

// leaves reports whether the page has no room for a trial. It counts the trial.
func (p *passes) leaves(r *eval.Result) bool {
	if r.Outcome() == eval.Pass {
		*p--
	}
	return r.Outcome() == eval.Pass && *p < 0
}

func (h *report) trials() error {
	room := roomForPasses(h.d)
	for data, err := range h.d.Lines() {
		var r eval.Result
		if err == nil {
			err = r.UnmarshalJSON(data)
		}
		if err != nil {
			return err
		}
		if room.leaves(&r) {
			h.left.Passes++
			continue
		}
		if err := h.trial(&r, data); err != nil {
			return err
		}
	}
	return h.flush()
}

// trial adds a trial, whose JSON is data. It cuts more of it once the page is large.
func (h *report) trial(r *eval.Result, data []byte) error {
	if err := h.pictures(r); err != nil {
		return err
	}
	h.rows.add(&h.tables, r, h.around)
	most := mostText
	if h.written > mostDetails {
		most = lateText
	}
	if !fits(data, most) {
		h.left.Texts += cutTexts(r, most)
		var err error
		if data, err = r.AppendJSON(nil); err != nil {
			return err
		}
	}
	if h.details.Len() == 0 {
		h.details.WriteByte('[')
	} else {
		h.details.WriteByte(',')
	}
	h.details.Write(data)
	if len(h.rows.Repeat) == blockTrials || h.details.Len() > blockBytes {
		return h.flush()
	}
	return nil
}

// flush writes the collected trials as two blocks. The page reads all rows at once, and details when a
// reader opens a trial.
func (h *report) flush() error {
	n := len(h.rows.Repeat)
	if n == 0 {
		return nil
	}
	rows, err := json.Marshal(&h.rows)
	if err != nil {
		return err
	}
	if _, err := h.packed(fmt.Sprintf("rows/%d", len(h.blocks)), rows); err != nil {
		return err
	}
	h.details.WriteByte(']')
	size, err := h.packed(fmt.Sprintf("trials/%d", len(h.blocks)), h.details.Bytes())
	if err != nil {
		return err
	}
	h.written += size
	h.blocks = append(h.blocks, n)
	h.rows = columns{}
	h.details.Reset()
	return nil
}

// pictures writes the images of a request that the page does not have yet.
func (h *report) pictures(r *eval.Result) error {
	if h.head.NoContent {
		return nil
	}
	if h.images == nil {
		h.images = map[string]bool{}
	}
	for img := range images(r.Request) {
		if h.images[img.SHA256] {
			continue
		}
		h.images[img.SHA256] = true
		data, err := h.d.Image(r.Suite, img, min(mostImage, int64(mostImages-h.weight)))
		if err != nil || !slices.Contains(imageTypes, img.MIMEType) {
			h.left.Images++
			continue
		}
		h.weight += len(data)
		if err := h.json("image/"+hexOnly(img.SHA256), address(img, data)); err != nil {
			return err
		}
	}
	return nil
}

func images(r *eval.Request) func(yield func(*eval.Image) bool) {
	return func(yield func(*eval.Image) bool) {
		if r == nil {
			return
		}
		for _, c := range r.Contents {
			for _, p := range c.Parts {
				if p, ok := p.(eval.ImagePart); ok && !yield(p.Image) {
					return
				}
			}
		}
	}
}

func address(img *eval.Image, data []byte) string {
	return "data:" + img.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// hexOnly removes all but hex digits, because a run file may have anything as a hash.
func hexOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' {
			return r
		}
		return -1
	}, s)
}

//go:embed html
var files embed.FS

var markup = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "html/page.html")) })

// scripts make up the program, in this order. The first one says where data comes from.
var scripts = []string{
	"blocks", "unpack", "data", "dom", "numbers", "diff", "plots", "charts", "spread", "scores", "tradeoff", "versus", "against",
	"judges", "summary", "classes", "comparison", "ranking", "query", "compile", "field", "cases", "sheet", "cells", "matrix",
	"copy", "inline", "markdown", "json", "reading", "keys", "request", "answer", "chat", "case", "side", "main",
}

// Style returns the CSS of the page.
func Style() string { return asset("app.css") + asset("matrix.css") + asset("read.css") }

// Program returns the program of the page for a server, as one closure. load defines the function load,
// which returns the content of a block. more is appended.
func Program(load string, more ...string) string {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n" + load)
	for _, name := range scripts[1:] {
		b.WriteString(asset(name + ".js"))
	}
	b.WriteString(strings.Join(more, "") + "})();\n")
	return b.String()
}

func program() string { return Program(asset(scripts[0]+".js"), "start();\n") }

func asset(name string) string {
	data, err := files.ReadFile("html/" + name)
	if err != nil { // the assets are embedded in the program
		panic(err)
	}
	return string(data)
}

// policy allows the style and the program by their hashes, images in the page, and nothing else.
func policy() string {
	return "default-src 'none'; img-src data:; style-src " + hashOf(Style()) + "; script-src " + hashOf(program()) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
