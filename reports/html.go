package reports

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// The page is one file that asks no network: its style, its program, and the run as data blocks that the program reads
// (html/data.js says how). The policy in its head names style and program by their hashes and allows nothing else, so
// that nothing which came with the data can run or load anything, however it got into the page.

//go:embed html
var htmlFiles embed.FS

var htmlPage = template.Must(template.ParseFS(htmlFiles, "html/page.html"))

// htmlScripts make up the program, in this order; the first says where data comes from.
var htmlScripts = []string{"blocks", "data", "dom", "diff", "plots", "judges", "summary", "comparison", "cases", "chat", "case", "main"}

// How much of a run the page holds; what is left out is said there.
const (
	htmlTrials   = 200_000  // of more, those that passed are left out
	htmlText     = 50_000   // bytes of a prompt or an answer
	htmlDetails  = 96 << 20 // bytes of compressed details, after which texts are cut to htmlLate
	htmlLate     = 300
	htmlExcerpt  = 200     // bytes of an answer or a reason in the table
	htmlImage    = 1 << 20 // bytes of an image
	htmlImages   = 16 << 20
	htmlPerBlock = 1000 // trials
	htmlBlock    = 1 << 20
)

// htmlImageTypes are the types of images that are shown.
var htmlImageTypes = []string{"image/png", "image/jpeg", "image/webp"}

// HTML writes the run as one page that opens without a server and without a network.
func HTML(w io.Writer, d *journal.Document, _ Options) error {
	h := htmlReport{d: d, out: bufio.NewWriter(w), tables: newHTMLTables(), head: newHTMLHead(d), blocks: []int{}}
	if err := h.top(); err != nil {
		return err
	}
	if err := h.json("head", h.head); err != nil {
		return err
	}
	passes := h.passes()
	for r, err := range d.Trials() {
		if err != nil {
			return err
		}
		if r.Outcome == eval.Pass {
			if passes--; passes < 0 {
				h.left.Passes++
				continue
			}
		}
		if err := h.trial(r); err != nil {
			return err
		}
	}
	if err := h.flush(); err != nil {
		return err
	}
	if err := h.json("index", htmlIndex{h.blocks, h.tables, h.left}); err != nil {
		return err
	}
	if err := htmlPage.ExecuteTemplate(h.out, "bottom", template.JS(htmlScript())); err != nil { //nolint:gosec // it is our own
		return err
	}
	return h.out.Flush()
}

// htmlHead is what the page knows before it reads trials.
type htmlHead struct {
	jsonHead
	Title     string   `json:"title"`
	Notices   []string `json:"notices"`
	NoContent bool     `json:"noContent"`
	Running   bool     `json:"running"`
}

// htmlIndex says what the blocks of trials hold. It comes last, when that is known.
type htmlIndex struct {
	Blocks []int      `json:"blocks"` // trials in each
	Tables htmlTables `json:"tables"`
	Left   htmlLeft   `json:"left"`
}

// htmlLeft counts what is left out.
type htmlLeft struct {
	Passes int `json:"passes"` // trials that passed
	Texts  int `json:"texts"`  // prompts and answers that are cut
	Images int `json:"images"` // that are too large, or not where they were
}

type htmlReport struct {
	d       *journal.Document
	out     *bufio.Writer
	head    htmlHead
	tables  htmlTables
	rows    htmlRows
	details bytes.Buffer // of the trials in rows, as JSON
	written int          // bytes of details, compressed
	blocks  []int
	left    htmlLeft
	images  map[string]bool // those met already, by hash
	weight  int             // bytes of images
}

func htmlAsset(name string) string {
	data, err := htmlFiles.ReadFile("html/" + name)
	if err != nil { // it is part of the program
		panic(err)
	}
	return string(data)
}

// htmlScript is the program of the page.
func htmlScript() string { return htmlProgram(htmlAsset(htmlScripts[0]+".js"), "start();\n") }

// htmlProgram makes a program of its first part, what all pages share, and more. It is one closure.
func htmlProgram(first string, more ...string) string {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n" + first)
	for _, name := range htmlScripts[1:] {
		b.WriteString(htmlAsset(name + ".js"))
	}
	b.WriteString(strings.Join(more, "") + "})();\n")
	return b.String()
}

func htmlSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// top writes the page down to where the data begins.
func (h *htmlReport) top() error {
	style := htmlAsset("app.css")
	return htmlPage.ExecuteTemplate(h.out, "top", map[string]any{
		"Policy": "default-src 'none'; img-src data:; style-src " + htmlSource(style) + "; script-src " + htmlSource(htmlScript()) +
			"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		"Style": template.CSS(style), //nolint:gosec // it is our own
		"Title": h.head.Title,
		"Plain": h.head.plain(),
	})
}

// plain is the run in a line, for who runs no scripts.
func (h *htmlHead) plain() string {
	c := h.Summary
	counts := fmt.Sprintf("%d trials: %d pass, %d fail, %d error, %d skip; exit %d.", c.Trials, c.Pass, c.Fail, c.Error, c.Skip, h.Gate.Exit)
	return strings.Join(append(h.Notices, counts), " ")
}

// json writes a block of data as it is. json.Marshal escapes what could end the element.
func (h *htmlReport) json(id string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(h.out, "<script type=\"application/json\" id=\"%s\">%s</script>\n", id, data)
	return err
}

// packed writes a block of data compressed.
func (h *htmlReport) packed(id string, data []byte) (int, error) {
	var b bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &b)
	z, err := flate.NewWriter(text, flate.DefaultCompression)
	if err != nil {
		return 0, err
	}
	_, _ = z.Write(data) // a bytes.Buffer takes everything
	_, _ = z.Close(), text.Close()
	_, err = fmt.Fprintf(h.out, "<script type=\"text/plain\" id=\"%s\">%s</script>\n", id, b.Bytes())
	return b.Len(), err
}

// passes is how many trials that passed there is room for.
func (h *htmlReport) passes() int { return max(0, htmlTrials-(h.d.Len()-h.d.Summary.Counts.Pass)) }

// trial takes in one trial.
func (h *htmlReport) trial(r *eval.Result) error {
	if err := h.pictures(r); err != nil {
		return err
	}
	h.rows.add(&h.tables, r, &h.d.Run)
	once(r)
	h.cut(r)
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if h.details.Len() == 0 {
		h.details.WriteByte('[')
	} else {
		h.details.WriteByte(',')
	}
	h.details.Write(data)
	if len(h.rows.Repeat) == htmlPerBlock || h.details.Len() > htmlBlock {
		return h.flush()
	}
	return nil
}

// flush writes the trials that are gathered as two blocks: their rows, which are all read at once, and their details,
// which are read when somebody wants to see them.
func (h *htmlReport) flush() error {
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
	h.rows = htmlRows{}
	h.details.Reset()
	return nil
}

// pictures writes the images of a request that the page does not have yet.
func (h *htmlReport) pictures(r *eval.Result) error {
	if r.Request == nil || h.head.NoContent {
		return nil
	}
	if h.images == nil {
		h.images = map[string]bool{}
	}
	for _, c := range r.Request.Contents {
		for _, p := range c.Parts {
			if p.Image == nil || h.images[p.Image.SHA256] {
				continue
			}
			h.images[p.Image.SHA256] = true
			data, err := h.d.Image(r.Suite, p.Image, min(htmlImage, int64(htmlImages-h.weight)))
			if err != nil || !slices.Contains(htmlImageTypes, p.Image.MIMEType) {
				h.left.Images++
				continue
			}
			h.weight += len(data)
			address := "data:" + p.Image.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(data)
			if err := h.json("image/"+hexOnly(p.Image.SHA256), address); err != nil {
				return err
			}
		}
	}
	return nil
}

// hexOnly keeps what can stand in a hash: a run file may hold anything there.
func hexOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' {
			return r
		}
		return -1
	}, s)
}

// newHTMLHead is the report's head without what concerns only the machine where the run was made.
func newHTMLHead(d *journal.Document) htmlHead {
	h := htmlHead{jsonHead: newHead(d), Running: d.Running, Notices: htmlNotices(d)}
	h.NoContent = d.Run.Options().NoContent
	h.Run.Suites = append([]eval.RunSuite{}, d.Run.Suites...)
	var names []string
	for i := range h.Run.Suites {
		h.Run.Suites[i].Dir = ""
		names = append(names, h.Run.Suites[i].Name)
	}
	h.Title = strings.Join(names, ", ")
	if c := h.Comparison; c != nil {
		copied := *c
		copied.Arms = append([]compare.ArmComparison{}, c.Arms...)
		for i := range copied.Arms {
			arm := &copied.Arms[i]
			arm.Flips = slices.Clone(arm.Flips)
			for j := range arm.Flips {
				f := &arm.Flips[j]
				f.BaseAnswer, f.HeadAnswer = cutText(f.BaseAnswer, htmlText), cutText(f.HeadAnswer, htmlText)
			}
		}
		h.Comparison = &copied
	}
	return h
}

// htmlNotices are what a reader must know before believing a number.
func htmlNotices(d *journal.Document) []string {
	out := []string{}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if d.Run.Emulator {
		say("Against evalrun's emulator: no model was asked, the answers come from a script.")
	}
	if d.Run.Cache {
		say("With --cache: answers of earlier runs may be among these.")
	}
	if d.Run.Replay != "" {
		say("Replayed: no model was asked, the answers come from %s.", d.Run.Replay)
	}
	switch {
	case d.Running:
		say("The run still goes on: %d of %d trials so far.", d.Summary.Counts.Total(), d.Run.Plan.Trials)
	case d.End == nil:
		say("The run was killed: it has %d of %d trials.", d.Summary.Counts.Total(), d.Run.Plan.Trials)
	case d.End.Reason != eval.EndCompleted:
		say("Not complete: %s.", incomplete(d.End))
	case d.Summary.Counts.Total() < d.Run.Plan.Trials:
		say("Not complete: %d of %d trials.", d.Summary.Counts.Total(), d.Run.Plan.Trials)
	}
	if s := d.Run.Plan.Shard; s != nil {
		say("Shard %d of %d: the gate is applied when all are merged.", s.Index, s.Of)
	}
	if words := cutAnswers(&d.Summary); words != "" {
		say("%s.", words)
	}
	for _, line := range damage(d) {
		say("%s.", line)
	}
	return out
}
